#include "cli/explain.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/explain_view.h"

namespace holdfast::cli {
namespace {

using Json = nlohmann::json;

// --- the text -------------------------------------------------------------------

Json warm_receipt() {
  return Json::parse(R"({
    "id": "gen-1", "response": "chatcmpl-1", "time": "2026-11-15T06:41:22.123Z", "slot": 2,
    "prompt_tokens": 12310, "matched_tokens": 12050, "restorable_tokens": 12034,
    "restored_tokens": 12034, "restored_from": "memory", "recomputed_tokens": 276,
    "reuse": 0.9987, "bytes_restored": 157286400, "difference": null, "missing": null,
    "queued_ms": 0.2, "waited_for": null, "restore_ms": 13.4, "prompt_ms": 112.0,
    "saved_ms": 4610.0, "companion": null, "advice": null, "complete": true})");
}

Json parted_receipt() {
  Json receipt = warm_receipt();
  receipt.update(Json::parse(R"({
    "prompt_tokens": 1000, "matched_tokens": 500, "restored_tokens": 0, "recomputed_tokens": 1000,
    "restored_from": "nothing", "bytes_restored": 0, "prompt_ms": 2500.0, "saved_ms": 0,
    "difference": {"position": 500, "in": "messages[3]", "message": 3, "role": "assistant",
                   "known_text": "<think>\nThe user", "sent_text": "Paris\u001b[31m."},
    "missing": {"why": "evicted", "position": 448, "sentence": "The state at token 448 was dropped."},
    "advice": "Raise --cache-ram."})"));
  return receipt;
}

TEST(ExplainHeadline, SaysWhatWasReusedAndSaved) {
  EXPECT_EQ(receipt_headline(warm_receipt()),
            "12,034 of 12,310 prompt tokens reused (97.8%), 276 read in 0.11 s; saved about 4.6 s");
  EXPECT_EQ(receipt_headline(parted_receipt()),
            "0 of 1,000 prompt tokens reused (0.0%), 1,000 read in 2.5 s");
  EXPECT_EQ(receipt_headline(Json()), "0 of 0 prompt tokens reused (0.0%), 0 read in 0.00 s");
}

TEST(ExplainOptions, APortIsAnAddressOnThisMachine) {
  const std::vector<std::string> args = {"--port", "9001"};
  const auto options = parse_explain_options(args, {{"HOLDFAST_URL", "http://elsewhere"}});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->url, "http://127.0.0.1:9001");
  for (const char* bad : {"0", "65536", "x"})
    EXPECT_FALSE(parse_explain_options(std::vector<std::string>{"--port", bad}, {})) << bad;
}

