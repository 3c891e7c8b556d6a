#include "plan/size_run.h"

#include <cmath>

namespace holdfast::plan {

std::vector<std::string> SizeRun::check() const {
  if (length_ >= 0 && length_ <= kLong) return {};
  return {"RUN-1: a run of " + std::to_string(length_)};
}

bool ChangeCost::learn(double settled_ms, double slowness) {
  if (learned_) return false;
  learned_ = true;
  for (std::size_t i = 0; i < first_.size(); ++i) {
    extra_[i].note(first_[i] / slowness - settled_ms);
  }
  return true;
}

double ChangeCost::ms() const {
  double sum = 0.0;
  for (const MiddleTime& extra : extra_) sum += std::max(extra.ms(), 0.0);
  return sum;
}

std::vector<std::string> ChangeCost::check() const {
  if (std::isfinite(ms())) return {};
  return {"RUN-2: a change has no cost"};
}

}  // namespace holdfast::plan
