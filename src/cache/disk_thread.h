// DiskThread: one thread that does first what is asked of it, and writes behind when nothing is.
//
//   ask ----------> tasks, in their order       first
//   WriteBehind --> one blob at a time          when no task waits
//
// Without start() it has no thread, and work() is called by hand.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <thread>

#include "base/mutex.h"
#include "base/thread_annotations.h"
#include "cache/write_behind.h"

namespace holdfast::cache {

class DiskThread {
 public:
  // REQUIRES: `behind` outlives it.
  explicit DiskThread(WriteBehind& behind) : behind_(behind) {}
  ~DiskThread() { stop(); }
  DiskThread(const DiskThread&) = delete;
  DiskThread& operator=(const DiskThread&) = delete;

  void start();
  void stop();  // what waits is not done
  [[nodiscard]] bool runs() const { return thread_.joinable(); }
  // One thing, if there is one to do.
  bool work();

  // -- any thread ---------------------------------------------------------------
  void ask(std::function<void()> task);
  // There is something to be written.
  void wake();
  // Returns when nothing waits any more: true; or when `go_on`, which is asked now and then, says
  // no, or it is stopped.
  [[nodiscard]] bool wait_until_idle(const std::function<bool()>& go_on);

 private:
  void run();
  [[nodiscard]] std::function<void()> next_task();

  WriteBehind& behind_;
  Mutex mutex_;
  std::condition_variable_any news_;
  std::condition_variable_any idle_;
  std::deque<std::function<void()>> tasks_ GUARDED_BY(mutex_);
  bool stop_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace holdfast::cache
