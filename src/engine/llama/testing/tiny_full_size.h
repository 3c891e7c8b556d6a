// Random models with the sizes of real ones, for measurements: as heavy to compute,
// and with states as large, as the models they are named after. Only the vocabulary
// is small (kFullSizeVocabulary), because it decides nothing about states and would
// be half of a small model's file. What they say is noise.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "base/result.h"
#include "engine/llama/testing/tiny_file.h"
#include "engine/llama/testing/tiny_sizes.h"

namespace holdfast::llama {

inline constexpr std::uint32_t kFullSizeVocabulary = 4096;

struct FullSizeShape {
  std::string_view name;
  std::string_view arch;  // as in TinySpec
  std::string_view what;  // one line for people
  tiny::Sizes sizes;
};

[[nodiscard]] std::span<const FullSizeShape> full_size_shapes();
// Null when there is none of that name.
[[nodiscard]] const FullSizeShape* find_full_size_shape(std::string_view name);

struct FullSizeSpec {
  FullSizeShape shape;
  bool mtp = false;  // as in TinySpec
  ggml_type type = GGML_TYPE_Q8_0;
  std::uint64_t seed = 1;
  tiny::WriteProgress progress = nullptr;
};

// Writes a GGUF file, one tensor at a time in memory. Replaces `path` if it exists;
// a failed write may leave a partial file.
[[nodiscard]] Result<void> write_full_size_model(const FullSizeSpec& spec,
                                                 const std::filesystem::path& path);

}  // namespace holdfast::llama
