// Watchdog: says in the log when the scheduler's loop is stuck, in what and for whose request, and
// when it goes on. It changes nothing: `/health` tells the same, and the operator decides.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "serve/pulse.h"

namespace holdfast::cli {

class Watchdog {
 public:
  // Nothing: there is no loop yet. Asked on the watchdog's thread.
  using Look = std::function<std::optional<serve::PulseReading>()>;

  explicit Watchdog(Look look) : look_(std::move(look)) {}
  ~Watchdog() { stop(); }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Looks again and again on a thread of its own until stop().
  void start(std::chrono::milliseconds every = std::chrono::seconds(1));
  void stop();
  // Once; instead of start(), for tests.
  void look_once();

 private:
  const Look look_;
  bool told_ = false;  // that it is stuck
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;  // under mutex_
  std::thread thread_;
};

}  // namespace holdfast::cli
