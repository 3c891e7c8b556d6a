// Inbox: what other threads leave for the scheduler's loop, and where the loop sleeps.
//
//   any thread                         the loop
//   submit, cancel, post  --->         take         at the beginning of each round
//   post_glance           --->         answer_glances   also while it sleeps or is at idle work
//   request_stop, wake    --->         wait
//
// An errand is work that has to be done on the loop's thread. A glance only looks: it is answered
// at any time, and does not count as work, so that a page which polls keeps nobody from idle work.
//
// Invariants, verified by check():
//   INBOX-1  at most `queue_max` requests wait, and they are counted: those that lie here and those
//            that the loop has taken into its queue
//
// Any thread, except where a function says otherwise.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "base/thread_annotations.h"
#include "serve/job.h"

namespace holdfast::serve {

enum class StopMode {
  kFinish,  // running and queued requests are completed first
  kAbort,   // every request ends at its next step
};

[[nodiscard]] Error stopping_error();
[[nodiscard]] Error cancelled_error();

class Inbox {
 public:
  using Errand = std::function<void()>;

  explicit Inbox(std::size_t queue_max) : queue_max_(queue_max) {}

  // kUnavailable: the queue is full, or the server stops.
  [[nodiscard]] Result<void> submit(std::unique_ptr<Job> job);
  void cancel(const std::string& request_id);
  // False: the server stops, and the errand is not run.
  [[nodiscard]] bool post(Errand errand);
  [[nodiscard]] bool post_glance(Errand glance);
  // There may be something to do that does not lie here.
  void wake();
  void request_stop(StopMode mode);

  struct Standing {
    std::size_t waiting = 0;  // requests
    bool stopping = false;
  };
  [[nodiscard]] Standing standing() const;

  // -- the loop's thread ----------------------------------------------------------------------
  struct Delivery {
    std::vector<std::unique_ptr<Job>> jobs;
    std::vector<std::string> cancelled;
    std::vector<Errand> errands;
    bool abort = false;  // everything ends now
  };
  [[nodiscard]] Delivery take();
  void answer_glances();
  // This many requests that take() gave have begun, or are gone.
  void note_left_queue(std::size_t count);
  // Sleeps until there is something for the loop, at most this long, and answers glances meanwhile;
  // returns whether there is. `fetching`: requests wait for the tier below, and a stop for them.
  bool wait(std::optional<std::chrono::milliseconds> most, bool fetching);
  // Whether the loop may end: the server stops, and nothing is left to do.
  [[nodiscard]] bool may_end() const;
  // `queued`: requests that lie in the loop's queue.
  [[nodiscard]] std::vector<std::string> check(std::size_t queued) const;

 private:
  [[nodiscard]] bool has_work(bool fetching) const REQUIRES_LOCK(mutex_);

  const std::size_t queue_max_;
  mutable Mutex mutex_;
  std::condition_variable_any news_;
  Delivery new_ GUARDED_BY(mutex_);
  std::vector<Errand> glances_ GUARDED_BY(mutex_);
  std::size_t waiting_ GUARDED_BY(mutex_) = 0;  // INBOX-1
  std::optional<StopMode> stop_ GUARDED_BY(mutex_);
  bool woken_ GUARDED_BY(mutex_) = false;
};

}  // namespace holdfast::serve
