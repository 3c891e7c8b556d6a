#include "api/cache_pages.h"

#include <charconv>
#include <chrono>

#include "api/access.h"
#include "api/answered.h"
#include "api/completions.h"
#include "api/json_fields.h"
#include "api/worker.h"
#include "cache/advice.h"
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

const char* restored_from(plan::StartSource source) {
  switch (source) {
    case plan::StartSource::kNothing: return "nothing";
    case plan::StartSource::kLive: return "live slot";
    case plan::StartSource::kSnapshotInPlace: return "snapshot in place";
    case plan::StartSource::kMemory: return "memory";
  }
  return "nothing";
}

// It passed through memory, but it was not there.
bool from_disk(const cache::Receipt& receipt) {
  return receipt.source == plan::StartSource::kMemory && receipt.fetched > 0 &&
         receipt.restored <= receipt.fetched;
}

void boolean(ObjectWriter& object, std::string_view name, bool value) {
  object.raw(name, value ? "true" : "false");
}

void text_or_null(ObjectWriter& object, std::string_view name, std::string_view value) {
  if (value.empty()) {
    object.raw(name, "null");
  } else {
    object.text(name, value);
  }
}

void count(ObjectWriter& object, std::string_view name, std::uint64_t value) {
  object.integer(name, static_cast<std::int64_t>(value));
}

// a / b, or null where there is no b.
template <typename Number>
void share(ObjectWriter& object, std::string_view name, Number a, Number b) {
  if (b <= 0) {
    object.raw(name, "null");
  } else {
    object.real(name, static_cast<double>(a) / static_cast<double>(b));
  }
}

// --- a receipt ------------------------------------------------------------------

void append_tokens(std::string& out, const Tokens& tokens) {
  out += '[';
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0) out += ',';
    append_json_number(out, std::int64_t{tokens[i]});
  }
  out += ']';
}

struct Sides {
  std::string known;
  std::string sent;
};

Sides sides_of(const cache::Receipt& receipt, const engine::TextModel& text) {
  if (!receipt.difference) return {};
  return {text.detokenize(receipt.difference->known), text.detokenize(receipt.difference->sent)};
}

void append_difference(std::string& out, const cache::Difference& difference, const Sides& sides) {
  ObjectWriter object(out);
  object.integer("position", difference.position);
  if (difference.message < 0) {
    object.raw("message", "null");
  } else {
    object.integer("message", difference.message);
  }
  object.text("role", role_name(difference.role));
  object.text("known_text", sides.known);
  object.text("sent_text", sides.sent);
  append_tokens(object.key("known_tokens"), difference.known);
  append_tokens(object.key("sent_tokens"), difference.sent);
}

void append_missing(std::string& out, const cache::Receipt& receipt) {
  const tree::EvictionNote& evicted = receipt.missing.evicted;
  ObjectWriter object(out);
  object.text("why", cache::miss_reason_name(receipt.missing.why));
  object.integer("position", receipt.missing.position);
  const auto when = cache::evicted_at(receipt);
  text_or_null(object, "evicted_at", when ? cache::utc_text(*when) : "");
  text_or_null(object, "evicted_for", evicted ? tree::evict_reason_name(evicted.reason) : "");
  text_or_null(object, "made_by", receipt.missing.made_by);
  object.text("sentence", cache::missing_sentence(receipt));
}

void append_counts(ObjectWriter& object, const cache::Receipt& receipt) {
  object.integer("prompt_tokens", receipt.prompt_tokens);
  object.integer("matched_tokens", receipt.matched);
  object.integer("restorable_tokens", receipt.restorable);
  object.integer("restored_tokens", receipt.restored);
  object.text("restored_from", from_disk(receipt) ? "disk" : restored_from(receipt.source));
  object.integer("recomputed_tokens", receipt.recomputed);
  share(object, "reuse", receipt.restored, receipt.matched);
  count(object, "bytes_restored", receipt.bytes_in);
  count(object, "bytes_fetched", receipt.fetched_bytes);
  count(object, "bytes_kept", receipt.bytes_out);
  object.integer("checkpoints", receipt.checkpoints);
  object.integer("history_tokens", receipt.history_tokens);
}

void append_times(ObjectWriter& object, const cache::Receipt& receipt) {
  object.real("queued_ms", receipt.queued_ms);
  text_or_null(object, "waited_for", receipt.waited_for);
  object.real("fetch_ms", receipt.fetch_ms);
  object.real("restore_ms", receipt.restore_ms);
  object.real("prompt_ms", receipt.prompt_ms);
  object.real("saved_ms", receipt.saved_ms);
}

