// TreeNodes: the nodes of a tree and the tokens on their edges. What nodes hold is not known here.
//
// An edge is changed in four ways, and each keeps every other node's id:
//
//   grow    parent            ->  parent --[x y]-- new leaf
//   split   --[a b c d]-- N   ->  --[a b]-- new --[c d]-- N
//   join    --[a b]-- U --[c d]-- N   ->  --[a b c d]-- N, and U is on no path any more
//   unlink  parent --[x y]-- leaf     ->  parent, and the leaf is on no path any more
//
// What is on no path any more is still a node until it is destroyed, so that sums can be settled.
//
// Keeps TREE-1 and TREE-2 (token_tree.h), verified by TokenTree::check().
#pragma once

#include <map>
#include <vector>

#include "tree/node.h"
#include "tree/node_pool.h"

namespace holdfast::tree {

class TreeNodes {
 public:
  TreeNodes() = default;
  TreeNodes(const TreeNodes&) = delete;
  TreeNodes& operator=(const TreeNodes&) = delete;

  // Null when the node is gone.
  [[nodiscard]] Node* find(NodeId id) const { return pool_.find(id); }
  // REQUIRES: the node is there.
  [[nodiscard]] Node& at(NodeId id) const;
  [[nodiscard]] Node* find_root(SpaceKey space) const;
  [[nodiscard]] Node& make_root(SpaceKey space);
  [[nodiscard]] std::vector<const Node*> roots() const;

  // A new leaf below `parent`. REQUIRES: no sibling begins with the same token.
  Node& grow(Node& parent, TokenSpan edge);
  // Splits the edge of `node` at `position` and returns the new node there.
  Node& split(Node& node, TokenPos position);
  // Takes `upper` out of the path to its only child.
  void join(Node& upper, Node& child);
  // Takes a leaf away from its parent.
  void unlink(Node& leaf);
  // REQUIRES: it is on no path any more, or a root without children.
  void destroy(Node& node);

  [[nodiscard]] std::size_t count() const { return pool_.size(); }
  [[nodiscard]] std::uint64_t token_count() const { return token_count_; }

 private:
  friend class TreeChecker;
  friend struct TreeBreaker;  // tests that break an invariant on purpose

  StretchPool stretches_;  // before the nodes that use it
  NodePool pool_;
  std::map<SpaceKey, Node*> roots_;
  std::uint64_t token_count_ = 0;
};

}  // namespace holdfast::tree
