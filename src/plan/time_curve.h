// TimeCurve: the time of work by its size, from the sizes whose time is known.
//
//   ms |                        . beyond: along the line from first to last
//      |             x--------x
//      |     x-----'              between two known sizes: a straight line
//      | x
//      +-------------------------- size
//
// Invariants, verified by check():
//   CURVE-1  known sizes ascend
//   CURVE-2  every known time is finite and more than nothing
//
// Pure: no I/O, no clock.
#pragma once

#include <string>
#include <vector>

#include "state/tokens.h"

namespace holdfast::plan {

class TimeCurve {
 public:
  // Before anything is known a size of 1 takes 1, and each unit more this share of it.
  explicit TimeCurve(double share_of_one_more) : share_(share_of_one_more) {}

  void set(TokenPos size, double ms);
  void clear() { known_.clear(); }

  [[nodiscard]] bool empty() const { return known_.empty(); }
  [[nodiscard]] bool knows(TokenPos size) const;
  // Of the smallest known size. REQUIRES: !empty()
  [[nodiscard]] double least_ms() const { return known_.front().ms; }
  // Of the next smaller known size; `otherwise` if there is none.
  [[nodiscard]] double ms_below(TokenPos size, double otherwise) const;
  [[nodiscard]] double ms(double size) const;

  [[nodiscard]] std::vector<std::string> check() const;

 private:
  struct Point {
    TokenPos size = 0;
    double ms = 0.0;
  };

  [[nodiscard]] double beyond(double size, Point end) const;
  [[nodiscard]] double nominal(double size) const { return 1.0 + share_ * (size - 1.0); }

  double share_;
  std::vector<Point> known_;  // ascending
};

}  // namespace holdfast::plan
