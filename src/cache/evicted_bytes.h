// EvictedBytes: how many bytes have left memory for want of room since a moment.
//
//   evicted at t1   10 MiB           what left at t1 would still be here if memory had been larger
//   evicted at t2   30 MiB           by all that had to leave from then on: 10 + 30 + 5 MiB
//   evicted at t3    5 MiB
//
// Memory is ordered by worth, and what leaves first is worth least; so that is nearly true.
//
// Invariants, verified by check():
//   GONE-1  moments ascend, and so do the sums
//   GONE-2  there are at most kMomentsMax moments, and each but the last stands for at least 1/256
//           of the budget: what left is known for 16 budgets, and from() is too large by less than
//           what one moment stands for
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "state/parts.h"
#include "tree/types.h"

namespace holdfast::cache {

class EvictedBytes {
 public:
  static constexpr std::size_t kMomentsMax = 4096;

  explicit EvictedBytes(ByteCount budget) : step_(budget / (kMomentsMax / 16) + 1) {}

  // No earlier than the last.
  void note(tree::Tick when, ByteCount bytes);
  // What left at that moment and later; of a moment that is forgotten, less.
  [[nodiscard]] ByteCount from(tree::Tick when) const;

  [[nodiscard]] std::vector<std::string> check() const;

 private:
  struct Moment {
    tree::Tick when = 0;  // the latest that it stands for
    ByteCount sum = 0;    // of all up to then
  };

  [[nodiscard]] ByteCount sum_before(std::size_t moment) const {
    return moment == 0 ? forgotten_ : moments_[moment - 1].sum;
  }

  const ByteCount step_;
  std::deque<Moment> moments_;
  ByteCount forgotten_ = 0;
};

}  // namespace holdfast::cache
