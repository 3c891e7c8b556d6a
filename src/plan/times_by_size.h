// TimesBySize: how long work of some size takes, learned from what ran. The work is a
// step with this many token rows, or a draft of this many tokens.
//
//   ms |                        . beyond: along the line from first to last
//      |             x--------x
//      |     x-----'              between two visited sizes: a straight line
//      | x
//      +-------------------------- size
//
// On a GPU work of another size than before is slow at first: graphs are built again,
// and launched one by one until they have been seen often enough.
//
//   ms | x                x       the first kSettling times after a change tell what a
//      |   x                x     change costs (change_ms);
//      |     x x x x x        x x   the others, what this size takes (ms)
//      +-------------------------- runs of equal size
//
// So only what settled enters a size's mean. Where changes turn out to cost next to
// nothing, as on a processor, every time enters; and a size that never lasts long enough
// is guessed from its first times, less what the change cost.
//
// A machine is slower at times, for everything alike. Work of the size that has lately run for
// long tells how slow it is now, and the times of all sizes with it: one that was measured in
// better times is not taken for a cheap one. All that is kept is kept as if the machine were as
// usual; the usual time of that one size is not learned again meanwhile, or the two would
// drift apart.
//
// Invariants, verified by check():
//   TIMES-1  every size that is kept lies between 1 and kSizeMost
//   TIMES-2  every time, and the slowness, is finite and more than nothing; a change costs nothing
//            or more
//
// Pure: no I/O, no clock.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "state/tokens.h"

namespace holdfast::plan {

// A mean of the latest times that a few odd ones do not move. Two times alone are not
// believed, and later ones enter as the second shortest of five: work that waited for
// something moves nothing, and all means err to the same side.
class SteadyTime {
 public:
  void note(double ms);
  [[nodiscard]] bool known() const { return count_ >= 3; }
  [[nodiscard]] double ms() const { return known() ? mean_ : 0.0; }

 private:
  std::array<double, 5> latest_{};
  std::uint64_t count_ = 0;
  double mean_ = 0.0;
};

// The middle of the latest few, the shorter one of two.
class MiddleTime {
 public:
  void note(double ms);
  [[nodiscard]] bool any() const { return count_ > 0; }
  [[nodiscard]] bool known() const { return count_ >= 3; }
  [[nodiscard]] double ms() const;  // of however few; 0 of none

 private:
  std::array<double, 5> latest_{};
  std::uint64_t count_ = 0;
};

class TimesBySize {
 public:
  static constexpr TokenPos kSizeMost = 256;
  static constexpr int kSettling = 2;
  // A run of one size that is long enough to be believed.
  static constexpr int kRun = kSettling + 3;
  // One after which its size tells how slow the machine is.
  static constexpr int kLongRun = 16;

  // Before anything is known a size of 1 takes 1, and each unit more this share of it.
  explicit TimesBySize(double share_of_one_more) : share_(share_of_one_more) {}

  // Times of nothing are not noted.
  void note(TokenPos size, double ms);
  // Something else ran in between; what comes next comes after a change.
  void interrupt();

  // The clock stands still: nothing will ever be known.
  [[nodiscard]] bool timeless() const { return notes_ == 0 && timeless_; }
  [[nodiscard]] bool knows_any() const { return !known_.empty(); }
  [[nodiscard]] bool knows(TokenPos size) const;
  [[nodiscard]] double ms(double size) const { return slowness() * usual_ms(size); }
  // How much longer everything takes now than usual.
  [[nodiscard]] double slowness() const { return slowness_.known() ? slowness_.ms() : 1.0; }
  // As little as it may be, where the time is a guess along a line: halfway from there to
  // the next smaller size that is known.
  [[nodiscard]] double ms_at_best(TokenPos size) const;
  // What a change of size costs, once, and whether that is worth a thought.
  [[nodiscard]] double change_ms() const;
  [[nodiscard]] bool changes_cost() const;
  [[nodiscard]] bool knows_changes() const { return extra_.front().any(); }
  // Whether what runs now has this size, and has had it for a whole run.
  [[nodiscard]] bool settled_at(TokenPos size) const { return size == size_ && in_run_ >= kRun; }

  // Whether about this size, a quarter more or less, has run among the latest `notes`,
  // for long enough to be believed.
  [[nodiscard]] bool seen_lately(TokenPos size, std::uint64_t notes) const;
  [[nodiscard]] std::uint64_t notes() const { return notes_; }

  [[nodiscard]] std::vector<std::string> check() const;

 private:
  struct Visited {
    SteadyTime settled;
    SteadyTime first;  // right after a change
    std::uint64_t settled_at = 0;
  };
  struct Point {
    TokenPos size = 0;
    double ms = 0.0;
  };

  void learn_change(double settled_ms);
  void learn_time(TokenPos size, double ms);
  void remember(TokenPos size, const Visited& visited);
  [[nodiscard]] double usual_ms(double size) const;
  [[nodiscard]] double beyond(double size, Point end) const;
  [[nodiscard]] double nominal(double size) const { return 1.0 + share_ * (size - 1.0); }

  double share_;
  std::map<TokenPos, Visited> visited_;
  std::vector<Point> known_;  // those whose usual time is believed, ascending
  TokenPos reference_ = 0;    // the size that tells the slowness; 0: none yet
  SteadyTime slowness_;
  std::uint64_t notes_ = 0;
  bool timeless_ = false;
  // The run at hand.
  TokenPos size_ = 0;
  int in_run_ = 0;
  std::array<double, kSettling> first_{};
  bool change_learned_ = true;  // before the very first run was no other
  std::array<MiddleTime, kSettling> extra_;
};

}  // namespace holdfast::plan
