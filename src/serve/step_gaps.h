// StepGaps: how long slots waited from one decode step to the next, as a histogram.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace holdfast::serve {

struct StepGaps {
  // Seconds; a gap counts in the first that it is not longer than, or in the last of `counts`.
  static constexpr std::array<double, 10> kBounds = {0.005, 0.01, 0.025, 0.05, 0.1,
                                                     0.25,  0.5,  1.0,   2.5,  10.0};

  void note(double seconds) {
    const auto bound = std::ranges::lower_bound(kBounds, seconds);
    ++counts[static_cast<std::size_t>(bound - kBounds.begin())];
    sum += seconds;
    longest = std::max(longest, seconds);
  }

  std::array<std::uint64_t, kBounds.size() + 1> counts{};
  double sum = 0.0;      // seconds
  double longest = 0.0;  // seconds
};

}  // namespace holdfast::serve
