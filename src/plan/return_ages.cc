#include "plan/return_ages.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace holdfast::plan {

namespace {

// Requests of this long ago count a third.
constexpr double kMemory = 1000.0;
// The size of a request is that of the latest few: conversations grow.
constexpr double kSizeMemory = 16.0;
// Asked when memory is full, so what is held takes about all of it, and the rest is of no use.
constexpr double kFull = 0.75;
// Of an age after which nothing has come back yet: next to nothing, and less with age.
constexpr double kHardly = 1e-9;
// Requests of longer ago are all as old.
constexpr std::size_t kTicksMax = 16384;
// What is held has to be worth more than a newcomer by this much: who makes way for an equal loses.
constexpr double kClearly = 1.05;

}  // namespace

std::size_t ReturnAges::bin_of(std::uint64_t age) {
  if (age <= 16) return static_cast<std::size_t>(age) - 1;
  const double doublings = std::log2(static_cast<double>(age) / 16.0);
  return std::min(16 + static_cast<std::size_t>(std::ceil(doublings * 4.0 - 1e-9)) - 1, kBins - 1);
}

double ReturnAges::end_of(std::size_t bin) {
  if (bin < 16) return static_cast<double>(bin + 1);
  return 16.0 * std::exp2(static_cast<double>(bin - 15) / 4.0);
}

tree::Tick ReturnAges::begin(tree::Tick now) {
  if (!begun_.empty()) now = std::max(now, begun_.back() + 1);
  begun_.push_back(now);
  if (begun_.size() > kTicksMax) begun_.pop_front();
  return now;
}

std::uint64_t ReturnAges::age(tree::Tick tick) const {
  return static_cast<std::uint64_t>(begun_.end() - std::ranges::upper_bound(begun_, tick));
}

void ReturnAges::note(TokenPos tokens, TokenPos known, tree::Tick last_use) {
  constexpr double kKept = 1.0 - 1.0 / kMemory;
  for (double& bin : returned_) bin *= kKept;
  touched_ = touched_ * kKept + tokens;
  size_ += (tokens - size_) / std::min(kSizeMemory, ++requests_);
  const std::uint64_t requests = age(last_use);
  if (known > 0 && requests > 0) returned_[bin_of(requests)] += known;
  worked_out_ = false;
}

void ReturnAges::work_out() const {
  if (std::exchange(worked_out_, true)) return;
  double left = touched_;  // tokens that have not come back at this age
  for (std::size_t from = 0; from <= kBins; ++from) {
    const double age = from == 0 ? 0.0 : end_of(from - 1);
    double back = 0;
    double held = 0;  // by those that came back
    double best = 0;
    for (std::size_t bin = from; bin < kBins; ++bin) {
      if (returned_[bin] <= 0) continue;
      const double wait = end_of(bin) - age;
      back += returned_[bin];
      held += returned_[bin] * wait;
      best = std::max(best, back / (held + std::max(left - back, 0.0) * wait));
    }
    density_[from] = best + kHardly / (age + 1.0);
    if (from < kBins) left = std::max(left - returned_[from], 0.0);
  }
}

double ReturnAges::density(std::uint64_t age) const {
  work_out();
  if (age == 0) return density_[0];
  // Some of those who come back at an age of a wide bin may still be to come.
  const bool wide = age > 16;
  return density_[bin_of(age) + (wide ? 0 : 1)];
}

bool ReturnAges::loops(double capacity) const {
  if (touched_ <= 0) return false;
  double back = 0;
  double held = 0;
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    back += returned_[bin];
    held += returned_[bin] * end_of(bin);
    const double stays = (held + std::max(touched_ - back, 0.0) * end_of(bin)) / touched_;
    if (size_ * stays < kFull * capacity) continue;
    work_out();
    // The age at which things have to go lies in this bin.
    return density_[std::max<std::size_t>(bin, 1)] > kClearly * density_[0];
  }
  return false;
}

}  // namespace holdfast::plan
