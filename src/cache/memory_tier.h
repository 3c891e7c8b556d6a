// MemoryTier: states in RAM, found by their tokens, under one byte budget.
//
//   engine slot --store--> rows split into blocks, snapshot --> TokenTree
//   engine slot <-restore- verified, gathered ---------------'
//
// Room is made before a byte is copied. What cannot have room is declined: that costs time later,
// never correctness.
//
// With a budget of 0 nothing is held; tokens are still remembered, so that
// receipts can tell what a budget would have saved.
//
// Its parts are open to its users, because each keeps invariants of its own:
//
//   copier      slots and bytes: how large states are, how they leave a slot and come back
//   budget      how much may be held, and how much is free
//   room        who makes way, what is forgotten
//   held        looking states up, without using them
//   quarantine  what failed its verification
//
// Invariants, verified by check():
//   MEM-1  those of the tree, of the budget and of what makes room hold
//   MEM-2  nothing is pinned between calls
//
// One owning thread, that of the engine.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cache/cache_journal.h"
#include "cache/cache_status.h"
#include "cache/held_states.h"
#include "cache/memory_budget.h"
#include "cache/memory_quarantine.h"
#include "cache/room_maker.h"
#include "cache/slot_copier.h"
#include "engine/companion.h"
#include "engine/engine.h"
#include "tree/token_tree.h"

namespace holdfast::cache {

// One state to keep: that of a slot after exactly `tokens`.
struct StoreRequest {
  SlotId slot;
  SpaceKey space;
  TokenSpan tokens;
  Hints marks;
  plan::ReuseOdds odds;   // how likely it will be wanted
  TokenPos saves = 0;     // tokens that would be read again without it
  bool essential = true;  // false: takes the room only of what is worth less
  bool newcomer = false;  // most of its conversation was not here
  // The slot goes on holding its rows. A snapshot alone then has a use where the budget is
  // too small for the whole state: it joins those rows when the conversation goes on.
  bool rows_stay = false;
  // The rows alone, ahead of a state further on that they belong to. No place is made of them.
  bool rows_only = false;
  SnapshotPtr snapshot;  // of this place, if it was taken before; the slot may be beyond it then
  tree::Tick now = 0;

  // Nothing that somebody may want makes way for it, and it makes way for everything. Where others
  // may begin it is as any other place, once it is there.
  void keep_as_one_off(const plan::EvictionPolicy& policy) {
    const bool shared = marks.has(Hint::kJunction) || marks.has(Hint::kSystemEnd);
    if (!shared) marks = marks | Hint::kOneOff;
    odds = policy.one_off;
    essential = false;
  }
};

struct StoreOutcome {
  bool stored = false;   // all of it is in memory now, newly or before; false for a snapshot alone
  ByteCount bytes = 0;   // copied
  tree::Filed filed;     // where its tokens are, if stored
  SnapshotPtr snapshot;  // the one that is here now, alone or with its rows; null: none
};

// A part of a state that was elsewhere and comes into memory.
struct AdmitRequest {
  SpaceKey space;
  TokenSpan tokens;
  std::span<const BlockUse> rows;
  SnapshotPtr snapshot;  // after all of the tokens; null: none
  Hints marks;           // of the place after all of the tokens
  tree::Tick now = 0;
};

class MemoryTier {
 private:
  tree::TokenTree tree_;  // before the parts that use it

 public:
  SlotCopier copier;
  MemoryBudget budget;
  RoomMaker room;
  HeldStates held;
  MemoryQuarantine quarantine;

  MemoryTier(engine::Engine& engine, const MemoryOptions& options,
             engine::Companion* companion = nullptr, CacheJournal* journal = nullptr);

  // May be asked by any thread.
  [[nodiscard]] bool enabled() const { return budget.enabled(); }
  [[nodiscard]] const tree::TokenTree& tree() const { return tree_; }
  // Whether the state of this many tokens could be held at all.
  [[nodiscard]] bool could_hold(TokenPos tokens) const {
    return copier.state_bytes(tokens) <= budget.total();
  }

  // Copies what of the state is not here yet. Nothing is copied unless there is
  // room, or can be made by dropping what is worth less.
  // REQUIRES: the slot holds at least `tokens`; where a snapshot is needed and none is given,
  // exactly them.
  StoreOutcome store(const StoreRequest& request);
  // Takes over what was elsewhere. False: there is no room.
  bool admit(const AdmitRequest& request);
  // The answer to the latest prompt on this path called a tool: its client is soon back.
  void note_tool_call(SpaceKey space, TokenSpan tokens);
  // The tokens alone, for junctions and receipts.
  tree::Filed remember(SpaceKey space, TokenSpan tokens, tree::Tick now);

  // Brings `slot` to `tokens`, all of them below `node`. Returns the bytes moved.
  // On an Error the slot is empty; what could not be brought back is for the quarantine.
  [[nodiscard]] Result<ByteCount> restore(SlotId slot, tree::NodeId node, TokenSpan tokens,
                                          tree::Tick now);
  // Brings the slot's parts that cannot be truncated to the node's snapshot; its rows stay.
  [[nodiscard]] Result<ByteCount> load_snapshot(SlotId slot, tree::NodeId node, tree::Tick now);

  // Fills in the parts of the status that this tier knows.
  void report(CacheStatus& status) const;
  [[nodiscard]] std::vector<std::string> check() const;

 private:
  StoreOutcome decline();

  std::uint64_t declined_ = 0;
  ByteCount stored_bytes_ = 0;
};

}  // namespace holdfast::cache