void append_companion(std::string& out, const cache::CompanionReceipt& companion) {
  ObjectWriter object(out);
  object.text("name", companion.name);
  object.integer("held_tokens", companion.held);
  object.integer("memory_tokens", companion.from_memory);
  text_or_null(object, "missing", companion.missing);
  count(object, "drafted", companion.drafts.drafted);
  count(object, "accepted", companion.drafts.accepted);
  std::string& places = object.key("by_place");
  places += '[';
  for (const DraftCounts::Place& place : companion.drafts.places) {
    if (place.tried == 0) break;
    if (places.back() != '[') places += ',';
    ObjectWriter one(places);
    count(one, "tried", place.tried);
    count(one, "accepted", place.accepted);
  }
  places += ']';
}

void append_receipt(std::string& out, const cache::Receipt& receipt, const engine::TextModel& text,
                    ByteCount budget) {
  const Sides sides = sides_of(receipt, text);
  ObjectWriter object(out);
  object.text("id", receipt.id);
  object.text("response", receipt.response);
  object.text("time", cache::utc_text(receipt.unix_ms));
  object.integer("slot", receipt.slot);
  append_counts(object, receipt);
  if (receipt.difference) {
    append_difference(object.key("difference"), *receipt.difference, sides);
  } else {
    object.raw("difference", "null");
  }
  if (receipt.missing.why != cache::MissReason::kNone) {
    append_missing(object.key("missing"), receipt);
  } else {
    object.raw("missing", "null");
  }
  append_times(object, receipt);
  if (receipt.companion) {
    append_companion(object.key("companion"), *receipt.companion);
  } else {
    object.raw("companion", "null");
  }
  text_or_null(object, "proof", receipt.proof);
  const bool advised = !receipt.advice.empty();
  text_or_null(
      object, "advice",
      advised ? receipt.advice : cache::advice_for(receipt, sides.known, sides.sent, budget));
  boolean(object, "complete", receipt.complete);
}

// --- the status -------------------------------------------------------------------

void append_memory(std::string& out, const cache::CacheStatus& status) {
  ObjectWriter object(out);
  count(object, "budget_bytes", status.budget);
  count(object, "resident_bytes", status.resident);
  count(object, "extent_bytes", status.extents);
  count(object, "window_bytes", status.windows);
  count(object, "snapshot_bytes", status.snapshots);
  count(object, "pinned_bytes", status.pinned);
  count(object, "peak_bytes", status.peak);
  count(object, "snapshots", status.snapshot_count);
  count(object, "slot_snapshots", status.slot_snapshot_count);
  count(object, "slot_snapshot_bytes", status.slot_snapshots);
  count(object, "slot_snapshot_bytes_max", status.slot_snapshots_max);
  count(object, "nodes", status.nodes);
  count(object, "tokens", status.tokens);
  count(object, "remembered_tokens", status.ghost_tokens);
}

void append_disk(std::string& out, const cache::DiskTierStatus& disk) {
  const tier::StoreStats& store = disk.store;
  ObjectWriter object(out);
  boolean(object, "writes", disk.writes);
  count(object, "budget_bytes", disk.budget);
  count(object, "bytes", store.bytes());
  count(object, "blobs", store.blobs());
  count(object, "waiting_conversations", disk.paths_waiting);
  count(object, "waiting_bytes", disk.bytes_waiting);
  object.real("read_mb_per_s", disk.bytes_per_ms / 1000.0);
  count(object, "stored", store.stored);
  count(object, "stored_bytes", store.stored_bytes);
  count(object, "loaded", store.loaded);
  count(object, "loaded_bytes", store.loaded_bytes);
  count(object, "dropped", store.dropped);
  count(object, "dropped_bytes", store.dropped_bytes);
  count(object, "declined", store.declined + disk.paths_declined);
  count(object, "gone_before_written", disk.lost + disk.paths_lost);
  count(object, "quarantined", store.quarantined);
  count(object, "failed", store.failed);
  boolean(object, "volume_full", store.full);
  text_or_null(object, "last_failure", store.last_failure);
}

void append_totals(std::string& out, const cache::CacheStatus& status) {
  ObjectWriter object(out);
  count(object, "requests", status.requests);
  count(object, "prompt_tokens", status.prompt_tokens);
  count(object, "matched_tokens", status.matched_tokens);
  count(object, "restored_tokens", status.restored_tokens);
  count(object, "restored_live_tokens", status.restored_live_tokens);
  count(object, "restored_memory_tokens", status.restored_memory_tokens);
  count(object, "restored_disk_tokens", status.restored_lower_tokens);
  count(object, "fetches", status.fetches);
  object.real("fetch_seconds", status.fetch_seconds);
  count(object, "restores", status.restores);
  count(object, "restored_bytes", status.restored_bytes);
  object.real("restore_seconds", status.restore_seconds);
  object.real("saved_seconds", status.saved_seconds);
  count(object, "checkpoints", status.checkpoints);
  count(object, "declined", status.declined);
  count(object, "stored_bytes", status.stored_bytes);
  object.real("store_seconds", status.store_seconds);
  count(object, "evicted_snapshots", status.evicted_snapshots);
  count(object, "evicted_rows", status.evicted_rows);
  count(object, "evicted_bytes", status.evicted_bytes);
  count(object, "quarantined", status.quarantined);
  count(object, "waits", status.waits);
}

