// StartReceipt: what a receipt says of a beginning (H9), printed from the plan and the trees.
#pragma once

#include "cache/cache_core.h"
#include "cache/receipt.h"
#include "cache/seen_tokens.h"
#include "cache/start_choice.h"
#include "cache/start_planner.h"

namespace holdfast::cache {

class StartReceipt {
 public:
  StartReceipt(const CacheCore& core, const StartPlanner& planner, const SeenTokens& seen,
               const Prompt& prompt, Receipt& receipt)
      : core_(core), planner_(planner), seen_(seen), prompt_(prompt), receipt_(receipt) {}

  // Before anything is done: what is known of the prompt, and where it parts from that.
  void describe(const StartChoice& choice);
  // It has begun so. `planned_around`: another way was tried first.
  void conclude(const StartChoice& choice, bool planned_around);

 private:
  void note_difference(const tree::Match& match, const LiveSlot* nearest);
  [[nodiscard]] Missing missing(bool planned_around) const;
  [[nodiscard]] const tree::Stop* deepest_evicted(const tree::Match& match, TokenPos known) const;
  [[nodiscard]] Missing why_evicted(const tree::Stop& stop) const;
  void name_foreign();

  const CacheCore& core_;
  const StartPlanner& planner_;
  const SeenTokens& seen_;
  const Prompt& prompt_;
  Receipt& receipt_;
};

}  // namespace holdfast::cache
