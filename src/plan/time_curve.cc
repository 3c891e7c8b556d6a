#include "plan/time_curve.h"

#include <algorithm>
#include <cmath>

namespace holdfast::plan {

void TimeCurve::set(TokenPos size, double ms) {
  auto at = std::ranges::lower_bound(known_, size, {}, &Point::size);
  if (at == known_.end() || at->size != size) at = known_.insert(at, Point{size, 0.0});
  at->ms = ms;
}

bool TimeCurve::knows(TokenPos size) const {
  return std::ranges::binary_search(known_, size, {}, &Point::size);
}

double TimeCurve::ms_below(TokenPos size, double otherwise) const {
  const auto at = std::ranges::lower_bound(known_, size, {}, &Point::size);
  return at == known_.begin() ? otherwise : std::prev(at)->ms;
}

double TimeCurve::ms(double size) const {
  if (known_.empty()) return nominal(size);
  const auto above = std::ranges::lower_bound(
      known_, size, {}, [](const Point& point) { return static_cast<double>(point.size); });
  if (above == known_.end()) return beyond(size, known_.back());
  if (above == known_.begin()) return beyond(size, known_.front());
  const Point below = *std::prev(above);
  const double part = (size - below.size) / static_cast<double>(above->size - below.size);
  return below.ms + part * (above->ms - below.ms);
}

// From one end of what is known onwards. More never takes less time, nor more than in
// proportion.
double TimeCurve::beyond(double size, Point end) const {
  double slope = share_ * end.ms / nominal(end.size);
  if (known_.size() > 1) {
    slope = (known_.back().ms - known_.front().ms) /
            static_cast<double>(known_.back().size - known_.front().size);
  }
  slope = std::clamp(slope, 0.0, end.ms / static_cast<double>(end.size));
  return end.ms + slope * (size - end.size);
}

std::vector<std::string> TimeCurve::check() const {
  std::vector<std::string> violations;
  for (std::size_t i = 0; i < known_.size(); ++i) {
    const std::string named = "size " + std::to_string(known_[i].size);
    if (i > 0 && known_[i - 1].size >= known_[i].size) {
      violations.push_back("CURVE-1: " + named + " is out of order");
    }
    if (!std::isfinite(known_[i].ms) || known_[i].ms <= 0.0) {
      violations.push_back("CURVE-2: " + named + " has no time");
    }
  }
  return violations;
}

}  // namespace holdfast::plan
