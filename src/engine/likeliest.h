// The likeliest token of a row of logits, and how likely it is.
#pragma once

#include <span>
#include <vector>

#include "state/tokens.h"

namespace holdfast::engine {

struct Likeliest {
  Token token = 0;  // the first of those with the largest logit
  // Of the softmax over the whole row. Below `least_probability` only that is certain
  // (the sum is not finished); where no probability is asked for it is 1.
  float probability = 0.0F;  // 0 when the row holds no number
};

// Made for rows of some 250,000 logits: 0.05 ms, or 0.3 with the probability.
class LikeliestFinder {
 public:
  [[nodiscard]] Likeliest find(std::span<const float> logits, float least_probability);

 private:
  std::vector<float> block_maxima_;
};

}  // namespace holdfast::engine
