// MemoryTier: states in RAM, found by their tokens, under one byte budget.
//
//   engine slot --store--> rows cut into blocks, snapshot --> TokenTree
//   engine slot <-restore- verified, gathered ---------------'
//
// Room is made before a byte is copied, by value (plan/eviction.h). What cannot
// have room is declined: that costs time later, never correctness. Where more conversations come by
// turns than there is room for, those stay that are here, and the others are declined: if each
// displaced the next, all would be read again in every turn. What fails its
// verification on the way back is quarantined: it leaves the tree with a note, is
// counted, and is a miss.
//
// A companion's rows and what it has at one place go with the primary's, as far as it
// has them. They are verified by the companion, which does without what it refuses.
//
// With a budget of 0 nothing is held; tokens are still remembered, so that
// receipts can tell what a budget would have saved.
//
// Invariants, verified by check():
//   M1  resident bytes, and those that are on their way, never exceed the budget, nor does `peak`
//   M2  the tree's own invariants hold, and nothing is pinned between calls
//   M3  no more than `ghost_tokens_max` tokens are only remembered, and none where
//       there are more than `nodes_max` nodes
//
// One owning thread, that of the engine.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cache/cache_journal.h"
#include "cache/cache_status.h"
#include "engine/companion.h"
#include "engine/engine.h"
#include "plan/eviction.h"
#include "tree/token_tree.h"

namespace holdfast::cache {

struct MemoryOptions {
  ByteCount budget = 0;
  std::uint64_t ghost_tokens_max = 4'000'000;
  std::size_t nodes_max = 500'000;  // what is only remembered makes way beyond this
  plan::EvictionPolicy eviction;
};

// Forgets what is only remembered, oldest first, until it is within the limits.
void forget_beyond_limits(tree::TokenTree& tree, const MemoryOptions& limits);

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
};

struct StoreOutcome {
  bool stored = false;   // all of it is in memory now, newly or before; false for a snapshot alone
  ByteCount bytes = 0;   // copied
  tree::Filed filed;     // where its tokens are, if stored
  SnapshotPtr snapshot;  // the one that is here now, alone or with its rows; null: none
};

// What is held of a companion's state, and the holders that keep it alive.
struct CompanionHolding {
  std::vector<engine::RowsView> rows;
  CheckedView place;
  std::vector<BlockUse> blocks;
  SnapshotPtr snapshot;
};

// The parts of a state, held by whoever has this.
struct HeldParts {
  std::vector<BlockUse> rows;  // in order and without gaps
  SnapshotPtr snapshot;
};

// Brings a slot to `tokens` with these parts. Returns the bytes moved; on an Error the slot is
// empty.
[[nodiscard]] Result<ByteCount> restore_parts(engine::Engine& engine, SlotId slot, TokenSpan tokens,
                                              const HeldParts& parts);

class MemoryTier;

// Room for bytes that are on their way. Counts as taken while it lives, which must not be
// longer than the tier does.
class RoomHold {
 public:
  RoomHold() = default;
  RoomHold(MemoryTier& tier, ByteCount bytes);
  RoomHold(RoomHold&& other) noexcept
      : tier_(std::exchange(other.tier_, nullptr)), bytes_(other.bytes_) {}
  RoomHold& operator=(RoomHold&& other) noexcept {
    release();
    tier_ = std::exchange(other.tier_, nullptr);
    bytes_ = other.bytes_;
    return *this;
  }
  ~RoomHold() { release(); }
  void release();

 private:
  MemoryTier* tier_ = nullptr;
  ByteCount bytes_ = 0;
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
 public:
  MemoryTier(engine::Engine& engine, MemoryOptions options, engine::Companion* companion = nullptr,
             CacheJournal* journal = nullptr);

