// The walk down the tree along a sequence of tokens, at memcmp speed.
#pragma once

#include <algorithm>
#include <cstring>

#include "tree/node.h"

namespace holdfast::tree {

// Length of the longest common prefix. Compared in strides, because memcmp runs
// several times faster than a loop that stops at the first difference.
[[nodiscard]] inline TokenPos equal_prefix(TokenSpan a, TokenSpan b) {
  const std::size_t n = std::min(a.size(), b.size());
  std::size_t i = 0;
  for (const std::size_t stride : {std::size_t{1024}, std::size_t{32}}) {
    while (i + stride <= n && std::memcmp(&a[i], &b[i], stride * sizeof(Token)) == 0) i += stride;
  }
  while (i < n && a[i] == b[i]) ++i;
  return static_cast<TokenPos>(i);
}

// Where a walk ended: inside the edge of `node`, or at its end.
template <typename NodeType>
struct Place {
  NodeType* node = nullptr;
  TokenPos position = 0;

  [[nodiscard]] bool at_end() const { return position == node->end; }
};

// Follows `tokens` from `root` as far as they agree. Calls `visit` for each node
// whose whole edge was followed.
template <typename NodeType, typename Visit>
[[nodiscard]] Place<NodeType> walk(NodeType* root, TokenSpan tokens, Visit&& visit) {
  Place<NodeType> place{root, 0};
  while (place.position < length_of(tokens)) {
    NodeType* child = place.node->children.find(tokens[place.position]);
    if (!child) break;
    // While the edge is compared, the node after it comes near.
    if (const Node* next = child->children.only()) {
      __builtin_prefetch(next);
      __builtin_prefetch(&next->end);
    }
    place.position += equal_prefix(child->tokens, tokens.subspan(place.position));
    place.node = child;
    if (!place.at_end()) break;
    visit(*child);
  }
  return place;
}

}  // namespace holdfast::tree