TEST(ExplainText, AWarmRequest) {
  EXPECT_EQ(receipt_text(warm_receipt(), {}), R"(chatcmpl-1 at 06:41:22 UTC
12,034 of 12,310 prompt tokens reused (97.8%), 276 read in 0.11 s; saved about 4.6 s

  [##############################################################=.]
  # reused 12,034   = known but read again 16   . new 260

From memory, 150.0 MiB brought back in 13 ms; slot 2.
)");
}

// What another engine has left in the folder was known to somebody.
TEST(ExplainText, StatesOfAnotherEngineCountAsKnown) {
  Json receipt = parted_receipt();
  receipt["matched_tokens"] = 11;
  receipt["missing"] = Json::parse(
      R"({"why": "foreign", "position": 768, "sentence": "They were made by another engine."})");
  const std::string text = receipt_text(receipt, {});
  EXPECT_NE(text.find("= known but read again 768   . new 232"), std::string::npos) << text;
  EXPECT_NE(text.find("Why not more: They were made by another engine."), std::string::npos);
}

TEST(ExplainText, WhatTheCompanionDid) {
  Json receipt = warm_receipt();
  receipt["companion"] =
      Json::parse(R"({"name": "mtp", "drafted": 0, "accepted": 0, "missing": null})");
  EXPECT_NE(receipt_text(receipt, {}).find("\nDrafts by mtp: none.\n"), std::string::npos);
  receipt["companion"] = Json::parse(
      R"({"name": "mtp", "drafted": 1200, "accepted": 900, "missing": "Its rows were damaged."})");
  EXPECT_NE(
      receipt_text(receipt, {})
          .find("Drafts by mtp: 900 of 1,200 tokens accepted (75.0%). Its rows were damaged.\n"),
      std::string::npos);
}

// Also: what a model or a client wrote must not drive the terminal.
TEST(ExplainText, ARequestThatParts) {
  EXPECT_EQ(receipt_text(parted_receipt(), {}), R"(chatcmpl-1 at 06:41:22 UTC
0 of 1,000 prompt tokens reused (0.0%), 1,000 read in 2.5 s

  [================================................................]
  = known but read again 500   . new 500

From a fresh start; slot 2.

It parts from what was known at token 500, in messages[3] (assistant):
  known  "<think>\nThe user"
  sent   "Paris[31m."

Why not more: The state at token 448 was dropped.

What would help: Raise --cache-ram.
)");
}

TEST(ExplainText, NamesFieldsThatAreNoList) {
  Json receipt = parted_receipt();
  receipt["difference"].update(Json::parse(R"({"in": "tools", "message": null})"));
  EXPECT_NE(receipt_text(receipt, {}).find("at token 500, in tools:\n"), std::string::npos);
  receipt["difference"]["in"] = nullptr;
  EXPECT_NE(receipt_text(receipt, {}).find("at token 500:\n"), std::string::npos);
}

TEST(ExplainText, WhatTheServerDidIsALineEach) {
  Json receipt = warm_receipt();
  receipt["notes"] = {"One thing was left out.", "Another was bounded.", 5};
  EXPECT_NE(
      receipt_text(receipt, {}).find("; slot 2.\nOne thing was left out.\nAnother was bounded.\n"),
      std::string::npos);
}

TEST(ExplainText, BlocksWhereTheTerminalHasThem) {
  Json receipt = warm_receipt();
  receipt["matched_tokens"] = receipt["restored_tokens"] = receipt["prompt_tokens"] = 4;
  const std::string text = receipt_text(receipt, {.blocks = true});
  EXPECT_NE(text.find("  [████████████████████████████████████████████████████████████████]\n"
                      "  █ reused 4\n"),
            std::string::npos)
      << text;
  EXPECT_TRUE(explain_style({{"LANG", "en_GB.UTF-8"}}).blocks);
  EXPECT_TRUE(explain_style({{"LC_ALL", ""}, {"LC_CTYPE", "C.utf8"}, {"LANG", "C"}}).blocks);
  EXPECT_FALSE(explain_style({{"LC_ALL", "C"}, {"LANG", "en_GB.UTF-8"}}).blocks);
  EXPECT_FALSE(explain_style({}).blocks);
}

TEST(ExplainText, WaitingAndRunning) {
  Json receipt = warm_receipt();
  receipt["complete"] = false;
  receipt["queued_ms"] = 1500.0;
  receipt["waited_for"] = "gen-0";
  receipt["restored_from"] = "live slot";
  receipt["bytes_restored"] = 0;
  const std::string text = receipt_text(receipt, {});
  EXPECT_NE(text.find("06:41:22 UTC, still running\n"), std::string::npos);
  EXPECT_NE(text.find("From the slot's own state; slot 2, after 1.5 s in the queue, waiting for "
                      "gen-0 to read the same.\n"),
            std::string::npos)
      << text;
}

TEST(ExplainText, AnythingIsSurvived) {
  for (const char* odd : {"null", "[]", "5", R"({"difference":5,"missing":[],"time":"x"})"}) {
    EXPECT_FALSE(receipt_text(Json::parse(odd), {}).empty());
  }
}

TEST(ExplainLines, OneForEachRequest) {
  EXPECT_EQ(receipt_lines(Json::array({warm_receipt(), parted_receipt()})),
            "06:41:22   97.8% of 12,310  chatcmpl-1\n"
            "06:41:22    0.0% of 1,000  chatcmpl-1\n");
  EXPECT_EQ(receipt_lines(Json()), "");
}

TEST(ExplainSession, ATableWithItsSum) {
  Json cold = parted_receipt();
  cold.update(Json::parse(R"({"missing": null, "difference": null, "matched_tokens": 0})"));
  Json edited = parted_receipt();
  edited["missing"] = Json::parse(R"({"why": "grid", "position": 448, "sentence": "s"})");
  EXPECT_EQ(session_table(Json::array({warm_receipt(), edited, parted_receipt(), cold})),
            "    time    prompt  reused     read  why not more\n"
            "06:41:22     1,000    0.0%    2.5 s  nothing was known\n"
            "06:41:22     1,000    0.0%    2.5 s  evicted, token 448\n"
            "06:41:22     1,000    0.0%    2.5 s  differs at token 500\n"
            "06:41:22    12,310   97.8%   0.11 s\n"
            "4 requests: 12,034 of 15,310 prompt tokens reused (78.6%), 3,276 read in 7.6 s; "
            "saved about 4.6 s\n");
  EXPECT_EQ(session_table(Json()), "");
  EXPECT_FALSE(session_table(Json::parse(R"([null, 5, {"missing": 3}])")).empty());
}

// --- the command line -------------------------------------------------------------

Result<ExplainOptions> parse(std::vector<std::string> args, const Environment& env = {}) {
  return parse_explain_options(args, env);
}

TEST(ExplainOptions, AreRead) {
  const auto plain = parse({});
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->url, "http://127.0.0.1:8080");
  EXPECT_EQ(plain->id, "");
  const auto full = parse({"chatcmpl-1", "--url=http://a", "--api-key", "k", "--json",
                           "--cache-salt", "s", "--insecure"});
  ASSERT_TRUE(full.ok());
  EXPECT_EQ(full->id, "chatcmpl-1");
  EXPECT_EQ(full->url, "http://a");
  EXPECT_EQ(full->api_key, "k");
  EXPECT_EQ(full->cache_salt, "s");
  EXPECT_TRUE(full->json && full->insecure);
  EXPECT_EQ(parse({"--last", "20"})->last, 20);
  EXPECT_EQ(parse({"--session", "s-1"})->session, "s-1");
}

