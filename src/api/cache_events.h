// CacheEvents: what becomes of requests and of the states that they leave, as it happens.
//
//   scheduler's thread --note--> [ the latest kKept ] --since(when)--> GET /cache/events
//
// A reader that comes too late for an event is told that some were missed; none is waited for.
// Nothing here quotes a prompt or an answer. An event's number is its time, so that numbers tell
// nothing of events that a reader may not see, and go on ascending after a restart.
//
// Invariants, verified by the tests of the same numbers (cache_events_test.cc):
//   EVENTS-1  numbers ascend; at most kKept events are kept, the latest
//   EVENTS-2  since() gives a reader all that came later, is kept and may be seen by it, in order;
//             `missed` iff something that came later was dropped, or came before this server
//
// Any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/thread_annotations.h"
#include "serve/scheduler_options.h"
#include "state/space.h"

namespace holdfast::api {

struct CacheEvent {
  std::uint64_t number = 0;       // microseconds since 1970
  const char* name = "";          // "request.started"
  std::optional<SpaceKey> space;  // whose it is; nothing: everybody's
  std::string data;               // JSON
};

class CacheEvents final : public serve::SchedulerObserver {
 public:
  static constexpr std::size_t kKept = 2048;
  static constexpr std::size_t kWatchersMax = 64;

  CacheEvents();

  // -- the scheduler's thread -----------------------------------------------------------------
  void on_started(const serve::GenerateRequest& request, const serve::Started& started) override;
  void on_progress(const serve::GenerateRequest& request,
                   const serve::PromptProgress& progress) override;
  void on_finished(const serve::GenerateRequest& request, const serve::Finished& finished) override;
  void on_failed(const serve::GenerateRequest& request, const Error& error) override;
  void on_evicted(const plan::Victim& victim) override;
  void on_cleared(const std::optional<SpaceKey>& space, ByteCount freed) override;
  void on_dropped(const cache::DroppedConversation& dropped) override;

  // -- readers --------------------------------------------------------------------------------
  struct News {
    std::vector<CacheEvent> events;
    bool missed = false;
    std::uint64_t last = 0;  // to be asked from next
  };
  // What came after this number. `only`: what is everybody's, and that space's own.
  [[nodiscard]] News since(std::uint64_t number, const std::optional<SpaceKey>& only) const;
  [[nodiscard]] std::uint64_t last() const;

  // One more watches; false: too many do.
  [[nodiscard]] bool admit_watcher();
  void leave_watcher() { --watchers_; }
  // Those who watch are to end soon.
  void close() { closed_ = true; }
  [[nodiscard]] bool closed() const { return closed_; }

 private:
  void note(const char* name, const std::optional<SpaceKey>& space, std::string data);

  std::atomic<std::size_t> watchers_ = 0;
  std::atomic<bool> closed_ = false;
  mutable Mutex mutex_;
  std::deque<CacheEvent> events_ GUARDED_BY(mutex_);
  std::uint64_t last_ GUARDED_BY(mutex_);     // number of the latest
  std::uint64_t dropped_ GUARDED_BY(mutex_);  // nothing up to here is kept
};

}  // namespace holdfast::api
