// Random weights: bounded, and scaled to keep activations near 1.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace holdfast::llama::tiny {

struct WeightRules {
  std::uint64_t seed = 0;
  // Embeddings that the graph multiplies by sqrt(width) are smaller by as much.
  bool scales_embeddings = false;
};

// Fills the tensor `name`, whose rows have `row_size` elements. The weights are
// a pure function of the arguments: no tensor depends on another one.
void fill_weights(std::span<float> weights, std::string_view name, std::int64_t row_size,
                  const WeightRules& rules);

}  // namespace holdfast::llama::tiny
