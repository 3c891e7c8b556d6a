#include "plan/steady_time.h"

#include <algorithm>

namespace holdfast::plan {

namespace {

// A mean of about the last four.
constexpr double kNewTimeWeight = 1.0 / 4;
// A whole stretch of odd times does not make it odder than this, each time.
constexpr double kOddTime = 2.0;

}  // namespace

// Of the first times the shortest is believed: waiting only ever adds.
void SteadyTime::note(double ms) {
  latest_[count_ % latest_.size()] = ms;
  ++count_;
  if (count_ < latest_.size()) {
    mean_ = count_ == 1 ? ms : std::min(mean_, ms);
    return;
  }
  auto sorted = latest_;
  std::ranges::sort(sorted);
  mean_ += kNewTimeWeight * (std::min(sorted[1], kOddTime * mean_) - mean_);
}

void MiddleTime::note(double ms) { latest_[count_++ % latest_.size()] = ms; }

double MiddleTime::ms() const {
  if (count_ == 0) return 0.0;
  auto sorted = latest_;
  const auto kept = static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(count_, sorted.size()));
  std::sort(sorted.begin(), sorted.begin() + kept);
  return sorted[static_cast<std::size_t>((kept - 1) / 2)];
}

}  // namespace holdfast::plan
