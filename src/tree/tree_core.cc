// Splitting, joining and pruning.
//
// The cases of a commit, on one worked example. The tree knows "a b c d e f",
// with blocks b0 [0,4) and b1 [4,6) and a snapshot S at its end:
//
//   root --[a b c d e f]-- N(6, S)              uses b0[0,4) b1[4,6)
//
//   1. "a b c d e f g"    N stays: S is remembered there. New leaf below N.
//   2. "a b c x"          split at 3, then a new leaf:
//
//   root --[a b c]-- U(3) --[d e f]-- N(6, S)   U uses b0[0,3)
//                      \--[x]-- L(4)            N uses b0[3,4) b1[4,6)
//
//      N keeps its id, S and its children; b0 has two users and is charged once.
//   3. "a b" with a snapshot at 2     split at 2; the snapshot goes to the new node.
//   4. L is trimmed: U has one child and nothing is remembered of its place, so
//      U is joined to N: the picture above case 1 again, b0 with one user.
//   5. S is evicted with a note: N stays, for the note. The rows of b1 are
//      evicted: the edge is parted where its rows end.
//
//   root --[a b c d]-- U(4) --[e f]-- N(6, note)   N is ghost: 2 tokens
#include "tree/tree_core.h"

#include "base/check.h"

namespace holdfast::tree {

Node& TreeCore::grow(Node& parent, TokenSpan edge) {
  Node& leaf = nodes_.grow(parent, edge);
  leaf.last_use = parent.last_use;
  states_.ghost().refresh(parent);
  states_.settle(leaf);
  return leaf;
}

Node& TreeCore::split(Node& node, TokenPos position) {
  Node& upper = nodes_.split(node, position);
  states_.split(upper, node);
  return upper;
}

Node& TreeCore::tidy(Node& node) {
  part_ghost(node);
  Node* const above = node.parent;
  Node& kept = join(node);
  for (Node* at = above; at;) {
    Node* const next = at->parent;
    join(*at);
    at = next;
  }
  return kept;
}

// Tokens behind the last row that nothing below needs are ghost: they get an
// edge of their own, so that they are counted and can be forgotten.
void TreeCore::part_ghost(Node& node) {
  Node* at = &node;
  while (at->is_ghost()) at = at->parent;
  const bool last_holder = at->holders == 1 && at->counted_holder && at->pins == 0;
  if (!last_holder || at->state.snapshot) return;
  const TokenPos last_row = at->state.row.uses().back().range.end;
  if (last_row < at->end) split(*at, last_row);
}

Node& TreeCore::join(Node& node) {
  Node* child = node.children.only();
  if (node.is_root() || node.pins > 0 || node.is_place() || !child) return node;
  if (child->is_ghost() && !node.is_ghost()) return node;
  states_.join(node, *child);
  nodes_.join(node, *child);
  states_.forget(node);
  nodes_.destroy(node);
  states_.settle(*child);
  return *child;
}

void TreeCore::remove_leaf(Node& leaf) {
  CHECK(!leaf.is_root() && leaf.children.empty() && leaf.state.empty() && leaf.pins == 0);
  Node& parent = *leaf.parent;
  nodes_.unlink(leaf);
  states_.forget(leaf);
  nodes_.destroy(leaf);
  if (parent.is_root() && parent.children.empty()) return nodes_.destroy(parent);
  states_.ghost().refresh(parent);
  tidy(parent);
}

}  // namespace holdfast::tree
