// Makes a failing list of operations small. For tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace holdfast::tree {

// Operations draw all their choices from `seed`, so that any of them can be
// left out and the rest still mean something.
struct SeededOp {
  int kind = 0;
  std::uint32_t seed = 0;
  bool operator==(const SeededOp&) const = default;
};

// A shortest list that the greedy search finds for which `fails` is still true:
// leaves out runs of operations, long runs first, then makes seeds small.
// REQUIRES: fails(ops).
template <typename Fails>
[[nodiscard]] std::vector<SeededOp> shrink(std::vector<SeededOp> ops, Fails&& fails) {
  const auto take_if_failing = [&](std::vector<SeededOp>&& candidate) {
    if (!fails(candidate)) return false;
    ops = std::move(candidate);
    return true;
  };
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (std::size_t run = (ops.size() + 1) / 2; run > 0; run /= 2) {
      for (std::size_t at = 0; at + run <= ops.size();) {
        auto candidate = ops;
        const auto first = candidate.begin() + static_cast<std::ptrdiff_t>(at);
        candidate.erase(first, first + static_cast<std::ptrdiff_t>(run));
        if (take_if_failing(std::move(candidate))) {
          smaller = true;
        } else {
          at += run;
        }
      }
    }
  }
  constexpr std::uint32_t kSmallSeeds = 12;
  for (std::size_t at = 0; at < ops.size(); ++at) {
    for (std::uint32_t seed = 0; seed < kSmallSeeds && ops[at].seed >= kSmallSeeds; ++seed) {
      auto candidate = ops;
      candidate[at].seed = seed;
      take_if_failing(std::move(candidate));
    }
  }
  return ops;
}

}  // namespace holdfast::tree
