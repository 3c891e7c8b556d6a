// GhostIndex: how large the ghost is, and which of its leaves was used longest ago.
//
// An ordered set, because a node joins when its bytes go, with a stamp that is already old: only a
// search finds where it belongs.
//
// Keeps TREE-9 (token_tree.h), verified by TokenTree::check().
#pragma once

#include <optional>
#include <set>
#include <utility>

#include "tree/node.h"

namespace holdfast::tree {

class GhostIndex {
 public:
  // To be called whenever a node's sums, pins, tokens, children or stamp have changed.
  void refresh(Node& node) {
    const bool ghost = node.is_ghost();
    const TokenPos tokens = ghost ? node.length() : 0;
    tokens_ += static_cast<std::uint64_t>(tokens - node.counted_ghost);
    node.counted_ghost = tokens;

    const std::optional<Tick> key =
        ghost && node.children.empty() ? std::optional(node.last_use) : std::nullopt;
    if (key == node.ghost_leaf_key) return;
    if (node.ghost_leaf_key) leaves_.erase({*node.ghost_leaf_key, node.id});
    if (key) leaves_.insert({*key, node.id});
    node.ghost_leaf_key = key;
  }
  // The node will be destroyed.
  void forget(Node& node) {
    tokens_ -= static_cast<std::uint64_t>(node.counted_ghost);
    node.counted_ghost = 0;
    if (node.ghost_leaf_key) leaves_.erase({*node.ghost_leaf_key, node.id});
  }

  [[nodiscard]] std::uint64_t tokens() const { return tokens_; }
  // No node: there is no ghost.
  [[nodiscard]] NodeId oldest_leaf() const {
    return leaves_.empty() ? NodeId{} : leaves_.begin()->second;
  }

 private:
  friend class TreeChecker;
  friend struct TreeBreaker;  // tests that break an invariant on purpose

  std::set<std::pair<Tick, NodeId>> leaves_;
  std::uint64_t tokens_ = 0;
};

}  // namespace holdfast::tree
