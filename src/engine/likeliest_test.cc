#include "engine/likeliest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace holdfast::engine {
namespace {

double softmax_of_best(const std::vector<float>& logits) {
  const double best = *std::ranges::max_element(logits);
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(logit - best);
  return 1.0 / sum;
}

TEST(Likeliest, AgreesWithAPlainSoftmax) {
  std::mt19937 random(7);
  LikeliestFinder finder;
  for (const std::size_t size : {1U, 15U, 264U, 4096U, 250001U}) {
    for (const float spread : {0.5F, 3.0F, 12.0F}) {
      std::normal_distribution<float> normal(0.0F, spread);
      std::vector<float> logits(size);
      for (float& logit : logits) logit = normal(random);
      const auto found = finder.find(logits, 1e-9F);
      EXPECT_EQ(found.token, std::ranges::max_element(logits) - logits.begin());
      EXPECT_NEAR(found.probability / softmax_of_best(logits), 1.0, 1e-3) << size << " " << spread;
    }
  }
}

TEST(Likeliest, TakesTheFirstOfEquals) {
  std::vector<float> logits(1000, -1.0F);
  logits[300] = logits[301] = logits[700] = 2.0F;
  EXPECT_EQ(LikeliestFinder().find(logits, 0.0F).token, 300);
}

TEST(Likeliest, IsBelowTheLeastExactlyWhenTheSoftmaxIs) {
  const std::vector<float> logits(1000, 0.0F);  // each 0.001
  LikeliestFinder finder;
  EXPECT_LT(finder.find(logits, 0.002F).probability, 0.002F);
  EXPECT_GE(finder.find(logits, 0.0009F).probability, 0.0009F);
  EXPECT_EQ(finder.find(logits, 0.0F).probability, 1.0F);
}

TEST(Likeliest, ARowWithoutNumbersHasNone) {
  const float nothing = std::numeric_limits<float>::quiet_NaN();
  LikeliestFinder finder;
  EXPECT_EQ(finder.find(std::vector<float>(100, nothing), 0.5F).probability, 0.0F);
  EXPECT_EQ(finder.find({}, 0.5F).probability, 0.0F);
  std::vector<float> some(100, nothing);
  some[40] = 1.0F;
  EXPECT_EQ(finder.find(some, 0.0F).token, 40);
}

}  // namespace
}  // namespace holdfast::engine