  // May be asked by any thread.
  [[nodiscard]] bool enabled() const { return options_.budget > 0 && !retired_; }
  // It held states, and takes none any more.
  [[nodiscard]] bool retired() const { return retired_; }
  [[nodiscard]] ByteCount budget() const { return options_.budget; }
  [[nodiscard]] ByteCount room() const {
    return retired_ ? 0 : options_.budget - tree_.bytes().resident - promised_;
  }
  [[nodiscard]] const tree::TokenTree& tree() const { return tree_; }
  [[nodiscard]] const plan::EvictionPolicy& policy() const { return options_.eviction; }
  // Whether the state of this many tokens could be held at all.
  [[nodiscard]] bool could_hold(TokenPos tokens) const {
    return static_cast<ByteCount>(tokens) * bytes_per_token() + snapshot_bytes(tokens) <=
           options_.budget;
  }
  // Bytes of one snapshot at a position, as far as is known before taking it.
  [[nodiscard]] ByteCount snapshot_bytes(TokenPos position) const;
  // Bytes of one token's rows, the companion's included.
  [[nodiscard]] ByteCount bytes_per_token() const { return row_bytes_ + companion_row_bytes(); }

  // A request begins at `now`. Returns its tick: that, or later, because no two requests with a
  // match have the same. `match`: null if it may use nothing that is kept.
  [[nodiscard]] tree::Tick begin_request(const tree::Match* match, tree::Tick now);

  [[nodiscard]] tree::Match match(SpaceKey space, TokenSpan tokens) const {
    return tree_.match(space, tokens);
  }

  // Copies what of the state is not here yet. Nothing is copied unless there is
  // room, or can be made by dropping what is worth less.
  // REQUIRES: the slot holds at least `tokens`; where a snapshot is needed and none is given,
  // exactly them.
  StoreOutcome store(const StoreRequest& request);
  // A snapshot of the slot as it stands after `tokens`, held by nobody yet. Null: it cannot be had.
  [[nodiscard]] SnapshotPtr take_snapshot(SlotId slot, TokenSpan tokens);
  // Makes room for bytes that are on their way, at the cost of what is worth least; the path
  // to `node` is not touched. Nothing: there cannot be that much.
  [[nodiscard]] std::optional<RoomHold> hold_room(ByteCount bytes, tree::NodeId node,
                                                  tree::Tick now);
  // Takes over what was elsewhere. False: there is no room.
  bool admit(const AdmitRequest& request);
  // The answer to the latest prompt on this path called a tool: its client is soon back.
  void note_tool_call(SpaceKey space, TokenSpan tokens);
  // The tokens alone, for junctions and receipts.
  tree::Filed remember(SpaceKey space, TokenSpan tokens, tree::Tick now);

  // The state of a slot after `tokens`, room or not: what is here of it is shared, the rest
  // is copied. Nothing: it cannot be copied.
  // REQUIRES: the slot holds at least `tokens`; where a snapshot is needed, exactly them
  // unless one is here.
  [[nodiscard]] std::optional<HeldParts> collect(SlotId slot, SpaceKey space, TokenSpan tokens);
  // The state of exactly these tokens, as far as it is here; nothing: it is not, or not all of it.
  // Changes nothing, and counts as no use.
  [[nodiscard]] std::optional<HeldParts> parts_of(SpaceKey space, TokenSpan tokens) const;
  // Brings `slot` to `tokens` with parts from elsewhere. Returns the bytes moved; on an
  // Error the slot is empty.
  [[nodiscard]] Result<ByteCount> restore(SlotId slot, TokenSpan tokens, const HeldParts& parts);
  // What of the companion's state goes with such parts.
  [[nodiscard]] CompanionHolding companion_parts(const HeldParts& parts) const;

  // Brings `slot` to `tokens`, all of them below `node`. Returns the bytes moved.
  // On an Error the slot is empty; what could not be brought back is for quarantine().
  [[nodiscard]] Result<ByteCount> restore(SlotId slot, tree::NodeId node, TokenSpan tokens,
                                          tree::Tick now);
  // Brings the slot's uncuttable parts to the node's snapshot; its rows stay.
  [[nodiscard]] Result<ByteCount> load_snapshot(SlotId slot, tree::NodeId node, tree::Tick now);
  // The same with a snapshot from elsewhere.
  [[nodiscard]] Result<ByteCount> load_snapshot(SlotId slot, const Snapshot& snapshot);
  // What of the companion's state of exactly these tokens is here.
  [[nodiscard]] CompanionHolding companion_state(SpaceKey space, TokenSpan tokens) const;
  // The state of these tokens could not be brought back. What of it is damaged
  // goes; if nothing is, its last part goes, so that the next plan is another one.
  // REQUIRES: nothing on the way is pinned.
  void quarantine(SpaceKey space, TokenSpan tokens, tree::Tick now);

