// TimesBySize: how long work of some size takes, learned from what ran. The work is a
// step with this many token rows, or a draft of this many tokens.
//
// Its parts: TimeCurve (the usual time of each size), SizeRun and ChangeCost (which times have
// settled, and what a change of size costs), MachineSlowness (how slow all is now).
//
// Only what settled enters a size's mean. Where changes turn out to cost next to nothing, as on a
// processor, every time enters; and a size that never lasts long enough is guessed from its first
// times, less what the change cost.
//
// All times are kept as if the machine were as usual, and are given back as it is now: a size that
// was measured in better times is not taken for a cheap one.
//
// Invariants, verified by check():
//   TIMES-1  every size that is kept lies between 1 and kSizeMost
//   TIMES-2  a change costs nothing or more
//   TIMES-3  its parts are sound (CURVE-1, CURVE-2, RUN-1, RUN-2, SLOW-1)
//
// Pure: no I/O, no clock.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plan/machine_slowness.h"
#include "plan/size_run.h"
#include "plan/steady_time.h"
#include "plan/time_curve.h"
#include "state/tokens.h"

namespace holdfast::plan {

// What was measured of one size, as if the machine were as usual.
struct SizeTimes {
  SteadyTime settled;
  SteadyTime first;              // right after a change
  std::uint64_t settled_at = 0;  // the latest note of a settled time
};

class TimesBySize {
 public:
  static constexpr TokenPos kSizeMost = 256;

  // Before anything is known a size of 1 takes 1, and each unit more this share of it.
  explicit TimesBySize(double share_of_one_more) : usual_(share_of_one_more) {}

  // Times of nothing are not noted.
  void note(TokenPos size, double ms);
  // Something else ran in between; what comes next comes after a change.
  void interrupt() { run_.interrupt(); }

  // The clock stands still: nothing will ever be known.
  [[nodiscard]] bool timeless() const { return notes_ == 0 && timeless_; }
  // What is known, as if the machine were as usual.
  [[nodiscard]] const TimeCurve& usual() const { return usual_; }
  [[nodiscard]] double slowness() const { return slowness_.now(); }
  [[nodiscard]] double ms(double size) const { return slowness() * usual_.ms(size); }
  // As little as it may be, where the time is a guess along a line: halfway from there to
  // the next smaller size that is known.
  [[nodiscard]] double ms_at_best(TokenPos size) const;
  // What a change of size costs, once, and whether that is worth a thought.
  [[nodiscard]] double change_ms() const;
  [[nodiscard]] bool changes_cost() const;
  [[nodiscard]] bool knows_changes() const { return change_.any(); }
  // Whether what runs now has this size, and has had it for a whole run.
  [[nodiscard]] bool settled_at(TokenPos size) const { return run_.settled_at(size); }

  // Whether about this size, a quarter more or less, has run among the latest `notes`,
  // for long enough to be believed.
  [[nodiscard]] bool seen_lately(TokenPos size, std::uint64_t notes) const;
  [[nodiscard]] std::uint64_t notes() const { return notes_; }

  [[nodiscard]] std::vector<std::string> check() const;

 private:
  void learn_time(TokenPos size, double ms);
  void remember(TokenPos size, const SizeTimes& times);

  TimeCurve usual_;
  std::map<TokenPos, SizeTimes> visited_;
  MachineSlowness slowness_;
  SizeRun run_;
  ChangeCost change_;
  std::uint64_t notes_ = 0;
  bool timeless_ = false;
};

}  // namespace holdfast::plan
