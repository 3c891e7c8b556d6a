// Mutex, MutexLock and MutexUnlock: std::mutex with the annotations that the standard library
// lacks, so that clang can verify GUARDED_BY and REQUIRES_LOCK.
//
// A thread waits with std::condition_variable_any, which takes a MutexLock.
#pragma once

#include <mutex>

#include "base/thread_annotations.h"

namespace holdfast {

class HOLDFAST_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  void lock() HOLDFAST_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  void unlock() HOLDFAST_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  [[nodiscard]] bool try_lock() HOLDFAST_ATTRIBUTE(try_acquire_capability(true)) {
    return mutex_.try_lock();
  }

 private:
  std::mutex mutex_;
};

// Holds a mutex until the end of its scope. It may be let go and taken again meanwhile.
class HOLDFAST_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) HOLDFAST_ATTRIBUTE(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() HOLDFAST_ATTRIBUTE(release_capability()) {
    if (held_) mutex_.unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void lock() HOLDFAST_ATTRIBUTE(acquire_capability()) {
    mutex_.lock();
    held_ = true;
  }
  void unlock() HOLDFAST_ATTRIBUTE(release_capability()) {
    held_ = false;
    mutex_.unlock();
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

// Lets a mutex go that the caller holds, until the end of its scope.
class HOLDFAST_ATTRIBUTE(scoped_lockable) MutexUnlock {
 public:
  explicit MutexUnlock(Mutex& mutex) HOLDFAST_ATTRIBUTE(release_capability(mutex)) : mutex_(mutex) {
    mutex_.unlock();
  }
  ~MutexUnlock() HOLDFAST_ATTRIBUTE(release_capability()) { mutex_.lock(); }
  MutexUnlock(const MutexUnlock&) = delete;
  MutexUnlock& operator=(const MutexUnlock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace holdfast
