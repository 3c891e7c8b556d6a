// Words of the tree that its users share.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

#include "state/parts.h"

namespace holdfast {

// A node of one TokenTree. Ids are never used twice: an id whose node has been
// pruned or merged is known to be gone. The default id names no node.
struct NodeId {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;  // 0: no node

  explicit operator bool() const { return generation != 0; }
  auto operator<=>(const NodeId&) const = default;  // NOLINT(modernize-use-nullptr): its error
};

// Time as the owner counts it: milliseconds, or requests. Only order matters;
// a tick earlier than the latest one seen counts as the latest.
using Tick = std::uint64_t;

// Everything but the tokens that shapes a state: model file, quantisation,
// adapters, context settings, backend, tenant salt. Spaces share nothing.
struct SpaceKey {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  auto operator<=>(const SpaceKey&) const = default;  // NOLINT(modernize-use-nullptr): same
};

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

// What kind of place a node is. The first two follow from the tree; a junction
// is either seen (two children) or marked; the rest are marked by the owner.
enum class Hint : std::uint16_t {
  kTip = 1 << 0,       // nothing restorable lies deeper
  kInterior = 1 << 1,  // superseded: something deeper is restorable, no fork here
  kJunction = 1 << 2,  // known paths part here, or the owner says so
  kSystemEnd = 1 << 3,
  kPromptEnd = 1 << 4,  // before the generation header
  kMessageEnd = 1 << 5,
  kStep = 1 << 6,         // inside a long stretch
  kOffGrid = 1 << 7,      // a state ends here that no cold run would have, such as a decoded one
  kToolCall = 1 << 8,     // the answer that ended here called a tool: its client is soon back
  kAnswerStart = 1 << 9,  // a whole prompt ended here; its logits may be kept
};

class Hints {
 public:
  constexpr Hints() = default;
  constexpr Hints(Hint hint)
      : bits_(static_cast<std::uint16_t>(hint)) {}  // NOLINT: a hint is a set

  [[nodiscard]] constexpr bool has(Hint hint) const { return (*this & hint) == Hints(hint); }
  [[nodiscard]] constexpr bool none() const { return bits_ == 0; }
  friend constexpr Hints operator|(Hints a, Hints b) { return Hints(a.bits_ | b.bits_); }
  friend constexpr Hints operator&(Hints a, Hints b) { return Hints(a.bits_ & b.bits_); }
  [[nodiscard]] constexpr Hints without(Hints other) const { return Hints(bits_ & ~other.bits_); }
  constexpr bool operator==(const Hints&) const = default;

 private:
  constexpr explicit Hints(int bits) : bits_(static_cast<std::uint16_t>(bits)) {}
  std::uint16_t bits_ = 0;
};

// Hints that follow from the tree and cannot be marked.
inline constexpr Hints kDerivedHints = Hints(Hint::kTip) | Hint::kInterior;

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
enum class ByteKind : std::uint8_t { kBlocks, kWindows, kSnapshots };
inline constexpr std::size_t kByteKinds = 3;

struct ByteTotals {
  ByteCount resident = 0;
  ByteCount pinned = 0;

  [[nodiscard]] ByteCount evictable() const { return resident - pinned; }
  bool operator==(const ByteTotals&) const = default;
};

// Which bytes of a node are meant.
enum class Held : std::uint8_t { kSnapshot, kBlocks };

}  // namespace holdfast
