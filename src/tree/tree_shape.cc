// Splitting, joining and pruning: the operations of TreeCore that change edges.
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
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "tree/tree_core.h"

namespace holdfast::tree {

namespace {

EvictionNote later_of(const EvictionNote& a, const EvictionNote& b) {
  if (!a || !b) return a ? a : b;
  return a.when > b.when ? a : b;
}

}  // namespace

Node& TreeCore::grow(Node& parent, TokenSpan edge) {
  CHECK(!edge.empty());
  Node& leaf = pool_.make();
  leaf.space = parent.space;
  leaf.parent = &parent;
  leaf.tokens = EdgeTokens::below(parent.tokens, edge, stretches_);
  leaf.end = parent.end + length_of(edge);
  leaf.last_use = parent.last_use;
  token_count_ += edge.size();
  parent.children.add(edge.front(), &leaf);
  refresh_ghost(parent);
  settle(leaf);
  return leaf;
}

Node& TreeCore::split(Node& node, TokenPos position) {
  CHECK(node.begin() < position && position < node.end);
  Node& upper = pool_.make();
  upper.tokens = node.tokens.take_head(static_cast<std::size_t>(position - node.begin()));
  upper.end = position;
  upper.space = node.space;
  upper.parent = std::exchange(node.parent, &upper);
  upper.parent->children.replace(upper.tokens.front(), &upper);
  upper.children.add(node.tokens.front(), &node);

  upper.state.row = node.state.row.take_head(position, ledger_, node.hold());
  upper.state.row_note = node.state.row_note;
  upper.pins = node.pins;
  upper.last_use = node.last_use;
  upper.holders = node.holders;
  upper.snapshots = node.snapshots;
  if (!upper.state.row.empty()) with_rows_.insert_after(upper, node);
  settle(upper);
  settle(node);
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
  take_place_of(node, *child);
  BlockRow row = std::move(node.state.row);
  row.append(std::move(child->state.row), ledger_, Hold::kEvictable);
  child->state.row = std::move(row);
  child->state.row_note = later_of(node.state.row_note, child->state.row_note);
  child->hits += node.hits;

  node.tokens.append(std::move(child->tokens));
  child->tokens = std::move(node.tokens);
  child->parent = node.parent;
  child->parent->children.replace(child->tokens.front(), child);
  uncount(node);
  pool_.destroy(node);
  settle(*child);
  return *child;
}

// The joined node was last used when the upper one was, and stands where that
// stood in the list of rows: behind everything below it, before what is above.
void TreeCore::take_place_of(Node& parent, Node& child) {
  child.last_use = parent.last_use;
  Node* older = &parent;
  if (!BlockLru::holds(parent)) {
    if (!BlockLru::holds(child)) return;
    older = &child;
    for (Node* next = BlockLru::newer(child); next && next->last_use < child.last_use;) {
      older = next;
      next = BlockLru::newer(*next);
    }
  }
  if (older == &child) return;
  if (BlockLru::holds(child)) with_rows_.remove(child);
  with_rows_.insert_after(child, *older);
}

void TreeCore::uncount(Node& node) {
  add_to_sums(node, -node.counted_holder, -node.counted_snapshot);
  if (BlockLru::holds(node)) with_rows_.remove(node);
  if (SnapshotLru::holds(node)) with_snapshot_.remove(node);
  ghost_tokens_ -= static_cast<std::uint64_t>(node.counted_ghost);
  node.counted_ghost = 0;
  if (node.ghost_leaf_key) ghost_leaves_.erase({*node.ghost_leaf_key, node.id});
}

void TreeCore::remove_leaf(Node& leaf) {
  CHECK(!leaf.is_root() && leaf.children.empty() && leaf.state.empty() && leaf.pins == 0);
  Node& parent = *leaf.parent;
  parent.children.remove(leaf.tokens.front());
  token_count_ -= leaf.tokens.size();
  uncount(leaf);
  pool_.destroy(leaf);
  if (parent.is_root() && parent.children.empty()) {
    roots_.erase(parent.space);
    pool_.destroy(parent);
    return;
  }
  refresh_ghost(parent);
  tidy(parent);
}

}  // namespace holdfast::tree