void append_conversation(std::string& out, const cache::ConversationStatus& one,
                         const std::optional<TokenPos>& on_disk) {
  ObjectWriter object(out);
  object.integer("tokens", one.tokens);
  count(object, "bytes", one.own.sum() + one.shared.sum());
  count(object, "own_row_bytes", one.own.rows);
  count(object, "own_snapshots", one.own.snapshot_count);
  count(object, "own_snapshot_bytes", one.own.snapshots);
  count(object, "shared_bytes", one.shared.sum());
  count(object, "shared_snapshots", one.shared.snapshot_count);
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
    count(object, "freed_bytes", freed);
    text_or_null(object, "left_on_disk", status.lower ? status.lower->left_by_clear : "");
  }
  return ok(std::move(out));
}

Error not_cleared(const Error& why) {
  return {why.code, "The cache is not cleared yet. " + why.message + " Try again later.", ""};
}

std::string tenant_of(const HttpRequest& request, const std::string& key_name) {
  return tenant_name(key_name, request.query_value("cache_salt"));
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

std::string receipt_json(const cache::Receipt& receipt, const engine::TextModel& text,
                         ByteCount budget) {
  std::string out;
  append_receipt(out, receipt, text, budget);
  return out;
}

std::string conversations_json(const cache::ConversationsStatus& conversations,
                               const TokensOnDisk& on_disk) {
  std::string out;
  {
    ObjectWriter object(out);
    count(object, "count", conversations.count);
    count(object, "own_bytes", conversations.own.sum());
    count(object, "shared_bytes", conversations.shared.sum());
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

std::string cache_status_json(const cache::CacheStatus& status, std::string_view conversations) {
  std::string out;
  {
    ObjectWriter object(out);
    object.text("object", "cache");
    boolean(object, "enabled", status.enabled);
    boolean(object, "deterministic", status.deterministic);
    object.text("summary", summary_of(status));
    share(object, "hit_share", status.restored_tokens, status.prompt_tokens);
    object.text("state", status.state);
    object.text("fingerprint", status.fingerprint);
    append_memory(object.key("memory"), status);
    if (status.lower) {
      append_disk(object.key("disk"), *status.lower);
    } else {
      object.raw("disk", "null");
    }
    object.raw("conversations", conversations);
    append_totals(object.key("totals"), status);
  }
  return out;
}

boost::asio::awaitable<void> show_cache(CompletionContext context, const HttpRequest&,
                                        HttpResponder& responder) {
  serve::Scheduler& scheduler = *context.backend->scheduler;
  const BeginAsking<cache::ConversationsStatus> begin =
      [&](serve::Answer<cache::ConversationsStatus> answer) {
        scheduler.cache_commands().list_conversations(kConversationsShown, std::move(answer));
      };
  const auto listed =
      co_await answered_within<cache::ConversationsStatus>(context.io, kListPatience, begin);
  // Asking for what lies on disk digests all their tokens.
  const auto write = [&] {
    const TokensOnDisk on_disk = [&](const cache::ConversationStatus& one) {
      return scheduler.cache_commands().tokens_below(one);
    };
    const std::string list = listed ? conversations_json(*listed, on_disk) : "null";
    return ok(cache_status_json(scheduler.cache_commands().status(), list));
  };
  HttpResponse response = co_await on_worker(context.worker, write);
  co_await responder.send(std::move(response));
}

boost::asio::awaitable<void> clear_cache(CompletionContext context, const HttpRequest&,
                                         HttpResponder& responder) {
  serve::Scheduler& scheduler = *context.backend->scheduler;
  const BeginAsking<ByteCount> begin = [&](serve::Answer<ByteCount> answer) {
    scheduler.cache_commands().clear(std::move(answer));
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
  std::string out = R"({"object":"list","data":[)";
  bool first = true;
  for (const cache::Receipt& receipt :
       backend.scheduler->receipts().latest(*limit, tenant_of(request, key_name))) {
    if (!first) out += ',';
    first = false;
    append_receipt(out, receipt, *backend.text, budget);
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
