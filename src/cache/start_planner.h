// StartPlanner: how a prompt could begin now, from memory and from the slots that are free.
//
// It looks and changes nothing. The decision itself is plan_start (plan/start_plan.h).
//
// One owning thread, that of the engine.
#pragma once

#include <span>

#include "cache/cache_core.h"
#include "cache/prompt.h"
#include "cache/slot_snapshots.h"
#include "cache/start_choice.h"

namespace holdfast::cache {

class StartPlanner {
 public:
  // `places`: the snapshots that slots keep of their own.
  StartPlanner(const CacheCore& core, const SlotSnapshots& places) : core_(core), places_(places) {}

  // REQUIRES: there is a slot, and all of these are idle.
  [[nodiscard]] StartChoice plan(const Prompt& prompt, std::span<const SlotId> slots) const {
    return plan_with(prompt, slots, Truncation::kAllowed);
  }
  // The next best way on this slot, after one that failed: nothing is truncated there any more.
  [[nodiscard]] StartChoice plan_around(const Prompt& prompt, SlotId slot) const {
    return plan_with(prompt, {&slot, 1}, Truncation::kNone);
  }
  // Tokens that the slot has in common with the prompt, whose match this is; 0 under another
  // space.
  [[nodiscard]] TokenPos common(const LiveSlot& held, const Prompt& prompt,
                                const tree::Match& match) const;
  // What beginning so would move at most: out of the slot, and into it.
  [[nodiscard]] ByteCount bytes_to_begin(const StartChoice& choice) const;

 private:
  enum class Truncation { kAllowed, kNone };

  [[nodiscard]] StartChoice plan_with(const Prompt& prompt, std::span<const SlotId> slots,
                                      Truncation truncation) const;
  [[nodiscard]] plan::LiveState describe(SlotId slot, const Prompt& prompt,
                                         const tree::Match& match, Truncation truncation) const;

  const CacheCore& core_;
  const SlotSnapshots& places_;
};

}  // namespace holdfast::cache
