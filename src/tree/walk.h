// The walk down the tree along a sequence of tokens, at memcmp speed.
#pragma once

#include "tree/node.h"

namespace holdfast::tree {

// Where a walk ended: inside the edge of `node`, or at its end.
template <typename NodeType>
struct WalkEnd {
  NodeType* node = nullptr;
  TokenPos position = 0;

  [[nodiscard]] bool at_end() const { return position == node->end; }
};

// Follows `tokens` from `root` as far as they agree. Calls `visit` for each node
// whose whole edge was followed.
template <typename NodeType, typename Visit>
[[nodiscard]] WalkEnd<NodeType> walk(NodeType* root, TokenSpan tokens, Visit&& visit) {
  WalkEnd<NodeType> at{root, 0};
  while (at.position < length_of(tokens)) {
    NodeType* child = at.node->children.find(tokens[at.position]);
    if (!child) break;
    // While the edge is compared, the node after it comes near.
    if (const Node* next = child->children.only()) {
      __builtin_prefetch(next);
      __builtin_prefetch(&next->end);
    }
    at.position += common_prefix(child->tokens, tokens.subspan(at.position));
    at.node = child;
    if (!at.at_end()) break;
    visit(*child);
  }
  return at;
}

}  // namespace holdfast::tree
