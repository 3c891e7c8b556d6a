// SlotGrowth: a slot grows, chunk by chunk while its prompt is read and then by sampled tokens.
//
//   chunk_end       where the next chunk has to end
//   before_chunk    the slot is about to grow,
//   prefilled       and has grown; the checkpoint placed here is taken, or postponed
//   copy_postponed  and then taken before the slot grows further
//   decoded         it has grown by sampled tokens
//
// One owning thread, that of the engine.
#pragma once

#include "base/result.h"
#include "cache/cache_core.h"
#include "cache/checkpointer.h"
#include "cache/live_states.h"
#include "cache/receipt.h"

namespace holdfast::cache {

class SlotGrowth {
 public:
  SlotGrowth(CacheCore& core, Checkpointer& checkpointer, LiveStates& live)
      : core_(core), checkpointer_(checkpointer), live_(live) {}

  // Where the chunk that begins at the slot's end has to end. It may be read in pieces, but not
  // where prompts are exact: there chunks are those of the grid.
  [[nodiscard]] TokenPos chunk_end(SlotId slot) const;
  // What the checkpoint behind a chunk that ends there copies at most; 0: none is due there.
  [[nodiscard]] ByteCount bytes_due(SlotId slot, TokenPos end) const {
    return checkpointer_.bytes_due(slot, end);
  }
  // To be called before each chunk. Where prompts are exact an uninterrupted run then looks like a
  // restored one wherever a restore may begin. On an Error the slot is empty.
  [[nodiscard]] Result<void> before_chunk(SlotId slot);
  // The engine has appended these tokens, up to chunk_end() or less, and has these logits. A
  // checkpoint that is due is taken now; or it is postponed, and has to be taken before the slot
  // grows.
  void prefilled(SlotId slot, TokenSpan chunk, Receipt& receipt,
                 engine::LogitsOf logits = engine::LogitsOf::kNone, Copies copies = Copies::kNow);
  [[nodiscard]] bool postponed(SlotId slot) const {
    return core_.slots[slot].postponed.has_value();
  }
  [[nodiscard]] ByteCount postponed_bytes(SlotId slot) const {
    return checkpointer_.postponed_bytes(slot);
  }
  // Takes the checkpoint that was postponed, or copies some of its rows (cache/checkpointer.h).
  // REQUIRES: there is one, and the engine's slot is as prefilled() found it.
  void copy_postponed(SlotId slot, ByteCount bytes, Receipt& receipt);
  // The engine's latest decode appended these to the slot, and they stay. Nothing is postponed.
  // The companion knows the first `companion_synced` of them already.
  void decoded(SlotId slot, TokenSpan kept, TokenPos companion_synced = 0);
  // How long reading took, for costs and receipts.
  void note_prefill_speed(TokenPos tokens, double ms);
  // The engine's slot was emptied while a request is at work there.
  void emptied(SlotId slot);

 private:
  CacheCore& core_;
  Checkpointer& checkpointer_;
  LiveStates& live_;
};

}  // namespace holdfast::cache
