// SimulatedClock: time that passes when the simulation says so. The calendar may jump either way,
// as when somebody sets it.
#pragma once

#include <chrono>
#include <cstdint>

#include "env/clock.h"

namespace holdfast::simulation {

class SimulatedClock final : public env::Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return now_; }
  [[nodiscard]] std::int64_t unix_ms() const override {
    const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(now_ - TimePoint{});
    return 1'700'000'000'000 + passed.count() + jumped_ms_;
  }
  void pass(std::chrono::microseconds time) { now_ += time; }
  void jump_calendar(std::int64_t ms) { jumped_ms_ += ms; }

 private:
  TimePoint now_{};
  std::int64_t jumped_ms_ = 0;
};

}  // namespace holdfast::simulation
