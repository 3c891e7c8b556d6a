// The likeliest token of a row of logits, and how likely it is.
#pragma once

#include <span>
#include <vector>

#include "state/tokens.h"

namespace holdfast::engine {

struct Likeliest {
  Token token = 0;  // the first of those with the largest logit
  // Its share of the softmax over the whole row. A value below `least_probability` says no more
  // than that it is below: the sum was not finished. 1 if no probability was asked for; 0 if no
  // value of the row is a number.
  float probability = 0.0F;
};

// For rows of 250,000 logits it takes 0.05 ms, or 0.3 ms with the probability.
class LikeliestFinder {
 public:
  [[nodiscard]] Likeliest find(std::span<const float> logits, float least_probability);

 private:
  std::vector<float> block_maxima_;
};

}  // namespace holdfast::engine
