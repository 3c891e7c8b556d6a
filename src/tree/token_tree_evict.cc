// Pins, and how bytes and tokens leave the tree.
#include "base/check.h"
#include "tree/token_tree.h"
#include "tree/tree_core.h"

namespace holdfast::tree {

namespace {

Node* next_newer(Held held, const Node& node) {
  return held == Held::kSnapshot ? SnapshotLru::newer(node) : BlockLru::newer(node);
}

NodeId first_unpinned(Held held, Node* node) {
  while (node && node->pins > 0) node = next_newer(held, *node);
  return node ? node->id : NodeId{};
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

ByteCount TokenTree::forget_space(SpaceKey space) {
  const ByteCount before = bytes().resident;
  while (const Node* const root = core_->nodes().find_root(space)) {
    Node* leaf = root->children.all().begin()->node;
    while (!leaf->children.empty()) leaf = leaf->children.all().begin()->node;
    // The rows of a leaf end with it, so that no ghost is parted from it below.
    if (leaf->state.snapshot) core_->states().detach(*leaf);
    if (!leaf->state.row.empty()) core_->states().drop_rows(*leaf, 0);
    core_->remove_leaf(*leaf);
  }
  return before - bytes().resident;
}

}  // namespace holdfast::tree
