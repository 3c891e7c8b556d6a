// SlotTransfer: a slot's state out of it and into it, asked for by people rather than by a prompt.
//
// One owning thread, that of the engine. Every slot named here is idle.
#pragma once

#include <optional>

#include "base/result.h"
#include "cache/cache_core.h"
#include "cache/live_states.h"
#include "cache/seen_tokens.h"
#include "cache/slot_state.h"

namespace holdfast::cache {

class SlotTransfer {
 public:
  SlotTransfer(CacheCore& core, LiveStates& live, SeenTokens& seen)
      : core_(core), live_(live), seen_(seen) {}

  // What could be continued of the slot's state: all of it, or where prompts are exact as much as
  // has the bits of a cold run. Nothing: there is no such part, or it cannot be copied.
  [[nodiscard]] std::optional<SlotState> copy_out(SlotId slot);
  // Gives the slot another state; its own goes into memory first, as if a request took the slot.
  // On an Error the slot is empty.
  // REQUIRES: there are tokens, and the keys that they have here.
  [[nodiscard]] Result<void> bring_in(SlotId slot, const SlotState& state);
  // Empties the slot; what memory holds stays there. Returns the tokens that it held.
  TokenPos erase(SlotId slot);
  // The same, and forgets what its conversation has for itself, in memory and below
  // (state/path_end.h).
  TokenPos forget(SlotId slot);

 private:
  TokenPos empty(SlotId slot);
  void forget_conversation(const LiveSlot& held, SlotId slot);
  void bring_companion(SlotId slot, const HeldParts& parts);

  CacheCore& core_;
  LiveStates& live_;
  SeenTokens& seen_;
};

}  // namespace holdfast::cache
