// HeldStates: finds states in memory by their tokens, and puts their parts together.
//
// It changes nothing in memory, and asking it counts as no use of what it finds.
//
// Invariants, verified by held_states_test.cc:
//   HELD-1  parts_of() gives all parts of a state, or nothing
//   HELD-2  collect() gives the parts that memory shares as the same objects, and copies the rest
//
// One owning thread, that of the engine.
#pragma once

#include <optional>

#include "cache/slot_copier.h"
#include "tree/token_tree.h"

namespace holdfast::cache {

class HeldStates {
 public:
  // REQUIRES: both outlive it.
  HeldStates(const tree::TokenTree& tree, SlotCopier& copier) : tree_(tree), copier_(copier) {}

  // The state of exactly these tokens; nothing: it is not here, or not all of it.
  [[nodiscard]] std::optional<HeldParts> parts_of(SpaceKey space, TokenSpan tokens) const;
  // The state of the first `length` tokens on the way to a node, as far as it is here.
  [[nodiscard]] HeldParts parts_at(tree::NodeId node, TokenPos length) const;
  // The state of a slot after `tokens`, room or not: what is here of it is shared, the rest
  // is copied. Nothing: it cannot be copied.
  // REQUIRES: the slot holds at least `tokens`; where a snapshot is needed, exactly them
  // unless one is here.
  [[nodiscard]] std::optional<HeldParts> collect(SlotId slot, SpaceKey space, TokenSpan tokens);
  // What of the companion's state of exactly these tokens is here.
  [[nodiscard]] CompanionHolding companion_state(SpaceKey space, TokenSpan tokens) const;

 private:
  [[nodiscard]] HeldParts shared_with(const tree::Match& match, bool slot_stands_here) const;

  const tree::TokenTree& tree_;
  SlotCopier& copier_;
};

}  // namespace holdfast::cache