  // Something that was kept elsewhere failed its verification.
  void count_damaged() { ++quarantined_; }

  // Keeps the path to a node from being dropped while it lives. Afterwards, what
  // could not be forgotten meanwhile is to be.
  [[nodiscard]] tree::Pin pin(tree::NodeId node) { return tree_.pin(node); }
  void forget_beyond_limits() { cache::forget_beyond_limits(tree_, options_); }

  // Whether bytes that were kept here are what they were.
  [[nodiscard]] bool intact(std::span<const std::byte> bytes, std::uint64_t checksum) const;
  // Drops all bytes and forgets all tokens. Returns the bytes freed.
  // REQUIRES: nothing is pinned.
  ByteCount clear();
  // Drops all bytes, remembers the tokens, and takes no more: from now on it is as one with a
  // budget of 0.
  void retire(tree::Tick now);

  // Fills in the parts of the status that this tier knows.
  void report(CacheStatus& status) const;
  // Told of each victim; for the log.
  std::function<void(const plan::Victim&)> on_evicted;

  [[nodiscard]] std::vector<std::string> check() const;

 private:
  friend class RoomHold;
  struct Wanted;  // what of a request is missing here
  struct Copied {
    std::vector<ExtentBlockPtr> rows;
    std::vector<SnapshotPtr> snapshots;  // one at most
    ByteCount bytes = 0;
  };

  [[nodiscard]] Wanted missing_of(const StoreRequest& request) const;
  [[nodiscard]] bool make_room(const StoreRequest& request, const Wanted& wanted);
  // Not null where conversations come by turns and are too many.
  [[nodiscard]] const plan::ReturnAges* loop() const;
  StoreOutcome decline();
  [[nodiscard]] std::optional<Copied> copy(const StoreRequest& request, const Wanted& wanted);
  [[nodiscard]] Result<std::vector<ExtentBlockPtr>> copy_rows(
      SlotId slot, const std::vector<TokenRange>& blocks, engine::CompanionSaved& companion) const;
  [[nodiscard]] Result<SnapshotPtr> copy_snapshot(SlotId slot, TokenPos position,
                                                  CheckedBytes companion);
  [[nodiscard]] engine::CompanionSaved copy_companion(const StoreRequest& request,
                                                      const std::vector<TokenRange>& blocks,
                                                      bool snapshot) const;
  [[nodiscard]] ByteCount companion_row_bytes() const;
  [[nodiscard]] HeldParts shared_with(const tree::Match& match, bool slot_stands_here) const;
  bool evict_damaged_rows(tree::NodeId node, tree::Tick now);
  void evict_snapshot(tree::NodeId node, tree::EvictionNote note);
  ByteCount drop_bytes(tree::EvictionNote note);
  void count(const plan::Victim& victim);

  engine::Engine& engine_;
  const MemoryOptions options_;
  const ByteCount row_bytes_;
  engine::Companion* const companion_;
  const engine::CompanionShape companion_shape_;
  CacheJournal* const journal_;
  tree::TokenTree tree_;
  plan::ReturnAges returns_;
  ByteCount snapshot_bytes_seen_ = 0;
  ByteCount promised_ = 0;        // by holds
  std::uint64_t requests_ = 0;    // that began
  double refused_worth_ = 0.0;    // nothing made way for a newcomer worth this much,
  std::uint64_t refused_in_ = 0;  // then
  ByteCount peak_ = 0;
  std::uint64_t snapshots_held_ = 0;
  std::uint64_t declined_ = 0;
  std::uint64_t evicted_snapshots_ = 0;
  std::uint64_t evicted_rows_ = 0;
  ByteCount evicted_bytes_ = 0;
  ByteCount stored_bytes_ = 0;
  std::uint64_t quarantined_ = 0;
  std::atomic<bool> retired_{false};
};

}  // namespace holdfast::cache
