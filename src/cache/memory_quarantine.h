// MemoryQuarantine: what fails its verification leaves memory, with a note that says why, and is
// a miss from then on.
//
// Invariants, verified by the tests that are named:
//   DAMAGE-1  after remove() the plan for these tokens is another one: what of their state is
//             damaged is gone, and if nothing is, its last part (reuse_test.cc,
//             DamagedStatesAreQuarantinedAndReadAgain)
//   DAMAGE-2  each state that failed is counted once (the same test)
//
// One owning thread, that of the engine.
#pragma once

#include <cstdint>
#include <span>

#include "cache/cache_journal.h"
#include "cache/room_maker.h"
#include "tree/token_tree.h"

namespace holdfast::cache {

class MemoryQuarantine {
 public:
  // `journal` may be null. REQUIRES: all of them outlive it.
  MemoryQuarantine(tree::TokenTree& tree, RoomMaker& room, CacheJournal* journal)
      : tree_(tree), room_(room), journal_(journal) {}

  // Whether bytes that were kept in memory are what they were.
  [[nodiscard]] bool intact(std::span<const std::byte> bytes, std::uint64_t checksum) const;
  // The state of these tokens could not be brought back. REQUIRES: nothing on the way is pinned.
  void remove(SpaceKey space, TokenSpan tokens, tree::Tick now);
  // Something that was kept elsewhere failed its verification.
  void count_damaged() { ++count_; }
  [[nodiscard]] std::uint64_t count() const { return count_; }

 private:
  bool evict_damaged_rows(tree::NodeId node, tree::EvictionNote note);
  // Where the damaged rows of its edge begin; -1: there are none.
  [[nodiscard]] TokenPos first_damaged(const tree::NodeFacts& facts) const;
  void evict_snapshot(tree::NodeId node, tree::EvictionNote note);
  void evict_rows(tree::NodeId node, TokenPos from, TokenPos position, tree::EvictionNote note);

  tree::TokenTree& tree_;
  RoomMaker& room_;
  CacheJournal* const journal_;
  std::uint64_t count_ = 0;
};

}  // namespace holdfast::cache
