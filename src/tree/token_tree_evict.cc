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
  core_->pin_path(core_->at(node));
  return {this, node};
}

void TokenTree::unpin(NodeId node) { core_->unpin_path(core_->at(node)); }

NodeId TokenTree::oldest(Held held) const {
  Node* node =
      held == Held::kSnapshot ? core_->with_snapshot().oldest() : core_->with_rows().oldest();
  return first_unpinned(held, node);
}

NodeId TokenTree::newer(Held held, NodeId than) const {
  return first_unpinned(held, next_newer(held, core_->at(than)));
}

std::optional<ByteCount> TokenTree::evict_snapshot(NodeId id, EvictionNote note) {
  Node* node = core_->find(id);
  if (!node || node->pins > 0 || !node->state.snapshot) return std::nullopt;
  const ByteCount before = bytes().resident;
  core_->detach(*node);
  if (note) node->state.snapshot_note = note;
  core_->tidy(*node);
  return before - bytes().resident;
}

std::optional<ByteCount> TokenTree::evict_rows(NodeId id, TokenPos from, EvictionNote note) {
  Node* node = core_->find(id);
  if (!node || node->pins > 0 || node->state.row.empty()) return std::nullopt;
  if (node->state.row.uses().back().range.end <= from) return std::nullopt;
  const ByteCount before = bytes().resident;
  core_->drop_rows(*node, from);
  if (note) node->state.row_note = note;
  core_->tidy(*node);
  return before - bytes().resident;
}

std::uint64_t TokenTree::trim_ghost(std::uint64_t tokens_max) {
  const std::uint64_t before = token_count();
  while (ghost_tokens() > tokens_max) {
    Node* leaf = core_->oldest_ghost_leaf();
    CHECK(leaf != nullptr);  // the deepest node of a ghost is a leaf of it
    core_->remove_leaf(*leaf);
  }
  return before - token_count();
}

}  // namespace holdfast::tree
