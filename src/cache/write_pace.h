// WritePace: when the next blob may be written.
//
// While requests are at work it is written slowly, though what the next turn of a conversation
// needs does not take much longer than `core_takes`; after a failure nothing is for a while.
//
// Invariants, verified by the test that is named:
//   WRATE-1  of failures in a row the first is trouble, and the success after them is its end
//            (disk_tier_test.cc, TroubleIsToldOnceAndEnds)
#pragma once

#include <algorithm>
#include <chrono>
#include <utility>

#include "cache/disk_tier_options.h"
#include "env/clock.h"

namespace holdfast::cache {

class WritePace {
 public:
  using TimePoint = env::Clock::TimePoint;

  explicit WritePace(const DiskTierOptions& options) : options_(options) {}

  [[nodiscard]] bool pauses(TimePoint now, bool busy) const {
    return (busy || in_trouble_) && now < write_again_;
  }
  // `core_missing`: bytes that its core lacked when it began; 0: the core is written.
  void note_written(ByteCount bytes, ByteCount core_missing, TimePoint now) {
    if (options_.busy_bytes_per_s == 0) return;
    const std::chrono::duration<double> takes(options_.core_takes);
    const double rate = std::max(static_cast<double>(options_.busy_bytes_per_s),
                                 static_cast<double>(core_missing) / takes.count());
    pause(std::chrono::duration<double>(static_cast<double>(bytes) / rate), now);
  }
  void pause_after_failure(TimePoint now) {
    pause(std::chrono::duration<double, std::milli>(options_.pause_after_failure_ms), now);
  }

  // Whether this is news.
  [[nodiscard]] bool begin_trouble() { return !std::exchange(in_trouble_, true); }
  [[nodiscard]] bool end_trouble() { return std::exchange(in_trouble_, false); }

 private:
  template <typename Duration>
  void pause(Duration duration, TimePoint now) {
    write_again_ = now + std::chrono::duration_cast<TimePoint::duration>(duration);
  }

  const DiskTierOptions options_;
  bool in_trouble_ = false;
  TimePoint write_again_{};  // not before
};

}  // namespace holdfast::cache
