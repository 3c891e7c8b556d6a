// SizeRun: work of one size that runs again and again, and what the change to it cost.
//
// On a GPU work of another size than before is slow at first: graphs are built again,
// and launched one by one until they have been seen often enough.
//
//   ms | x                x       the first kSettling times after a change tell what a
//      |   x                x     change costs (ChangeCost);
//      |     x x x x x        x x   the others, what this size takes
//      +-------------------------- runs of equal size
//
// Pure: no I/O, no clock.
//
// Invariants, verified by check():
//   RUN-1  a run is counted up to kLong at most
//   RUN-2  what a change costs is finite
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "plan/steady_time.h"
#include "state/tokens.h"

namespace holdfast::plan {

// How many times work of the present size has run.
class SizeRun {
 public:
  static constexpr int kSettling = 2;
  // A run of one size that is long enough to be believed.
  static constexpr int kWhole = kSettling + 3;
  // One after which its size tells how slow the machine is.
  static constexpr int kLong = 16;

  // Whether work of this size begins a run.
  [[nodiscard]] bool changes_to(TokenPos size) const { return size != size_; }
  void begin(TokenPos size) {
    size_ = size;
    length_ = 0;
  }
  // Something else ran in between.
  void interrupt() { size_ = 0; }
  void note() { length_ = std::min(length_ + 1, kLong); }

  // Times that were noted in it.
  [[nodiscard]] int length() const { return length_; }
  [[nodiscard]] bool settled() const { return length_ >= kSettling; }
  // Whether what runs now has this size, and has had it for a whole run.
  [[nodiscard]] bool settled_at(TokenPos size) const { return size == size_ && length_ >= kWhole; }
  [[nodiscard]] std::vector<std::string> check() const;

 private:
  TokenPos size_ = 0;  // 0: none, or one that was interrupted
  int length_ = 0;
};

// How much longer the first times of a run take than those that follow.
class ChangeCost {
 public:
  // A run begins. The very first one comes after no other, and tells nothing.
  void begin_run(bool after_another) { learned_ = !after_another; }
  void note_first(int index, double ms) { first_[static_cast<std::size_t>(index)] = ms; }
  // Once in a run, when it has settled: its first times and its settled one, as if the machine
  // were as usual. False: this run has been learned from.
  bool learn(double settled_ms, double slowness);

  [[nodiscard]] bool any() const { return extra_.front().any(); }
  [[nodiscard]] bool known() const { return extra_.front().known(); }
  // Of the first time after a change; of all of them. Not below 0.
  [[nodiscard]] double first_ms() const { return std::max(extra_.front().ms(), 0.0); }
  [[nodiscard]] double ms() const;
  [[nodiscard]] std::vector<std::string> check() const;

 private:
  std::array<double, SizeRun::kSettling> first_{};
  std::array<MiddleTime, SizeRun::kSettling> extra_;
  bool learned_ = true;
};

}  // namespace holdfast::plan
