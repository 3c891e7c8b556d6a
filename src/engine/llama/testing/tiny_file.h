// Writes a Blueprint as a GGUF file, with one tensor at a time in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>

#include "engine/llama/testing/tiny_recipes.h"
#include "ggml.h"

namespace holdfast::llama::tiny {

// Bytes of tensors written so far, and in all.
using WriteProgress = std::function<void(std::size_t done, std::size_t all)>;

struct ModelFile {
  const Recipe& recipe;
  const Blueprint& blueprint;
  std::string name;
  std::uint64_t seed = 0;
  // Of the matrices; norms, biases and convolutions are always F32.
  ggml_type type = GGML_TYPE_F32;
  WriteProgress progress = nullptr;
};

// False when not all could be written.
[[nodiscard]] bool write_model(const ModelFile& model, std::FILE* file);

// Bytes of all tensors.
[[nodiscard]] std::size_t tensor_bytes(const Blueprint& blueprint, ggml_type type);

}  // namespace holdfast::llama::tiny
