#include "replay/model_shape.h"

#include <array>

namespace holdfast::replay {

namespace {

constexpr ByteCount kKiB = 1024;

// attention: 4 x query heads x 256 x attention layers, over twice the active parameters.
const std::array<ModelShape, 5>& shapes() {
  static const std::array<ModelShape, 5> all = {{
      // 18 recurrent layers and 6 of attention; 18 MiB of states, 1.27 MiB of convolutions
      {"qwen3.5-0.8b", 12 * kKiB, 19'733 * kKiB, 4.0 * 8 * 256 * 6 / 1.6e9, 544},
      // 48 and 16; 144 and 5.6 MiB
      {"qwen3.6-27b", 64 * kKiB, 153'190 * kKiB, 4.0 * 24 * 256 * 16 / 54e9, 784},
      // 30 and 10; 60 and 2.8 MiB; 3 of 35 billion parameters are active
      {"qwen3.6-35b-a3b", 20 * kKiB, 64'307 * kKiB, 4.0 * 16 * 256 * 10 / 6e9, 1056},
      // The model in models/: one layer of attention; for comparisons with a running server
      {"holdfast-pocket", kKiB, 656 * kKiB, 0, 64},
      // Llama 3.1: 32 layers, 8 heads of 128 for keys and values
      {"attention-8b", 128 * kKiB, 0, 4.0 * 32 * 128 * 32 / 16e9, 16},
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

}  // namespace holdfast::replay
