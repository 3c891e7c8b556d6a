// Conversations: what a tree holds, told by the paths that end in it.
//
//   root --[ system ]-- A *--[ document ]-- B *--[ question 1 ]-- C *      a tip
//                                            \--[ question 2 ]-- D *      another
//
//   C  own: the rows of its question, its snapshot; shared: all up to B, two snapshots
//   D  the same
//
// A tip is a place that holds bytes and below which nothing does; what leads to it is one
// conversation, or one branch of it. Bytes belong to one tip alone, or are shared by several.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "state/tokens.h"
#include "tree/types.h"

namespace holdfast::tree {

struct HeldBytes {
  ByteCount rows = 0;
  ByteCount snapshots = 0;
  std::uint32_t snapshot_count = 0;

  [[nodiscard]] ByteCount sum() const { return rows + snapshots; }
  bool operator==(const HeldBytes&) const = default;
};

struct HeldConversation {
  NodeId tip;
  SpaceKey space;
  TokenPos tokens = 0;  // up to the last that bytes are held of
  Tick last_use = 0;
  HeldBytes own;                       // goes with this conversation
  HeldBytes shared;                    // is needed by others too
  std::vector<TokenPos> snapshots_at;  // of both, ascending
  std::vector<NodeId> own_nodes;       // that only it goes through, the tip first
};

struct HeldConversations {
  std::size_t count = 0;                 // of all
  HeldBytes own;                         // of all
  HeldBytes shared;                      // by several of them, each counted once
  std::vector<HeldConversation> latest;  // used last first; at most as many as were asked for
};

}  // namespace holdfast::tree
