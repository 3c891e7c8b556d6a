// TraceClock: the time of a trace, and what passes while a request is at work.
//
// Every request begins when the trace says, however long the one before took: a trace of many
// machines is replayed on one. So the clock goes back where a request took longer than the pause
// after it; the tree lets time stand still until the trace has caught up (TreeCore::advance).
#pragma once

#include <chrono>
#include <cstdint>

#include "env/clock.h"

namespace holdfast::policy {

class TraceClock final : public env::Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return TimePoint{} + passed_; }
  void begin_request(std::int64_t ms) { passed_ = std::chrono::milliseconds(ms); }
  void pass(double ms) { passed_ += std::chrono::nanoseconds(static_cast<std::int64_t>(ms * 1e6)); }

 private:
  std::chrono::nanoseconds passed_{0};
};

}  // namespace holdfast::policy
