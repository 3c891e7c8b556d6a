// Shared: a value that one thread sets and others look at.
#pragma once

#include <mutex>
#include <utility>

#include "base/thread_annotations.h"

namespace holdfast {

template <typename T>
class Shared {
 public:
  void set(T value) {
    const std::lock_guard lock(mutex_);
    value_ = std::move(value);
  }
  [[nodiscard]] T get() const {
    const std::lock_guard lock(mutex_);
    return value_;
  }

 private:
  mutable std::mutex mutex_;
  T value_ GUARDED_BY(mutex_){};
};

}  // namespace holdfast
