// StoredPath: what a tree has on the way from the root to one of its nodes.
//
//   root --[s s s s s s]-- A --[u u u u]-- node --[a a a]-- ...
//          [ rows )    [ rows )            continuation
//                  gap
//
// Valid until the tree changes. It owns nothing.
//
// Promised, and verified by the tree's model test (testing/tree_verify.h):
//   STOREDPATH-1  rows(p) ascend and, with gaps(p), are every token of [0, p) once
#pragma once

#include <vector>

#include "state/extent_block.h"
#include "state/tokens.h"
#include "tree/match.h"
#include "tree/types.h"

namespace holdfast::tree {

struct Node;

class StoredPath {
 public:
  explicit StoredPath(const Node& last) : last_(&last) {}

  // All tokens from the root to the node.
  [[nodiscard]] Tokens tokens() const;
  // The rows present of tokens [0, position), ascending; and the gaps between.
  // REQUIRES: position is not beyond the node.
  [[nodiscard]] std::vector<BlockUse> rows(TokenPos position) const;
  [[nodiscard]] std::vector<TokenRange> gaps(TokenPos position) const;
  // Up to `limit` tokens that the most recently used known path has after
  // `position` of the node's edge: the other side of a difference.
  [[nodiscard]] Tokens continuation(TokenPos position, TokenPos limit) const;

 private:
  const Node* last_;
};

}  // namespace holdfast::tree
