// The architectures that tiny models come in, each as a list of parts.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "engine/llama/testing/tiny_blueprint.h"

namespace holdfast::llama::tiny {

struct Recipe {
  std::string_view name;
  const char* arch;                 // llama.cpp's name, the prefix of the keys
  std::string_view mixers;          // as in Blueprint
  std::string_view feed_forwards;   // as in Blueprint
  std::array<Part, 10> parts = {};  // after the trunk; null beyond the last
  bool has_mtp = false;
};

// Those that generate text.
[[nodiscard]] std::span<const Recipe> recipes();

// One of these, or of those that only give vectors. Null when there is none of that name.
[[nodiscard]] const Recipe* find_recipe(std::string_view name);

// With sizes.layers, the model has this many: of the kinds that the recipe begins
// with, and in hybrids each sizes.interval-th attends.
// REQUIRES: recipe.has_mtp if `mtp`; with sizes.layers, one kind of feed-forward or, where they are
// layers of their own, none.
[[nodiscard]] Blueprint blueprint_of(const Recipe& recipe, const Sizes& sizes, bool mtp);

}  // namespace holdfast::llama::tiny
