#include "policy/model_shape.h"

#include <array>

namespace holdfast::policy {

namespace {

constexpr ByteCount kKiB = 1024;

// attention: 4 x query heads x their size x attention layers, over twice the active parameters.
constexpr double attention(double heads, double size, double layers, double token_flops) {
  return 4.0 * heads * size * layers / token_flops;
}

const std::array<ModelShape, 7>& shapes() {
  static const std::array<ModelShape, 7> all = {{
      // 18 recurrent layers and 6 of attention; 18 MiB of states, 1.27 MiB of convolutions
      {"qwen3.5-0.8b", 12 * kKiB, 19'733 * kKiB, attention(8, 256, 6, 1.6e9), 544, 1.6e9},
      // 24 and 8; 48 and 2.25 MiB
      {"qwen3.5-9b", 32 * kKiB, 51'456 * kKiB, attention(16, 256, 8, 18e9), 528, 18e9},
      // 48 and 16; 144 and 5.6 MiB
      {"qwen3.6-27b", 64 * kKiB, 153'190 * kKiB, attention(24, 256, 16, 54e9), 784, 54e9},
      // 30 and 10; 60 and 2.8 MiB; 3 of 35 billion parameters are active
      {"qwen3.6-35b-a3b", 20 * kKiB, 64'307 * kKiB, attention(16, 256, 10, 6e9), 1056, 6e9},
      // Like Nemotron 3 Nano: 23 layers of Mamba-2 (64 heads of 64, state of 128, 8 groups), 6 of
      // attention (32 heads of 128, 2 for keys and values); 46 and 1.6 MiB; 3.5 billion are active
      {"nemotron-30b-a3b", 6 * kKiB, 48'760 * kKiB, attention(32, 128, 6, 7e9), 2096, 7e9},
      // The model in models/: one layer of attention; for comparisons with a running server
      {"holdfast-pocket", kKiB, 656 * kKiB, 0, 64, 2e7},
      // Llama 3.1: 32 layers, 8 heads of 128 for keys and values
      {"attention-8b", 128 * kKiB, 0, attention(32, 128, 32, 16e9), 16, 16e9},
  }};
  return all;
}

}  // namespace

std::span<const ModelShape> known_shapes() { return shapes(); }

std::optional<ModelShape> find_shape(const std::string& name) {
  for (const ModelShape& shape : shapes()) {
    if (shape.name == name || (!name.empty() && shape.name.ends_with("-" + name))) return shape;
  }
  return std::nullopt;
}

}  // namespace holdfast::policy
