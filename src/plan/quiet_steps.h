// QuietSteps: how long those who write are left alone after a gap that they noticed.
//
// A noticed gap is followed by `quiet_steps` steps without another. Quiet steps before it count, as
// far as they were saved up; and what is owed in time is paid by steps, after which reading goes on
// in any case.
//
// Invariants, verified by check():
//   QUIET-1  between -1 and kSavedGaps times `quiet_steps` quiet steps are saved up
//   QUIET-2  the time that is owed is finite and not negative
//
// Pure: no I/O, no clock.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace holdfast::plan {

class QuietSteps {
 public:
  // Quiet steps are saved up for this many gaps: a prompt of 32K tokens in chunks of 2048.
  static constexpr int kSavedGaps = 16;

  explicit QuietSteps(int quiet_steps) : quiet_steps_(quiet_steps) {}

  // Whether a rest is due now, rounded to whole steps of this length.
  [[nodiscard]] bool owed(double step_ms) const { return quiet_ < 0 && owed_ms_ > step_ms / 2; }

  // A gap was noticed, which is worth this much time of steps.
  void owe(double ms) {
    quiet_ = std::max(quiet_, 0) - quiet_steps_;
    owed_ms_ = ms;
  }
  // A step came without one.
  void save_step() { quiet_ = std::min(quiet_ + 1, kSavedGaps * quiet_steps_); }
  // A step took this long.
  void pay(double ms) { owed_ms_ = std::max(owed_ms_ - ms, 0.0); }
  // Nobody writes, so nobody waits.
  void forgive() {
    quiet_ = std::max(quiet_, 0);
    owed_ms_ = 0.0;
  }

  [[nodiscard]] std::vector<std::string> check() const {
    std::vector<std::string> violations;
    if (quiet_ < -quiet_steps_ || quiet_ > kSavedGaps * quiet_steps_)
      violations.push_back("QUIET-1: " + std::to_string(quiet_) + " quiet steps");
    if (!std::isfinite(owed_ms_) || owed_ms_ < 0.0)
      violations.push_back("QUIET-2: " + std::to_string(owed_ms_) + " ms are owed");
    return violations;
  }

 private:
  int quiet_steps_;
  int quiet_ = 0;         // steps saved up; negative: still to come
  double owed_ms_ = 0.0;  // of steps, after which reading goes on in any case
};

}  // namespace holdfast::plan
