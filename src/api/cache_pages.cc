#include "api/cache_pages.h"

#include <charconv>
#include <chrono>

#include "api/access.h"
#include "api/answered.h"
#include "api/json_fields.h"
#include "api/json_values.h"
#include "api/openai_errors.h"
#include "api/receipt_json.h"
#include "api/session_id.h"
#include "api/worker.h"
#include "state/parts.h"

namespace holdfast::api {
namespace {

constexpr std::size_t kReceiptsDefault = 20;
constexpr std::size_t kReceiptsMax = 1000;
// More than any machine has: --cache-ram -1.
constexpr ByteCount kBudgetUnlimited = ByteCount{1} << 50U;
// A turn of the scheduler takes as long as a chunk, and removing files not much longer; this only
// ends a hang.
constexpr std::chrono::seconds kClearPatience{10};
// Long enough for most turns, short enough for a page that somebody looks at.
constexpr std::chrono::seconds kListPatience{2};
constexpr std::size_t kConversationsShown = 32;

// --- the status -------------------------------------------------------------------

void append_memory(std::string& out, const cache::CacheStatus& status) {
  ObjectWriter object(out);
  append_count(object, "budget_bytes", status.budget);
  append_count(object, "resident_bytes", status.resident);
  append_count(object, "extent_bytes", status.extents);
  append_count(object, "snapshot_bytes", status.snapshots);
  append_count(object, "pinned_bytes", status.pinned);
  append_count(object, "peak_bytes", status.peak);
  append_count(object, "snapshots", status.snapshot_count);
  append_count(object, "slot_snapshots", status.slot_snapshot_count);
  append_count(object, "slot_snapshot_bytes", status.slot_snapshots);
  append_count(object, "slot_snapshot_bytes_max", status.slot_snapshots_max);
  append_count(object, "nodes", status.nodes);
  append_count(object, "tokens", status.tokens);
  append_count(object, "remembered_tokens", status.ghost_tokens);
}

void append_disk(std::string& out, const cache::DiskTierStatus& disk) {
  const tier::StoreStats& store = disk.store;
  ObjectWriter object(out);
  append_boolean(object, "writes", disk.writes);
  append_count(object, "budget_bytes", disk.budget);
  append_count(object, "bytes", store.bytes());
  append_count(object, "blobs", store.blobs());
  append_count(object, "waiting_conversations", disk.paths_waiting);
  append_count(object, "waiting_bytes", disk.bytes_waiting);
  object.real("read_mb_per_s", disk.bytes_per_ms / 1000.0);
  append_count(object, "stored", store.stored);
  append_count(object, "stored_bytes", store.stored_bytes);
  append_count(object, "loaded", store.loaded);
  append_count(object, "loaded_bytes", store.loaded_bytes);
  append_count(object, "dropped", store.dropped);
  append_count(object, "dropped_bytes", store.dropped_bytes);
  append_count(object, "declined", store.declined + disk.paths_declined);
  append_count(object, "gone_before_written", disk.lost + disk.paths_lost);
  append_count(object, "quarantined", store.quarantined);
  append_count(object, "failed", store.failed);
  append_boolean(object, "volume_full", store.full);
  append_text_or_null(object, "last_failure", store.last_failure);
}

void append_totals(std::string& out, const cache::CacheStatus& status) {
  ObjectWriter object(out);
  append_count(object, "requests", status.requests);
  append_count(object, "prompt_tokens", status.prompt_tokens);
  append_count(object, "matched_tokens", status.matched_tokens);
  append_count(object, "restored_tokens", status.restored_tokens);
  append_count(object, "restored_live_tokens", status.restored_live_tokens);
  append_count(object, "restored_memory_tokens", status.restored_memory_tokens);
  append_count(object, "restored_disk_tokens", status.restored_lower_tokens);
  append_count(object, "fetches", status.fetches);
  object.real("fetch_seconds", status.fetch_seconds);
  append_count(object, "restores", status.restores);
  append_count(object, "restored_bytes", status.restored_bytes);
  object.real("restore_seconds", status.restore_seconds);
  object.real("saved_seconds", status.saved_seconds);
  append_count(object, "checkpoints", status.checkpoints);
  append_count(object, "declined", status.declined);
  append_count(object, "stored_bytes", status.stored_bytes);
  object.real("store_seconds", status.store_seconds);
  append_count(object, "evicted_snapshots", status.evicted_snapshots);
  append_count(object, "evicted_rows", status.evicted_rows);
  append_count(object, "evicted_bytes", status.evicted_bytes);
  append_count(object, "quarantined", status.quarantined);
  append_count(object, "waits", status.waits);
}

void append_conversation(std::string& out, const cache::ConversationStatus& one,
                         const std::optional<TokenPos>& on_disk) {
  ObjectWriter object(out);
  object.integer("tokens", one.tokens);
  append_count(object, "bytes", one.own.sum() + one.shared.sum());
  append_count(object, "own_row_bytes", one.own.rows);
  append_count(object, "own_snapshots", one.own.snapshot_count);
  append_count(object, "own_snapshot_bytes", one.own.snapshots);
  append_count(object, "shared_bytes", one.shared.sum());
  append_count(object, "shared_snapshots", one.shared.snapshot_count);
  object.real("idle_seconds", one.idle_seconds);
  object.raw("slot", one.slot ? std::to_string(*one.slot) : "null");
  object.raw("disk_tokens", on_disk ? std::to_string(*on_disk) : "null");
}

std::string use_of(const cache::CacheStatus& status) {
  if (!status.enabled) return "off: only what the slots hold is reused";
  if (status.budget >= kBudgetUnlimited) return human_bytes(status.resident) + " in use";
  return human_bytes(status.resident) + " of " + human_bytes(status.budget) + " in use";
}

std::string summary_of(const cache::CacheStatus& status) {
  std::string text = use_of(status);
  if (status.lower) {
    text += ", " + human_bytes(status.lower->store.bytes()) + " of " +
            human_bytes(status.lower->budget) + " on disk";
  }
  if (status.prompt_tokens > 0) {
    const std::uint64_t per_mille = 1000 * status.restored_tokens / status.prompt_tokens;
    text += "; " + std::to_string(per_mille / 10) + '.' + std::to_string(per_mille % 10) +
            "% of all prompt tokens were reused";
  }
  return text;
}

// --- requests -----------------------------------------------------------------------

HttpResponse ok(std::string body) { return {.body = std::move(body)}; }

HttpResponse cleared_page(ByteCount freed, const cache::CacheStatus& status) {
  std::string out;
  {
    ObjectWriter object(out);
    object.text("object", "cache.cleared");
    append_count(object, "freed_bytes", freed);
    append_text_or_null(object, "left_on_disk", status.lower ? status.lower->left_by_clear : "");
  }
  return ok(std::move(out));
}

Error not_cleared(const Error& why) {
  return {why.code, "The cache is not cleared yet. " + why.message + " Try again later.", ""};
}

std::string tenant_of(const HttpRequest& request, const std::string& key_name) {
  return tenant_name(key_name, request.query_value("cache_salt"));
}

// Nothing: the asker sees all.
std::optional<serve::CacheOwner> owner_of(const AnswerContext& context,
                                          const HttpRequest& request) {
  if (context.sees_all) return std::nullopt;
  const std::string tenant = tenant_of(request, context.key_name);
  return serve::CacheOwner{context.backend->space_of(tenant), tenant};
}

Result<std::size_t> read_limit(const HttpRequest& request) {
  const std::string text = request.query_value("limit");
  if (text.empty()) return kReceiptsDefault;
  std::size_t limit = 0;
  const char* const last = text.data() + text.size();
  const auto [end, problem] = std::from_chars(text.data(), last, limit);
  if (problem == std::errc() && end == last && limit >= 1 && limit <= kReceiptsMax) return limit;
  return invalid_argument(
      "limit", "'limit' must be an integer between 1 and " + std::to_string(kReceiptsMax));
}

}  // namespace

std::string conversations_json(const cache::ConversationsStatus& conversations,
                               const TokensOnDisk& on_disk) {
  std::string out;
  {
    ObjectWriter object(out);
    append_count(object, "count", conversations.count);
    append_count(object, "own_bytes", conversations.own.sum());
    append_count(object, "shared_bytes", conversations.shared.sum());
    std::string& list = object.key("latest");
    list += '[';
    for (const cache::ConversationStatus& one : conversations.latest) {
      if (list.back() != '[') list += ',';
      append_conversation(list, one, on_disk(one));
    }
    list += ']';
  }
  return out;
}

std::string cache_status_json(const cache::CacheStatus& status, std::string_view conversations,
                              CacheScope scope) {
  const bool all = scope == CacheScope::kAll;
  std::string out;
  {
    ObjectWriter object(out);
    object.text("object", "cache");
    append_boolean(object, "enabled", status.enabled);
    object.text("exact", exactness_name(status.exact));
    object.text("summary", all ? summary_of(status) : "what this key has");
    if (all) append_share(object, "hit_share", status.restored_tokens, status.prompt_tokens);
    object.text("state", status.state);
    object.text("fingerprint", status.fingerprint);
    all ? append_memory(object.key("memory"), status) : object.raw("memory", "null");
    if (all && status.lower) {
      append_disk(object.key("disk"), *status.lower);
    } else {
      object.raw("disk", "null");
    }
    object.raw("conversations", conversations);
    all ? append_totals(object.key("totals"), status) : object.raw("totals", "null");
  }
  return out;
}

boost::asio::awaitable<void> show_cache(AnswerContext context, const HttpRequest& request,
                                        HttpResponder& responder) {
  serve::Scheduler& scheduler = *context.backend->scheduler;
  const auto owner = owner_of(context, request);
  const auto only = owner ? std::optional(owner->space) : std::nullopt;
  const BeginAsking<cache::ConversationsStatus> begin =
      [&](serve::Answer<cache::ConversationsStatus> answer) {
        scheduler.cache_commands().list_conversations(kConversationsShown, std::move(answer), only);
      };
  const auto listed =
      co_await answered_within<cache::ConversationsStatus>(context.io, kListPatience, begin);
  // Asking for what lies on disk digests all their tokens.
  const auto write = [&] {
    const TokensOnDisk on_disk = [&](const cache::ConversationStatus& one) {
      return scheduler.cache_commands().tokens_below(one);
    };
    const std::string list = listed ? conversations_json(*listed, on_disk) : "null";
    return ok(cache_status_json(scheduler.cache_commands().status(), list,
                                only ? CacheScope::kOwn : CacheScope::kAll));
  };
  HttpResponse response = co_await on_worker(context.worker, write);
  co_await responder.send(std::move(response));
}

boost::asio::awaitable<void> clear_cache(AnswerContext context, const HttpRequest& request,
                                         HttpResponder& responder) {
  serve::Scheduler& scheduler = *context.backend->scheduler;
  const auto owner = owner_of(context, request);
  context.backend->responses->clear(owner ? std::optional(owner->tenant) : std::nullopt);
  const BeginAsking<ByteCount> begin = [&](serve::Answer<ByteCount> answer) {
    scheduler.cache_commands().clear(owner, std::move(answer));
  };
  const auto freed = co_await answered_within<ByteCount>(context.io, kClearPatience, begin);
  HttpResponse response = freed ? cleared_page(*freed, scheduler.cache_commands().status())
                                : error_response(not_cleared(freed.error()));
  co_await responder.send(std::move(response));
}

HttpResponse list_receipts(const Backend& backend, const HttpRequest& request,
                           const std::string& key_name) {
  const auto limit = read_limit(request);
  if (!limit) return error_response(limit.error());
  const ByteCount budget = backend.scheduler->cache_commands().status().budget;
  const std::string session = session_id(request.query_value("session"));
  std::string out = R"({"object":"list","data":[)";
  bool first = true;
  for (const cache::Receipt& receipt :
       backend.scheduler->receipts().latest(*limit, tenant_of(request, key_name), session)) {
    if (!first) out += ',';
    first = false;
    out += receipt_json(receipt, *backend.text, budget);
  }
  return ok(out + "]}");
}

HttpResponse show_receipt(const Backend& backend, const HttpRequest& request,
                          const std::string& key_name, const std::string& id) {
  const auto receipt = backend.scheduler->receipts().find(id, tenant_of(request, key_name));
  if (receipt) {
    return ok(
        receipt_json(*receipt, *backend.text, backend.scheduler->cache_commands().status().budget));
  }
  return error_response({ErrorCode::kNotFound,
                         "There is no receipt '" + id +
                             "'. Receipts are kept in memory, those of the latest " +
                             std::to_string(backend.scheduler->receipts().capacity()) +
                             " requests and until the server stops, and are shown to the API key "
                             "and cache_salt that made the request.",
                         "id"});
}

}  // namespace holdfast::api
