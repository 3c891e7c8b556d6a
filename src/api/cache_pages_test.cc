#include "api/cache_pages.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "api/access.h"
#include "api/json_fields.h"
#include "api/receipt_json.h"
#include "engine/testing/fake.h"

namespace holdfast::api {
namespace {

Json parsed(const std::string& text) {
  auto json = parse_json(text);
  EXPECT_TRUE(json.ok()) << text;
  return json.ok() ? *json : Json::object();
}

Tokens bytes_of(std::string_view text) {
  Tokens tokens;
  for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
  return tokens;
}

cache::Receipt full_receipt() {
  cache::Receipt receipt;
  receipt.id = "gen-1";
  receipt.response = "chatcmpl-1";
  receipt.tenant = "secret";
  receipt.session = "s-1";
  receipt.one_off = true;
  receipt.unix_ms = 1'794'724'882'123;
  receipt.slot = 1;
  receipt.prompt_tokens = 1000;
  receipt.matched = 500;
  receipt.restorable = 400;
  receipt.restored = 400;
  receipt.source = plan::StartSource::kSnapshotInPlace;
  receipt.recomputed = 600;
  receipt.bytes_in = 4096;
  receipt.bytes_out = 8192;
  receipt.checkpoints = 3;
  receipt.kept = 960;
  receipt.prewarmed = 40;
  receipt.history_tokens = 17;
  receipt.answer_ids = {2, 1};
  receipt.companion = {
      .name = "mtp", .held = 300, .from_memory = 200, .missing = "Its rows were damaged."};
  receipt.companion->drafts.note(3, 1);
  receipt.difference =
      cache::Difference{.position = 500,
                        .known = bytes_of("14:03"),
                        .sent = bytes_of("14:04"),
                        .span = 0,
                        .role = Role::kSystem,
                        .message_begin = 1,
                        .section = cache::PromptSection{
                            .begin = 1, .name = "messages[2]", .index = 2, .role = Role::kSystem}};
  receipt.notes = {.skipped = {"web_search"}, .attribution_at = 100, .answer_limit = 700};
  receipt.missing = {.why = cache::MissReason::kEvicted,
                     .position = 480,
                     .evicted = {tree::EvictReason::kBudget, 5},
                     .evicted_ago_ms = 1000.0,
                     .kept_with = 5000};
  receipt.queued_ms = 1.5;
  receipt.waited_for = "gen-0";
  receipt.fetched_bytes = 512;
  receipt.fetch_ms = 3.5;
  receipt.restore_ms = 2.5;
  receipt.prompt_ms = 30.0;
  receipt.saved_ms = 40.0;
  receipt.hashes = cache::PromptHashes{.tokens = 0xa1, .logits = 0xfedcba9876543210};
  receipt.complete = true;
  receipt.exact = Exactness::kPrompt;
  return receipt;
}

TEST(ReceiptJson, HasEveryField) {
  const Json json = parsed(receipt_json(full_receipt(), engine::FakeText()));
  Json expected = Json::parse(R"({
    "id": "gen-1", "response": "chatcmpl-1", "session": "s-1", "one_off": true,
    "time": "2026-11-15T06:41:22.123Z", "exact": "prompt", "slot": 1,
    "prompt_tokens": 1000, "matched_tokens": 500, "restorable_tokens": 400,
    "restored_tokens": 400, "restored_from": "snapshot in place", "recomputed_tokens": 600,
    "reuse": 0.4, "bytes_restored": 4096, "bytes_fetched": 512, "bytes_kept": 8192, "checkpoints": 3,
    "kept_tokens": 960, "prewarmed_tokens": 40, "history_tokens": 17, "answer_ids": {"used": 2, "ignored": 1},
    "difference": {"position": 500, "in": "messages[2]", "message": 2, "role": "system", "known_text": "14:03",
      "sent_text": "14:04", "known_tokens": [49, 52, 58, 48, 51],
      "sent_tokens": [49, 52, 58, 48, 52]},
    "missing": {"why": "evicted", "position": 480, "evicted_at": "2026-11-15T06:41:21.123Z",
      "evicted_for": "budget", "kept_with_bytes": 5000, "made_by": null,
      "sentence": "The state at token 480 was dropped at 06:41:21 UTC because the cache was full."},
    "answer_limit": 700, "attribution_saved_tokens": 300, "notes": [
      "Left out, because only their maker's servers run them: web_search.",
      "Claude Code's attribution line was left out (--keep-attribution keeps it); it differs from session to session, and with it up to 300 of the reused tokens would have been read again.",
      "The answer may have up to 700 tokens, which is what the context leaves; no limit was asked for."],
    "queued_ms": 1.5, "waited_for": "gen-0", "fetch_ms": 3.5, "restore_ms": 2.5, "prompt_ms": 30.0,
    "saved_ms": 40.0, "companion": {"name": "mtp", "held_tokens": 300, "memory_tokens": 200,
      "missing": "Its rows were damaged.", "drafted": 3, "accepted": 1,
      "by_place": [{"tried": 1, "accepted": 1}, {"tried": 1, "accepted": 0}]},
    "proof": null, "tokens_hash": "00000000000000a1", "prompt_hash": "fedcba9876543210",
    "advice": "?", "complete": true})");
  expected["advice"] = json.value("advice", "");
  EXPECT_EQ(json, expected) << json.dump(2);
  EXPECT_NE(json["advice"].get<std::string>().find("\"14:03\" became \"14:04\""),
            std::string::npos);
}

// The same figure as in the text.
TEST(ReceiptJson, ReuseIsTheShareOfThePrompt) {
  cache::Receipt receipt;
  receipt.prompt_tokens = 1000;
  receipt.matched = receipt.restored = 989;
  EXPECT_EQ(parsed(receipt_json(receipt, engine::FakeText()))["reuse"], 0.989);
}

TEST(ReceiptJson, WhatIsNotThereIsNull) {
  const Json json = parsed(receipt_json(cache::Receipt{}, engine::FakeText()));
  for (const char* name :
       {"session", "reuse", "difference", "missing", "waited_for", "companion", "advice"}) {
    EXPECT_TRUE(json.contains(name) && json[name].is_null()) << name;
  }
  EXPECT_EQ(json["restored_from"], "nothing");
}

TEST(ReceiptJson, NamesTheMakerOfForeignStates) {
  cache::Receipt receipt = full_receipt();
  receipt.missing = {.why = cache::MissReason::kForeign,
                     .position = 960,
                     .made_by = "another engine (CPU variant haswell, here zen4)"};
  const Json json = parsed(receipt_json(receipt, engine::FakeText()));
  EXPECT_EQ(json["missing"]["why"], "foreign");
  EXPECT_EQ(json["missing"]["made_by"], "another engine (CPU variant haswell, here zen4)");
  EXPECT_NE(json["advice"].get<std::string>().find("CPU variant haswell"), std::string::npos);
}

TEST(ReceiptJson, NeverShowsTheTenant) {
  EXPECT_EQ(receipt_json(full_receipt(), engine::FakeText()).find("secret"), std::string::npos);
}

TEST(ReceiptJson, HalvesOfCharactersAreRepaired) {
  cache::Receipt receipt = full_receipt();
  receipt.difference->sent = {0xE2, 0x80};
  const Json json = parsed(receipt_json(receipt, engine::FakeText()));
  EXPECT_EQ(json["difference"]["sent_text"], "\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(ReceiptJson, AdviceOfTheReceiptItselfComesFirst) {
  cache::Receipt receipt = full_receipt();
  receipt.advice = "Do this.";
  EXPECT_EQ(parsed(receipt_json(receipt, engine::FakeText()))["advice"], "Do this.");
}

TEST(TenantName, NeitherKeyNorSaltCanBeReadOrConfused) {
  const auto name_among = [](const std::vector<std::string>& keys) {
    HttpRequest request;
    request.headers = {{"x-api-key", "first"}};
    return ApiKeys(keys, {}, "").who(request).value().key_name;
  };
  const std::string first = name_among({"first", "second"});
  EXPECT_EQ(first.find("first"), std::string::npos);
  EXPECT_EQ(name_among({"first"}), first) << "stable, whatever the other keys";
  EXPECT_EQ(name_among({}), "");
  EXPECT_EQ(tenant_name("", ""), "");
  const std::set<std::string> names = {tenant_name("", "salt"), tenant_name(first, ""),
                                       tenant_name(first, "salt"), tenant_name("", first)};
  EXPECT_EQ(names.size(), 4U);
  for (const std::string& name : names) {
    EXPECT_EQ(name.size(), 64U);
    EXPECT_EQ(name.find_first_not_of("0123456789abcdef"), std::string::npos);
  }
  EXPECT_NE(space_of_tenant(""), space_of_tenant(tenant_name("", "salt")));
}

TEST(CacheStatusJson, CountsAndSums) {
  cache::CacheStatus status;
  status.enabled = true;
  status.state = "attention 1 KiB/token";
  status.budget = ByteCount{8} << 30U;
  status.resident = ByteCount{3} << 30U;
  status.prompt_tokens = 1000;
  status.restored_tokens = 978;
  status.evicted_rows = 4;
  const Json json = parsed(cache_status_json(status));
  EXPECT_EQ(json["object"], "cache");
  EXPECT_EQ(json["summary"], "3.0 GiB of 8.0 GiB in use; 97.8% of all prompt tokens were reused");
  EXPECT_EQ(json["hit_share"], 0.978);
  EXPECT_EQ(json["memory"]["budget_bytes"], std::int64_t{8} << 30);
  EXPECT_EQ(json["totals"]["evicted_rows"], 4);
}

TEST(CacheStatusJson, WhatLiesBelowMemory) {
  cache::CacheStatus status;
  EXPECT_TRUE(parsed(cache_status_json(status))["disk"].is_null());
  status.enabled = true;
  status.budget = ByteCount{8} << 30U;
  status.lower.emplace();
  status.lower->budget = ByteCount{20} << 30U;
  status.lower->store.rows_bytes = ByteCount{2} << 30U;
  status.lower->store.last_failure = "a blob cannot be written: No space left on device";
  const Json json = parsed(cache_status_json(status));
  EXPECT_EQ(json["summary"], "0 B of 8.0 GiB in use, 2.0 GiB of 20.0 GiB on disk");
  EXPECT_EQ(json["disk"]["bytes"], std::int64_t{2} << 30);
  EXPECT_EQ(json["disk"]["last_failure"], "a blob cannot be written: No space left on device");
}

TEST(ReceiptJson, SaysWhatCameFromDisk) {
  cache::Receipt receipt = full_receipt();
  receipt.source = plan::StartSource::kMemory;
  receipt.fetched = receipt.restored;
  EXPECT_EQ(parsed(receipt_json(receipt, engine::FakeText()))["restored_from"], "disk");
  receipt.fetched = receipt.restored - 1;
  EXPECT_EQ(parsed(receipt_json(receipt, engine::FakeText()))["restored_from"], "memory");
}

TEST(CacheStatusJson, Conversations) {
  EXPECT_TRUE(parsed(cache_status_json({}))["conversations"].is_null());
  cache::ConversationsStatus held;
  held.count = 40;
  held.own = {.rows = 1000, .snapshots = 200, .snapshot_count = 2};
  held.shared = {.rows = 30, .snapshots = 4, .snapshot_count = 1};
  held.latest.push_back({.tokens = 17,
                         .own = {.rows = 100, .snapshots = 50, .snapshot_count = 1},
                         .shared = held.shared,
                         .idle_seconds = 1.5,
                         .slot = 3,
                         .space = {1, 2},
                         .keys = bytes_of("Nobody reads this")});
  held.latest.push_back({.tokens = 5,
                         .own = {},
                         .shared = {},
                         .idle_seconds = 9.0,
                         .slot = std::nullopt,
                         .space = {},
                         .keys = bytes_of("Hello")});
  const TokensOnDisk on_disk = [](const cache::ConversationStatus& one) {
    return one.slot ? std::optional<TokenPos>(16) : std::nullopt;
  };
  const Json json = parsed(cache_status_json({}, conversations_json(held, on_disk)));
  EXPECT_EQ(json["conversations"], Json::parse(R"({
    "count": 40, "own_bytes": 1200, "shared_bytes": 34, "latest": [
      {"tokens": 17, "bytes": 184, "own_row_bytes": 100, "own_snapshots": 1,
       "own_snapshot_bytes": 50, "shared_bytes": 34, "shared_snapshots": 1, "idle_seconds": 1.5,
       "slot": 3, "disk_tokens": 16},
      {"tokens": 5, "bytes": 0, "own_row_bytes": 0, "own_snapshots": 0, "own_snapshot_bytes": 0,
       "shared_bytes": 0, "shared_snapshots": 0, "idle_seconds": 9.0, "slot": null,
       "disk_tokens": null}]})"));
}

TEST(CacheStatusJson, OffAndUnlimited) {
  EXPECT_EQ(parsed(cache_status_json({}))["summary"], "off: only what the slots hold is reused");
  EXPECT_EQ(parsed(cache_status_json({.exact = Exactness::kAll}))["exact"], "all");
  EXPECT_TRUE(parsed(cache_status_json({}))["hit_share"].is_null());
  cache::CacheStatus status;
  status.enabled = true;
  status.budget = ~ByteCount{0};
  EXPECT_EQ(parsed(cache_status_json(status))["summary"], "0 B in use");
}

}  // namespace
}  // namespace holdfast::api
