// A Blueprint says everything about a tiny model but its weights: the metadata
// keys, and the name and extents of every tensor. Nothing of it is asked from
// llama.cpp, so a model does not depend on which optional tensors a build of
// the library makes up by itself.
//
// It is put together from parts. A part sets keys and adds the tensors that
// these keys call for, so that the sizes in both come from one place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/llama/testing/tiny_sizes.h"

namespace holdfast::llama::tiny {

using Array = std::vector<std::uint32_t>;

struct Key {
  std::string name;  // "tokenizer.", or without the architecture prefix
  std::variant<std::uint32_t, float, Array> value;
};
using Keys = std::vector<Key>;

struct Shape {
  std::string name;
  std::vector<std::int64_t> extents;  // the first is contiguous, as in ggml
};
using Shapes = std::vector<Shape>;

struct Blueprint {
  Sizes sizes;
  // By layer: A attention, R recurrent, B both, - neither.
  std::string mixers;
  // By layer: D dense, E experts, - none.
  std::string feed_forwards;
  // The graph multiplies embeddings by sqrt(width).
  bool scales_embeddings = false;

  Keys keys = {};  // of two with the same name, the later one counts
  Shapes tensors = {};

  void set(const Keys& more) { keys.insert(keys.end(), more.begin(), more.end()); }

  // Add tensors of the model as a whole, or of each layer of a kind; the names
  // of the latter come without the layer's prefix.
  void add(const Shapes& shapes) { tensors.insert(tensors.end(), shapes.begin(), shapes.end()); }
  void add_to_layer(std::size_t layer, const Shapes& shapes);
  void add_to_all(const Shapes& shapes) { add_where(mixers, "ARB-", shapes); }
  void add_to_attention(const Shapes& shapes) { add_where(mixers, "AB", shapes); }
  void add_to_recurrent(const Shapes& shapes) { add_where(mixers, "RB", shapes); }
  void add_to_dense(const Shapes& shapes) { add_where(feed_forwards, "D", shapes); }
  void add_to_experts(const Shapes& shapes) { add_where(feed_forwards, "E", shapes); }

  // REQUIRES: a tensor has this name.
  void rename(std::string_view from, std::string_view to);

 private:
  void add_where(std::string_view layers, std::string_view kinds, const Shapes& shapes);
};

using Part = void (*)(Blueprint& model);

// `value` on the layers of this kind, 0 on the others.
[[nodiscard]] Array on_layers(std::string_view layers, char kind, std::uint32_t value);

}  // namespace holdfast::llama::tiny
