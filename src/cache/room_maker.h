// RoomMaker: what leaves memory so that something else can come in.
//
// Room is made by value (plan/eviction.h). Where more conversations come by turns than there is
// room for, those stay that are here and the others are turned away: if each displaced the next,
// all would be read again in every turn (plan/return_ages.h). Looking for what may go takes
// milliseconds where much is held, so what was refused once in a request is not asked again for
// its like.
//
// Tokens whose bytes have gone stay remembered, within limits of their own.
//
// Invariants, verified by check():
//   ROOM-1  no more than `ghost_tokens_max` tokens are only remembered
//   ROOM-2  none are where there are more than `nodes_max` nodes
//   ROOM-3  those of EvictedBytes
//
// One owning thread, that of the engine.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/evicted_bytes.h"
#include "cache/memory_budget.h"
#include "plan/eviction.h"
#include "plan/return_ages.h"
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

// A state that wants to come in.
struct Newcomer {
  ByteCount bytes = 0;
  tree::NodeId growing;   // the place that it goes on from
  plan::ReuseOdds odds;   // how likely it will be wanted
  TokenPos saves = 0;     // tokens that would be read again without it
  bool essential = true;  // false: takes the room only of what is worth less
  bool unknown = false;   // most of its conversation was not here
  tree::Tick now = 0;
};

// What has left, since the start.
struct EvictedTotals {
  std::uint64_t snapshots = 0;
  std::uint64_t rows = 0;  // edges that lost rows
  ByteCount bytes = 0;
};

class RoomMaker {
 public:
  // REQUIRES: tree and budget outlive it.
  RoomMaker(tree::TokenTree& tree, MemoryBudget& budget, const MemoryOptions& options)
      : tree_(tree), budget_(budget), options_(options), gone_(options.budget) {}

  // A request begins at `now`. Returns its tick: that, or later, because no two requests with a
  // match have the same. `match`: null if it may use nothing that is kept.
  [[nodiscard]] tree::Tick begin_request(const tree::Match* match, tree::Tick now);
  // Whether there is room for it now. Making it may take rows off its own path.
  [[nodiscard]] bool make_room(const Newcomer& newcomer);
  // Makes room for bytes that are on their way, at the cost of what is worth least; the path
  // to `node` is not touched. Nothing: there cannot be that much.
  [[nodiscard]] std::optional<RoomHold> hold_room(ByteCount bytes, tree::NodeId node,
                                                  tree::Tick now);

  // Keeps the path to a node from being dropped while it lives. Afterwards, what
  // could not be forgotten meanwhile is to be.
  [[nodiscard]] tree::Pin pin(tree::NodeId node) { return tree_.pin(node); }
  void forget_beyond_limits() { cache::forget_beyond_limits(tree_, options_); }

  // Drops all bytes and forgets all tokens. Returns the bytes freed.
  // REQUIRES: nothing is pinned, here and below.
  ByteCount clear();
  ByteCount clear(SpaceKey space);  // of one space
  // Drops the bytes of these nodes, and remembers their tokens. Returns the bytes freed.
  ByteCount drop_bytes(std::span<const tree::NodeId> nodes, tree::EvictionNote note);
  TokenPos clear(const PathEnd& end) { return tree_.forget_end(end); }  // of one conversation
  // Drops all bytes, remembers the tokens, and takes no more: from now on it is as one with a
  // budget of 0.
  void retire(tree::Tick now);

  // Something left that others have taken out.
  void count(const plan::Victim& victim);
  [[nodiscard]] const EvictedTotals& evicted() const { return evicted_; }
  // About as much memory would still hold what was evicted then.
  [[nodiscard]] ByteCount kept_with(tree::Tick evicted) const {
    return budget_.total() + gone_.from(evicted);
  }
  // Told of each victim; for the log.
  std::function<void(const plan::Victim&)> on_evicted;

  [[nodiscard]] std::vector<std::string> check() const;

 private:
  // Not null where conversations come by turns and are too many.
  [[nodiscard]] const plan::ReturnAges* loop() const;
  void evict(const plan::RoomRequest& request);
  ByteCount drop_bytes(tree::EvictionNote note);

  tree::TokenTree& tree_;
  MemoryBudget& budget_;
  const MemoryOptions options_;
  plan::ReturnAges returns_;
  std::uint64_t requests_ = 0;    // that began
  double refused_worth_ = 0.0;    // nothing made way for a newcomer worth this much,
  std::uint64_t refused_in_ = 0;  // then
  EvictedTotals evicted_;
  EvictedBytes gone_;
};

}  // namespace holdfast::cache
