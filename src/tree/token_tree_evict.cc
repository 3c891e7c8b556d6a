// Pins, and how bytes and tokens leave the tree.
#include "base/check.h"
#include "tree/token_tree.h"
#include "tree/tree_core.h"
#include "tree/walk.h"

namespace holdfast::tree {

namespace {

Node* next_newer(Held held, const Node& node) {
  return held == Held::kSnapshot ? SnapshotLru::newer(node) : BlockLru::newer(node);
}

NodeId first_unpinned(Held held, Node* node) {
  while (node && node->pins > 0) node = next_newer(held, *node);
  return node ? node->id : NodeId{};
}

// The rows of a leaf end with it, so that no ghost is parted from it below.
void forget_leaf(TreeCore& core, Node& leaf) {
  if (leaf.state.snapshot) core.states().detach(leaf);
  if (!leaf.state.row.empty()) core.states().drop_rows(leaf, 0);
  core.remove_leaf(leaf);
}

// A leaf that belongs to this end of a path and to no other path; null: none.
Node* leaf_of(Node& root, const PathEnd& end) {
  Node* last = &root;   // whose edge was followed whole
  Node* own = nullptr;  // the first one that reaches the conversation's own part
  const auto known = walk(&root, end.keys, [&](Node& node) {
    last = &node;
    if (own == nullptr && node.end >= end.own) own = &node;
  });
  if (own == nullptr && !known.at_end() && known.position >= end.own) own = known.node;
  Node* at = own != nullptr ? own : last;
  const bool all = end.whole_space();
  const bool alone = own != nullptr || (at->children.empty() && known.at_end() && !at->is_root());
  if (!(all || alone) || at->pins > 0 || at->begin() < end.keep) return nullptr;
  while (!at->children.empty()) at = at->children.all().begin()->node;
  return at;
}

}  // namespace

void Pin::release() noexcept {
  if (tree_) std::exchange(tree_, nullptr)->unpin(std::exchange(node_, {}));
}

Pin TokenTree::pin(NodeId node) {
  if (!node) return {};
  core_->states().pin_path(core_->nodes().at(node));
  return {this, node};
}

void TokenTree::unpin(NodeId id) {
  Node& node = core_->nodes().at(id);
  core_->states().unpin_path(node);
  core_->tidy(node);
}

NodeId TokenTree::oldest(Held held) const {
  const UseOrder& uses = core_->states().uses();
  Node* node = held == Held::kSnapshot ? uses.snapshots().oldest() : uses.rows().oldest();
  return first_unpinned(held, node);
}

NodeId TokenTree::newer(Held held, NodeId than) const {
  return first_unpinned(held, next_newer(held, core_->nodes().at(than)));
}

std::optional<ByteCount> TokenTree::evict_snapshot(NodeId id, EvictionNote note) {
  Node* node = core_->nodes().find(id);
  if (!node || node->pins > 0 || !node->state.snapshot) return std::nullopt;
  const ByteCount before = bytes().resident;
  core_->states().detach(*node);
  if (note) node->state.snapshot_note = note;
  core_->tidy(*node);
  return before - bytes().resident;
}

std::optional<ByteCount> TokenTree::evict_rows(NodeId id, TokenPos from, EvictionNote note) {
  Node* node = core_->nodes().find(id);
  if (!node || node->pins > 0 || node->state.row.empty()) return std::nullopt;
  if (node->state.row.uses().back().range.end <= from) return std::nullopt;
  const ByteCount before = bytes().resident;
  core_->states().drop_rows(*node, from);
  if (note) node->state.row_note = note;
  core_->tidy(*node);
  return before - bytes().resident;
}

std::uint64_t TokenTree::trim_ghost(std::uint64_t tokens_max) {
  const GhostIndex& ghost = core_->states().ghost();
  const std::uint64_t before = core_->nodes().token_count();
  while (ghost.tokens() > tokens_max) {
    core_->remove_leaf(core_->nodes().at(ghost.oldest_leaf()));  // its deepest node is a leaf
  }
  return before - core_->nodes().token_count();
}

// What is left is joined as leaves go, so each is looked for from the root.
TokenPos TokenTree::forget_end(const PathEnd& end) {
  for (;;) {
    Node* const root = core_->nodes().find_root(end.space);
    Node* const leaf = root != nullptr ? leaf_of(*root, end) : nullptr;
    if (leaf == nullptr) return match(end.space, end.keys).matched;
    forget_leaf(*core_, *leaf);
  }
}

}  // namespace holdfast::tree
