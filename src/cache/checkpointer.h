// Checkpointer: takes the states that are due while prompts are read, and puts them where they are
// kept: memory, the slot itself, and for whole prompts their logits.
//
//   place           where, and how the prompt is cut for it     (cache/checkpoint_plan.h)
//   take_due        the slot has grown; what is due there is taken, or postponed
//   copy_postponed  rows piece by piece, then the rest, before the slot grows further
//
// Where the budget is smaller than a handful of snapshots for each slot, the slots keep some of
// their own beside it (cache/slot_snapshots.h).
//
// Invariants, verified by check():
//   CKPT-1  those of SlotSnapshots; a slot's places lie within its tokens, where prompts are
//           exact within `exact`
//   CKPT-2  what slots keep, together with what memory holds, stays within the larger of the
//           budget and `slot_snapshots` snapshots for each slot
//
// One owning thread, that of the engine.
#pragma once

#include <string>
#include <vector>

#include "cache/cache_core.h"
#include "cache/checkpoint_plan.h"
#include "cache/receipt.h"
#include "cache/slot_snapshots.h"

namespace holdfast::cache {

class Checkpointer {
 public:
  explicit Checkpointer(CacheCore& core);

  // The slot holds the first `receipt.restored` tokens of the prompt.
  void place(SlotId slot, const Prompt& prompt, const Receipt& receipt);
  // Another request could use a state there, beyond the slot's tokens.
  void place_junction(SlotId slot, TokenPos position);
  // The slot's tokens were [0, before), and the engine has these logits.
  void take_due(SlotId slot, TokenPos before, engine::LogitsOf logits, Copies copies,
                Receipt& receipt);
  // What the checkpoint behind a chunk that ends there copies at most while others wait; 0: none is
  // due there, or nobody waits for copies.
  [[nodiscard]] ByteCount bytes_due(SlotId slot, TokenPos end) const;
  [[nodiscard]] ByteCount postponed_bytes(SlotId slot) const;
  // Takes the checkpoint that was postponed. Where it is more than `bytes`, only some of its rows
  // are copied, about that many bytes, and it stays postponed; a snapshot is never divided.
  void copy_postponed(SlotId slot, ByteCount bytes, Receipt& receipt);

  // The slot's rows are about to go, and no state of all of them has room in memory. The deepest
  // place that could have it is put there with its rows, and those above it as far as they are
  // worth their room. Returns the bytes copied.
  ByteCount put_places_aside(SlotId slot);
  [[nodiscard]] const SlotSnapshots& places() const { return places_; }
  [[nodiscard]] SlotSnapshots& places() { return places_; }
  // What the slots may keep of their own, together.
  [[nodiscard]] ByteCount slot_allowance() const;
  [[nodiscard]] std::vector<std::string> check() const;

 private:
  [[nodiscard]] StoreRequest request_for(SlotId slot, const plan::Checkpoint& checkpoint,
                                         bool off_grid) const;
  void take(SlotId slot, const plan::Checkpoint& checkpoint, Receipt& receipt);
  bool keep_in_slot(SlotId slot, const plan::Checkpoint& checkpoint,
                    const SnapshotPtr& held_by_memory, Receipt& receipt);
  [[nodiscard]] bool time_allows(const LiveSlot& held, const plan::Checkpoint& checkpoint) const;
  [[nodiscard]] ByteCount bytes_of(const LiveSlot& held, const plan::Checkpoint& checkpoint,
                                   TokenPos rows) const;
  [[nodiscard]] bool goes_to_memory(const LiveSlot& held, const plan::Checkpoint& checkpoint) const;
  bool copy_rows_ahead(SlotId slot, ByteCount bytes, Receipt& receipt);
  [[nodiscard]] LogitsPtr end_logits(SlotId slot) const;
  void keep_end(const LiveSlot& held, LogitsPtr logits);

  CacheCore& core_;
  SlotSnapshots places_;
};

}  // namespace holdfast::cache
