// Clock is the only source of time above env/, so that tests can turn it.
#pragma once

#include <chrono>
#include <cstdint>

namespace holdfast::env {

class Clock {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  virtual ~Clock() = default;
  [[nodiscard]] virtual TimePoint now() const = 0;
  // What the calendar says, for people to read; never for measuring.
  [[nodiscard]] virtual std::int64_t unix_ms() const {
    const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count();
  }
};

class SteadyClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return std::chrono::steady_clock::now(); }
};

[[nodiscard]] inline double ms_between(Clock::TimePoint from, Clock::TimePoint to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

}  // namespace holdfast::env
