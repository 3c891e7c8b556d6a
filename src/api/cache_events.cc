#include "api/cache_events.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "api/json_fields.h"
#include "api/json_values.h"
#include "cache/advice.h"
#include "cache/receipt.h"

namespace holdfast::api {
namespace {

std::uint64_t unix_us_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

// `write` adds the fields that only this kind of event has.
template <typename Write>
std::string event_data(const Write& write) {
  std::string out;
  {
    ObjectWriter object(out);
    object.text("time", cache::utc_text(static_cast<std::int64_t>(unix_us_now() / 1000)));
    write(object);
  }
  return out;
}

void append_request(ObjectWriter& object, const serve::GenerateRequest& request) {
  object.text("request", request.id);
  object.text("response", request.response);
  append_text_or_null(object, "session", request.session);
}

// As OpenAI calls the ways in which an answer ends.
const char* finish_name(serve::FinishReason reason) {
  const bool limit =
      reason == serve::FinishReason::kMaxTokens || reason == serve::FinishReason::kContextFull;
  return limit ? "length" : "stop";
}

}  // namespace

CacheEvents::CacheEvents() : last_(unix_us_now()), dropped_(last_) {}

// --- what is noted -------------------------------------------------------------------------

void CacheEvents::on_started(const serve::GenerateRequest& request, const serve::Started& started) {
  note("request.started", request.space, event_data([&](ObjectWriter& object) {
         append_request(object, request);
         object.integer("slot", started.slot.value);
         object.integer("prompt_tokens", started.prompt_tokens);
         object.integer("reused_tokens", started.cached_tokens);
       }));
}

void CacheEvents::on_progress(const serve::GenerateRequest& request,
                              const serve::PromptProgress& progress) {
  note("request.read", request.space, event_data([&](ObjectWriter& object) {
         append_request(object, request);
         object.integer("prompt_tokens", progress.total);
         object.integer("reused_tokens", progress.cached);
         object.integer("processed_tokens", progress.processed);
       }));
}

void CacheEvents::on_finished(const serve::GenerateRequest& request,
                              const serve::Finished& finished) {
  note("request.finished", request.space, event_data([&](ObjectWriter& object) {
         append_request(object, request);
         object.integer("slot", finished.slot.value);
         object.text("finish_reason", finish_name(finished.reason));
         object.integer("prompt_tokens", finished.prompt_tokens);
         object.integer("reused_tokens", finished.timings.cached_tokens);
         object.integer("read_tokens", finished.timings.prompt_tokens);
         object.integer("written_tokens", finished.timings.predicted_tokens);
         object.real("read_ms", finished.timings.prompt_ms);
         object.real("written_ms", finished.timings.predicted_ms);
         object.integer("kept_tokens", finished.receipt ? finished.receipt->kept : 0);
       }));
}

void CacheEvents::on_failed(const serve::GenerateRequest& request, const Error& error) {
  note("request.failed", request.space, event_data([&](ObjectWriter& object) {
         append_request(object, request);
         append_boolean(object, "cancelled", error.code == ErrorCode::kCancelled);
       }));
}

void CacheEvents::on_evicted(const plan::Victim& victim) {
  note("state.evicted", victim.space, event_data([&](ObjectWriter& object) {
         object.text("held", victim.held == tree::Held::kSnapshot ? "snapshot" : "rows");
         object.integer("position", victim.position);
         append_count(object, "bytes", victim.bytes);
         object.text("reason", tree::evict_reason_name(victim.reason));
       }));
}

void CacheEvents::on_cleared(const std::optional<SpaceKey>& space, ByteCount freed) {
  note("cache.cleared", space,
       event_data([&](ObjectWriter& object) { append_count(object, "freed_bytes", freed); }));
}

void CacheEvents::on_dropped(const cache::DroppedConversation& dropped) {
  note("conversation.dropped", dropped.space, event_data([&](ObjectWriter& object) {
         append_count(object, "freed_bytes", dropped.freed);
       }));
}

void CacheEvents::note(const char* name, const std::optional<SpaceKey>& space, std::string data) {
  const MutexLock lock(mutex_);
  if (events_.size() == kKept) {
    dropped_ = events_.front().number;
    events_.pop_front();
  }
  last_ = std::max(last_ + 1, unix_us_now());  // clocks are set back now and then
  events_.push_back({last_, name, space, std::move(data)});
}

// --- reading -------------------------------------------------------------------------------

CacheEvents::News CacheEvents::since(std::uint64_t number,
                                     const std::optional<SpaceKey>& only) const {
  const MutexLock lock(mutex_);
  News news{.events = {}, .missed = number < dropped_, .last = last_};
  const auto first = std::ranges::upper_bound(events_, number, {}, &CacheEvent::number);
  for (auto at = first; at != events_.end(); ++at) {
    if (!only || !at->space || *at->space == *only) news.events.push_back(*at);
  }
  return news;
}

std::uint64_t CacheEvents::last() const {
  const MutexLock lock(mutex_);
  return last_;
}

bool CacheEvents::admit_watcher() {
  if (++watchers_ <= kWatchersMax) return true;
  --watchers_;
  return false;
}

}  // namespace holdfast::api
