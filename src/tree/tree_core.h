// TreeCore: a tree whose nodes, and what they hold, change together.
//
// TokenTree's operations are made of the few here and of TreeStates'. Each leaves the nodes it
// touched settled. An operation of TokenTree ends with tidy(), which gives the edges their normal
// form, and may be called at any time, and twice.
//
// Keeps TREE-9 and TREE-12 (token_tree.h), verified by TokenTree::check().
#pragma once

#include "tree/tree_nodes.h"
#include "tree/tree_states.h"

namespace holdfast::tree {

class TreeCore {
 public:
  explicit TreeCore(StateNeeds needs) : states_(needs) {}

  [[nodiscard]] TreeNodes& nodes() { return nodes_; }
  [[nodiscard]] const TreeNodes& nodes() const { return nodes_; }
  [[nodiscard]] TreeStates& states() { return states_; }
  [[nodiscard]] const TreeStates& states() const { return states_; }

  // A new leaf below `parent`. REQUIRES: no sibling begins with the same token.
  Node& grow(Node& parent, TokenSpan edge);
  // Splits the edge of `node` at `position` and returns the new node there.
  // `node` keeps its id, its snapshot and its children.
  Node& split(Node& node, TokenPos position);
  // Makes TREE-9 and TREE-12 true again around a node whose bytes, pins, marks or children
  // have changed: parts the ghost from edges that still hold rows, and joins the
  // nodes of the path that are no places any more. Returns what `node` became.
  Node& tidy(Node& node);
  // REQUIRES: no children, no bytes, no pins. Tidies.
  void remove_leaf(Node& leaf);

 private:
  void part_ghost(Node& node);
  // Joins `node` to its only child if nothing keeps them apart. Returns the child
  // then, and `node` otherwise.
  Node& join(Node& node);

  TreeNodes nodes_;
  TreeStates states_;
};

}  // namespace holdfast::tree