TEST(ExplainOptions, StandInTheEnvironmentAsForChat) {
  const Environment env = {{"HOLDFAST_URL", "http://e"}, {"HOLDFAST_API_KEY", "one,two"}};
  EXPECT_EQ(parse({}, env)->url, "http://e");
  EXPECT_EQ(parse({}, env)->api_key, "one");
  EXPECT_EQ(parse({"--url", "http://l"}, env)->url, "http://l");
}

TEST(ExplainOptions, MistakesAreNamed) {
  const std::pair<std::vector<std::string>, std::string> wrong[] = {
      {{"--lst", "3"}, "did you mean --last"},
      {{"--last"}, "--last needs a value: --last N"},
      {{"--last", "0"}, "--last needs a whole number from 1 to 1000, not \"0\""},
      {{"--last", "x"}, "--last needs a whole number from 1 to 1000, not \"x\""},
      {{"a", "b"}, "one ID at a time: a or b"},
      {{"a", "--last", "3"}, "leave the ID out"},
      {{"a", "--session", "s"}, "leave the ID out"},
  };
  for (const auto& [args, part] : wrong) {
    const auto parsed = parse(args);
    ASSERT_FALSE(parsed.ok()) << part;
    EXPECT_NE(parsed.error().message.find(part), std::string::npos) << parsed.error().message;
  }
}

TEST(ExplainHelp, TeachesEveryOption) {
  for (const char* word : {"--last N", "--session ID", "--json", "--url", "--api-key",
                           "--cache-salt", "Examples:", "cache_receipt", "HOLDFAST_URL"}) {
    EXPECT_NE(explain_help().find(word), std::string::npos) << word;
  }
}

// --- a server that is not there ------------------------------------------------------

TEST(Explain, SaysWhatToDoWithoutAServer) {
  ExplainOptions options;
  options.url = "http://127.0.0.1:1";
  const auto text = explain(options, {});
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().message,
            "No server at http://127.0.0.1:1. Start one with `holdfast serve`, or say where it is "
            "with --url.");
}

}  // namespace
}  // namespace holdfast::cli
