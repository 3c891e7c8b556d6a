// RequestGate: requests go through it, but not while it is closed. Any thread.
#pragma once

#include <condition_variable>

#include "base/mutex.h"
#include "base/thread_annotations.h"

namespace holdfast::cli {

class RequestGate {
 public:
  // Waits while it is closed.
  void enter() {
    MutexLock lock(mutex_);
    while (closed_) changed_.wait(lock);
    ++inside_;
  }
  void leave() {
    const MutexLock lock(mutex_);
    --inside_;
    changed_.notify_all();
  }

  // Returns when nobody is inside.
  void close() {
    MutexLock lock(mutex_);
    closed_ = true;
    while (inside_ > 0) changed_.wait(lock);
  }
  void open() {
    const MutexLock lock(mutex_);
    closed_ = false;
    changed_.notify_all();
  }

 private:
  Mutex mutex_;
  std::condition_variable_any changed_;
  int inside_ GUARDED_BY(mutex_) = 0;
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace holdfast::cli
