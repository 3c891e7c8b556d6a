// Shared: a value that one thread sets and others look at.
#pragma once

#include <utility>

#include "base/mutex.h"
#include "base/thread_annotations.h"

namespace holdfast {

template <typename T>
class Shared {
 public:
  void set(T value) {
    const MutexLock lock(mutex_);
    value_ = std::move(value);
  }
  [[nodiscard]] T get() const {
    const MutexLock lock(mutex_);
    return value_;
  }

 private:
  mutable Mutex mutex_;
  T value_ GUARDED_BY(mutex_){};
};

}  // namespace holdfast
