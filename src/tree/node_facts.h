// NodeFacts: all that placement, eviction and receipts ask about one node.
#pragma once

#include "state/extent_block.h"
#include "tree/types.h"

namespace holdfast::tree {

struct NodeFacts {
  NodeId node;
  NodeId parent;  // none below a root
  SpaceKey space;
  TokenRange range;  // the tokens of its edge; it stands at range.end
  std::size_t children = 0;
  Hints hints;

  bool pinned = false;
  bool ghost = false;       // tokens only, at and below this node
  bool restorable = false;  // a state can be restored at range.end now
  Tick last_use = 0;        // a request's path came through here
  std::uint32_t hits = 0;   // states restored at this node

  bool has_snapshot = false;
  Tick snapshot_last_use = 0;         // attached or restored; passing by does not count
  ByteCount snapshot_bytes = 0;       // freed if the snapshot went
  std::uint32_t snapshots_below = 0;  // without its own
  // A prompt's end: below it lies one snapshot at most, and that is no prompt's end.
  bool latest_prompt = false;
  // An answer's end, off the grid: the prompt above it has gone on without it.
  bool left_behind = false;

  TokenPos row_tokens = 0;    // tokens of the edge that have their rows
  ByteCount block_bytes = 0;  // freed if the edge's rows went

  // Tokens from the nearest restorable place above to range.end: what must be
  // computed to come back here once this node's snapshot or rows are gone.
  TokenPos recompute = 0;
  // Its part of their rows: those of an edge belong in equal parts to the snapshots at and below
  // it. In tokens, and in bytes if each weighs as much as those of the edge's last block.
  TokenPos shared = 0;
  ByteCount shared_bytes = 0;

  EvictionNote snapshot_note;  // a snapshot was here
  EvictionNote row_note;       // rows of this edge were here

  // A hybrid's rows beyond its deepest snapshot cannot be restored to.
  [[nodiscard]] bool dead_weight(const StateNeeds& needs) const {
    return needs.snapshot && row_tokens > 0 && !has_snapshot && snapshots_below == 0;
  }
};

}  // namespace holdfast::tree
