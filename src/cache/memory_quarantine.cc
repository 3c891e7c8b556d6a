#include "cache/memory_quarantine.h"

#include <algorithm>

#include "base/hash.h"

namespace holdfast::cache {

bool MemoryQuarantine::intact(std::span<const std::byte> bytes, std::uint64_t checksum) const {
  return journal_ != nullptr ? journal_->intact(bytes, checksum) : hash_bytes(bytes) == checksum;
}

void MemoryQuarantine::remove(SpaceKey space, TokenSpan tokens, tree::Tick now) {
  ++count_;
  const tree::EvictionNote note{tree::EvictReason::kCorrupt, now};
  bool found = false;
  if (const tree::Match match = tree_.match(space, tokens); match.node) {
    found = evict_damaged_rows(match.node, note);
  }
  const tree::Match match = tree_.match(space, tokens);
  const bool stands_at_end = !match.stops.empty() && match.stops.back().position == match.length;
  const SnapshotPtr snapshot = stands_at_end ? tree_.snapshot(match.stops.back().node) : nullptr;
  if (snapshot != nullptr && (!found || !intact(snapshot->bytes(), snapshot->checksum()))) {
    evict_snapshot(match.stops.back().node, note);
  } else if (snapshot == nullptr && !found && match.node) {
    evict_rows(match.node, 0, match.matched, note);
  }
  room_.forget_beyond_limits();
}

// On the way to the node, from there upwards. Returns whether there were any.
bool MemoryQuarantine::evict_damaged_rows(tree::NodeId node, tree::EvictionNote note) {
  bool found = false;
  for (tree::NodeId at = node; at && tree_.alive(at);) {
    const tree::NodeFacts facts = tree_.facts(at);
    if (const TokenPos damaged = first_damaged(facts); damaged >= 0) {
      found = true;
      evict_rows(at, damaged, damaged, note);
    }
    at = facts.parent;
  }
  return found;
}

TokenPos MemoryQuarantine::first_damaged(const tree::NodeFacts& facts) const {
  for (const BlockUse& use : tree_.path(facts.node).rows(facts.range.end)) {
    const bool on_edge = !intersection(use.range, facts.range).empty();
    if (on_edge && !intact(use.block->bytes(), use.block->checksum()))
      return std::max(use.range.begin, facts.range.begin);
  }
  return -1;
}

void MemoryQuarantine::evict_snapshot(tree::NodeId node, tree::EvictionNote note) {
  const tree::NodeFacts facts = tree_.facts(node);
  if (const auto freed = tree_.evict_snapshot(node, note)) {
    room_.count({tree::Held::kSnapshot, node, facts.space, facts.range.end, *freed, note.reason});
  }
}

void MemoryQuarantine::evict_rows(tree::NodeId node, TokenPos from, TokenPos position,
                                  tree::EvictionNote note) {
  const SpaceKey space = tree_.facts(node).space;
  if (const auto freed = tree_.evict_rows(node, from, note)) {
    room_.count({tree::Held::kBlocks, node, space, position, *freed, note.reason});
  }
}

}  // namespace holdfast::cache
