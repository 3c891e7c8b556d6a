// Words of the tree that its users share.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

#include "state/hints.h"
#include "state/parts.h"
#include "state/space.h"

namespace holdfast::tree {

// A node of one TokenTree. Ids are never used twice: an id whose node has been
// pruned or merged is known to be gone. The default id names no node.
struct NodeId {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;  // 0: no node

  explicit operator bool() const { return generation != 0; }
  auto operator<=>(const NodeId&) const = default;
};

// Time as the owner counts it: milliseconds, or requests. Only order matters;
// a tick earlier than the latest one seen counts as the latest.
using Tick = std::uint64_t;

// What must be there before a state can be restored at a position.
struct StateNeeds {
  bool blocks = true;     // extents of all tokens below
  bool snapshot = false;  // a snapshot at the very position

  [[nodiscard]] static StateNeeds of(const StateShape& shape) {
    const Part* extent = shape.find(PartKind::kExtent);
    return {.blocks = extent != nullptr && extent->bytes_per_token > 0,
            .snapshot = shape.find(PartKind::kSnapshot) != nullptr ||
                        shape.find(PartKind::kWindow) != nullptr};
  }
};

// Why bytes left the tree; a receipt quotes it.
enum class EvictReason : std::uint8_t {
  kNone,        // not evicted: never there, or taken away by its owner without a note
  kBudget,      // worth less per byte than what needed the room
  kThinned,     // a neighbour nearby serves almost as well
  kDeadWeight,  // blocks beyond the deepest snapshot
  kCorrupt,     // failed its verification
  kCleared,     // someone asked for it
  kDisproved,   // it, or another, came out otherwise when it was computed again
};
[[nodiscard]] const char* evict_reason_name(EvictReason reason);

struct EvictionNote {
  EvictReason reason = EvictReason::kNone;
  Tick when = 0;

  explicit operator bool() const { return reason != EvictReason::kNone; }
  bool operator==(const EvictionNote&) const = default;
};

// Kinds of bytes, accounted apart.
enum class ByteKind : std::uint8_t { kBlocks, kSnapshots };
inline constexpr std::size_t kByteKinds = 2;

struct ByteTotals {
  ByteCount resident = 0;
  ByteCount pinned = 0;

  [[nodiscard]] ByteCount evictable() const { return resident - pinned; }
  bool operator==(const ByteTotals&) const = default;
};

// Which bytes of a node are meant.
enum class Held : std::uint8_t { kSnapshot, kBlocks };

}  // namespace holdfast::tree
