#include "engine/likeliest.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace holdfast::engine {

namespace {

constexpr std::size_t kBlock = 256;
constexpr std::size_t kLanes = 16;
constexpr float kNothing = -std::numeric_limits<float>::infinity();
// A token whose logit is this far below the best adds less than 2e-9 of the best one's share. All
// of them together add less than 0.00015, in the largest vocabularies.
constexpr float kNegligible = -20.0F;

// The compiler turns lanes that do not depend on one another into vector instructions.
float maximum(std::span<const float> values) {
  std::array<float, kLanes> lanes;
  lanes.fill(kNothing);
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float value = values[i + lane];
      lanes[lane] = value > lanes[lane] ? value : lanes[lane];
    }
  }
  float best = *std::ranges::max_element(lanes);
  for (; i < values.size(); ++i) best = values[i] > best ? values[i] : best;
  return best;
}

// e^exponent for exponents of -80 to 0, with a relative error below 1e-4. It has no branch and no
// conversion, so that the compiler can use vector instructions; std::exp takes ten times as long.
float fast_exp(float exponent) {
  constexpr float kRounder = 12582912.0F;      // 1.5 * 2^23: adding it rounds to a whole number
  const float power = exponent * 1.44269504F;  // of two
  const float rounded = power + kRounder;
  const float part = power - (rounded - kRounder);  // -0.5 .. 0.5
  const auto whole = std::bit_cast<std::int32_t>(rounded) - std::bit_cast<std::int32_t>(kRounder);
  const float mantissa =
      1.0F +
      part * (0.69314718F + part * (0.24022651F + part * (0.05550411F + part * 0.00961813F)));
  return std::bit_cast<float>(std::bit_cast<std::int32_t>(mantissa) + whole * (1 << 23));
}

// The sum over one block. A value that is not a number counts as nearly nothing.
float sum_of_exps(std::span<const float> values, float best) {
  std::array<float, kBlock> block;
  block.fill(kNothing);
  std::ranges::copy(values, block.begin());
  std::array<float, kBlock> exponents;
  exponents.fill(-80.0F);
  for (std::size_t i = 0; i < kBlock; ++i) {
    const float below = block[i] - best;
    exponents[i] = below > exponents[i] ? below : exponents[i];
  }
  for (std::size_t i = 0; i < kBlock; ++i) block[i] = fast_exp(exponents[i]);
  std::array<float, kLanes> lanes{};
  for (std::size_t i = 0; i < kBlock; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += block[i + lane];
  }
  float sum = 0.0F;
  for (const float lane : lanes) sum += lane;
  return sum;
}

}  // namespace

Likeliest LikeliestFinder::find(std::span<const float> logits, float least_probability) {
  const auto block = [&](std::size_t b) {
    return logits.subspan(b * kBlock, std::min(kBlock, logits.size() - b * kBlock));
  };
  block_maxima_.resize((logits.size() + kBlock - 1) / kBlock);
  for (std::size_t b = 0; b < block_maxima_.size(); ++b) block_maxima_[b] = maximum(block(b));
  if (block_maxima_.empty()) return {};
  const auto best_block = std::ranges::max_element(block_maxima_);
  const float best = *best_block;
  if (!std::isfinite(best)) return {};
  const auto b = static_cast<std::size_t>(best_block - block_maxima_.begin());
  const auto within = std::ranges::find(block(b), best) - block(b).begin();
  Likeliest found{static_cast<Token>(b * kBlock + static_cast<std::size_t>(within)), 1.0F};
  if (least_probability <= 0.0F) return found;

  float sum = 0.0F;
  for (std::size_t i = 0; i < block_maxima_.size() && sum * least_probability <= 1.0F; ++i) {
    if (block_maxima_[i] - best >= kNegligible) sum += sum_of_exps(block(i), best);
  }
  found.probability = 1.0F / sum;
  return found;
}

}  // namespace holdfast::engine
