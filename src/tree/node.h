// Node: one edge of the tree and the place at its end.
#pragma once

#include <optional>

#include "state/snapshot.h"
#include "state/tokens.h"
#include "tree/block_row.h"
#include "tree/child_list.h"
#include "tree/edge_tokens.h"
#include "tree/ledger.h"
#include "tree/lru_list.h"
#include "tree/types.h"

namespace holdfast::tree {

// A snapshot in its place, with its charge.
struct HeldSnapshot {
  SnapshotPtr snapshot;
  Charge* charge = nullptr;  // set while there is a snapshot
  Tick last_use = 0;         // attached or restored

  explicit operator bool() const { return snapshot != nullptr; }
};

// What a node holds of a state. A companion's part of it lies inside the blocks and
// the snapshot, so that it is split, joined, pinned and charged with them.
struct PartState {
  BlockRow row;           // rows of the edge's tokens
  HeldSnapshot snapshot;  // at the node's end
  EvictionNote row_note;  // the latest eviction of rows, while rows are missing
  EvictionNote snapshot_note;

  [[nodiscard]] bool empty() const { return row.empty() && !snapshot; }
};

struct alignas(64) Node {
  // What a match reads comes first, then what a sweep over candidates reads, so
  // that each finds it in few cache lines.
  EdgeTokens tokens;  // empty for a root
  ChildList children;

  TokenPos end = 0;         // tokens from the root
  TokenPos covered_to = 0;  // first token of the edge without a row; `end` if none
  bool has_snapshot = false;
  bool reachable = true;  // no token on the way from the root lacks its row
  // What this node itself has added to the sums below.
  bool counted_holder = false;
  bool counted_snapshot = false;
  Hints marks;  // set by the owner; kDerivedHints are never among them
  NodeId id;
  Node* parent = nullptr;  // null: a root

  std::uint32_t pins = 0;  // Pins at or below this node
  std::uint32_t hits = 0;  // restores at this node
  Tick last_use = 0;       // of the path through here
  // Sums over the subtree, this node included.
  std::uint32_t holders = 0;    // nodes that hold bytes
  std::uint32_t snapshots = 0;  // snapshots

  LruHook<Node> in_blocks;     // while it has rows
  LruHook<Node> in_snapshots;  // while it has a snapshot

  PartState state;
  SpaceKey space;
  // What this node has added to the ghost's size, and its key in the ghost's index.
  TokenPos counted_ghost = 0;
  std::optional<Tick> ghost_leaf_key;

  [[nodiscard]] bool is_root() const { return parent == nullptr; }
  [[nodiscard]] TokenPos length() const { return length_of(tokens); }
  [[nodiscard]] TokenPos begin() const { return end - length(); }
  [[nodiscard]] TokenRange range() const { return {begin(), end}; }
  [[nodiscard]] bool covered() const { return covered_to == end; }
  [[nodiscard]] Hold hold() const { return pins > 0 ? Hold::kPinned : Hold::kEvictable; }
  // Tokens only: neither bytes nor pins at or below.
  [[nodiscard]] bool is_ghost() const { return !is_root() && holders == 0 && pins == 0; }
  // Something is remembered of this very place.
  [[nodiscard]] bool is_place() const {
    return state.snapshot || state.snapshot_note || !marks.none();
  }
};

using BlockLru = LruList<Node, &Node::in_blocks>;
using SnapshotLru = LruList<Node, &Node::in_snapshots>;

}  // namespace holdfast::tree
