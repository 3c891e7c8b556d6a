// EngineFaults: how often each call of the engine fails, and how; and how long each takes.
//
// States that are wrong although their checksum agrees are not among them: no server can know
// those.
#pragma once

#include <chrono>
#include <cstdint>

#include "choices.h"
#include "counts.h"
#include "engine/testing/fake.h"
#include "simulated_clock.h"

namespace holdfast::simulation {

class EngineFaults {
 public:
  EngineFaults(Choices& choices, SimulatedClock& clock, Counts& counts)
      : choices_(choices), clock_(clock), counts_(counts) {}

  // Each kind of call fails once in this many; 0: never.
  struct Rates {
    std::size_t prefill = 0, decode = 0, truncate = 0, save = 0, load = 0;
  };
  void set(const Rates& rates) { rates_ = rates; }
  // Calls that take a state back fail requests too: where all is exact nothing else has the bits of
  // a cold run.
  void count_all() { all_ = true; }

  [[nodiscard]] engine::FakeFault next(engine::FakeOperation operation) {
    using enum engine::FakeOperation;
    switch (operation) {
      case kPrefill: return computing(rates_.prefill, "engine: prefill failed", 900);
      case kDecode: return computing(rates_.decode, "engine: decode failed", 300);
      case kTruncate:
        return fault(rates_.truncate, "engine: truncate refused", engine::FakeFault::kRefuse);
      case kSave: return saving();
      case kLoad: return fault(rates_.load, "engine: load failed", engine::FakeFault::kFail);
    }
    return engine::FakeFault::kNone;
  }
  // Calls that have failed, of those that requests may fail for.
  [[nodiscard]] std::uint64_t calls_failed() const { return failed_; }
  // And all of them: what was decoded may have been read again since.
  [[nodiscard]] std::uint64_t faults() const { return faults_; }

 private:
  engine::FakeFault fault(std::size_t rate, const char* name, engine::FakeFault kind) {
    if (!choices_.once_in(rate)) return engine::FakeFault::kNone;
    counts_.add(name);
    ++faults_;
    if (all_) ++failed_;
    return kind;
  }
  engine::FakeFault computing(std::size_t rate, const char* name, int microseconds) {
    clock_.pass(std::chrono::microseconds(microseconds));
    const auto kind = fault(rate, name, engine::FakeFault::kFail);
    if (kind != engine::FakeFault::kNone) ++failed_;
    return kind;
  }
  engine::FakeFault saving() {
    clock_.pass(std::chrono::microseconds(40));
    const auto kind = fault(rates_.save, "engine: save failed", engine::FakeFault::kFail);
    if (kind != engine::FakeFault::kNone) return kind;
    return fault(rates_.save, "engine: saved bytes damaged", engine::FakeFault::kCorrupt);
  }

  Choices& choices_;
  SimulatedClock& clock_;
  Counts& counts_;
  Rates rates_;
  bool all_ = false;
  std::uint64_t failed_ = 0;
  std::uint64_t faults_ = 0;
};

}  // namespace holdfast::simulation
