#include "cache/evicted_bytes.h"

#include <algorithm>

namespace holdfast::cache {

void EvictedBytes::note(tree::Tick when, ByteCount bytes) {
  if (bytes == 0) return;
  const ByteCount sum = bytes + (moments_.empty() ? forgotten_ : moments_.back().sum);
  const bool joins =
      !moments_.empty() && (moments_.back().when >= when ||
                            moments_.back().sum - sum_before(moments_.size() - 1) < step_);
  if (joins) {
    moments_.back() = {std::max(moments_.back().when, when), sum};
    return;
  }
  moments_.push_back({when, sum});
  if (moments_.size() <= kMomentsMax) return;
  forgotten_ = moments_.front().sum;
  moments_.pop_front();
}

ByteCount EvictedBytes::from(tree::Tick when) const {
  const auto first = std::ranges::lower_bound(moments_, when, {}, &Moment::when);
  if (first == moments_.end()) return 0;
  return moments_.back().sum - sum_before(static_cast<std::size_t>(first - moments_.begin()));
}

std::vector<std::string> EvictedBytes::check() const {
  std::vector<std::string> violations;
  for (std::size_t i = 1; i < moments_.size(); ++i) {
    if (moments_[i].when <= moments_[i - 1].when || moments_[i].sum <= moments_[i - 1].sum)
      violations.emplace_back("GONE-1: moments do not ascend");
    if (moments_[i - 1].sum - sum_before(i - 1) < step_)
      violations.emplace_back("GONE-2: a moment stands for too little");
  }
  if (moments_.size() > kMomentsMax) violations.emplace_back("GONE-2: too many moments");
  return violations;
}

}  // namespace holdfast::cache
