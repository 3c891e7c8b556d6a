// Sizes: the extents that the parts of a model agree on.
//
// Tiny models derive all of them from their width. Full-size ones
// (tiny_full_size.h) name each, as a real model's configuration does.
#pragma once

#include <cstdint>

namespace holdfast::llama::tiny {

struct Sizes {
  std::uint32_t width = 0;   // the embedding length
  std::uint32_t layers = 0;  // without an MTP block; 0: those that the recipe lists
  std::uint32_t inner = 0;   // of a dense feed-forward
  std::uint32_t vocabulary = 0;
  std::uint32_t context = 0;  // trained

  // Attention.
  std::uint32_t heads = 0;
  std::uint32_t kv_heads = 0;
  std::uint32_t head = 0;      // width of one head
  std::uint32_t rotary = 0;    // of these this many turn, where the file says so
  std::uint32_t interval = 0;  // each so-many-th layer attends, or sees beyond its window
  std::uint32_t window = 0;    // where attention slides

  // Gated delta nets: each value head has a state of delta_head x delta_head.
  std::uint32_t key_heads = 0;
  std::uint32_t value_heads = 0;
  std::uint32_t delta_head = 0;

  // Mamba 2: ssm_inner channels in ssm_heads, each with a state of ssm_state numbers.
  std::uint32_t ssm_heads = 0;
  std::uint32_t ssm_inner = 0;
  std::uint32_t ssm_state = 0;
  std::uint32_t ssm_groups = 0;

  [[nodiscard]] std::uint32_t queries() const { return heads * head; }
  [[nodiscard]] std::uint32_t delta_values() const { return value_heads * delta_head; }
  // A file that does not say how wide a head is means this.
  [[nodiscard]] bool heads_fill_width() const { return queries() == width; }
};

// Of the tiny model that is `width` wide.
[[nodiscard]] Sizes tiny_sizes(std::uint32_t width);

}  // namespace holdfast::llama::tiny
