#include "plan/times_by_size.h"

#include <algorithm>
#include <cmath>

namespace holdfast::plan {

namespace {

// A mean of about the last four.
constexpr double kNewTimeWeight = 1.0 / 4;
// A whole stretch of odd times does not make it odder than this, each time.
constexpr double kOddTime = 2.0;
// A change that costs less than this share of the cheapest work is no matter.
constexpr double kNoMatter = 0.05;
// Of a time after a change, if all the rest of it was the change.
constexpr double kLeastShare = 0.1;
// One odd time must not make changes so dear that none is ever made again.
constexpr double kChangeMost = 8.0;

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

void TimesBySize::note(TokenPos size, double ms) {
  timeless_ = ms == 0.0;
  if (size < 1 || size > kSizeMost || !(ms > 0.0) || !std::isfinite(ms)) return;
  if (size != size_) {
    change_learned_ = notes_ == 0;
    size_ = size;
    in_run_ = 0;
  }
  ++notes_;
  learn_time(size, ms);
  in_run_ = std::min(in_run_ + 1, kLongRun);
}

void TimesBySize::learn_time(TokenPos size, double ms) {
  Visited& visited = visited_[size];
  const bool settled = in_run_ >= kSettling;
  if (!settled) first_[static_cast<std::size_t>(in_run_)] = ms;
  if (in_run_ == 0) visited.first.note(ms / slowness());
  if (settled || !changes_cost()) {
    visited.settled_at = notes_;
    if (size == reference_) {
      slowness_.note(ms / visited.settled.ms());
    } else {
      visited.settled.note(ms / slowness());
    }
  }
  if (in_run_ >= kLongRun && visited.settled.known()) reference_ = size;
  if (settled && visited.settled.known()) learn_change(visited.settled.ms());
  remember(size, visited);
}

void TimesBySize::interrupt() { size_ = 0; }

// Once in a run, when it has settled: how much longer did its first times take?
void TimesBySize::learn_change(double settled_ms) {
  if (change_learned_) return;
  change_learned_ = true;
  for (std::size_t i = 0; i < first_.size(); ++i) {
    extra_[i].note(first_[i] / slowness() - settled_ms);
  }
  known_.clear();
  for (const auto& [size, visited] : visited_) remember(size, visited);
}

// A guess from first times takes no less than what is known of smaller sizes.
void TimesBySize::remember(TokenPos size, const Visited& visited) {
  if (!visited.settled.known() && !visited.first.known()) return;
  auto at = std::ranges::lower_bound(known_, size, {}, &Point::size);
  const double least = at == known_.begin() ? kLeastShare * visited.first.ms() : std::prev(at)->ms;
  if (at == known_.end() || at->size != size) at = known_.insert(at, Point{size, 0.0});
  const double guess = visited.first.ms() - std::max(extra_.front().ms(), 0.0);
  at->ms = visited.settled.known() ? visited.settled.ms() : std::max(guess, least);
}

bool TimesBySize::knows(TokenPos size) const {
  return std::ranges::binary_search(known_, size, {}, &Point::size);
}

double TimesBySize::usual_ms(double size) const {
  if (known_.empty()) return nominal(size);
  const auto above = std::ranges::lower_bound(
      known_, size, {}, [](const Point& point) { return static_cast<double>(point.size); });
  if (above == known_.end()) return beyond(size, known_.back());
  if (above == known_.begin()) return beyond(size, known_.front());
  const Point below = *std::prev(above);
  const double part = (size - below.size) / static_cast<double>(above->size - below.size);
  return below.ms + part * (above->ms - below.ms);
}

double TimesBySize::ms_at_best(TokenPos size) const {
  const auto at = std::ranges::lower_bound(known_, size, {}, &Point::size);
  const double line = ms(size);
  if (at == known_.begin() || (at != known_.end() && at->size == size)) return line;
  return (line + std::min(line, slowness() * std::prev(at)->ms)) / 2.0;
}

// From one end of what is known onwards. More never takes less time, nor more than in
// proportion.
double TimesBySize::beyond(double size, Point end) const {
  double slope = share_ * end.ms / nominal(end.size);
  if (known_.size() > 1) {
    slope = (known_.back().ms - known_.front().ms) /
            static_cast<double>(known_.back().size - known_.front().size);
  }
  slope = std::clamp(slope, 0.0, end.ms / static_cast<double>(end.size));
  return end.ms + slope * (size - end.size);
}

double TimesBySize::change_ms() const {
  if (known_.empty()) return 0.0;
  double sum = 0.0;
  for (const MiddleTime& extra : extra_) sum += std::max(extra.ms(), 0.0);
  return slowness() * std::min(sum, kChangeMost * known_.front().ms);
}

bool TimesBySize::changes_cost() const {
  if (!extra_.front().known()) return notes_ > 0;  // to be found out
  return change_ms() > kNoMatter * slowness() * known_.front().ms;
}

bool TimesBySize::seen_lately(TokenPos size, std::uint64_t notes) const {
  const auto lately = [&](const auto& at) {
    return at.second.settled.known() && notes_ - at.second.settled_at < notes;
  };
  const TokenPos about = size / 4;
  return std::any_of(visited_.lower_bound(size - about), visited_.upper_bound(size + about),
                     lately);
}

std::vector<std::string> TimesBySize::check() const {
  std::vector<std::string> violations;
  for (const auto& [size, visited] : visited_) {
    if (size < 1 || size > kSizeMost) {
      violations.push_back("TIMES-1: size " + std::to_string(size) + " is kept");
    }
  }
  for (const Point& point : known_) {
    if (!std::isfinite(point.ms) || point.ms <= 0.0) {
      violations.push_back("TIMES-2: size " + std::to_string(point.size) + " has no time");
    }
  }
  if (!std::isfinite(slowness()) || slowness() <= 0.0) {
    violations.emplace_back("TIMES-2: the slowness is none");
  }
  if (!std::isfinite(change_ms()) || change_ms() < 0.0) {
    violations.emplace_back("TIMES-2: a change has no cost");
  }
  return violations;
}

}  // namespace holdfast::plan
