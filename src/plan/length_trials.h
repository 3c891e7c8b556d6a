// LengthTrials: which other length of drafts is worth a run of steps, to find out about it.
//
// First one whose cost is only guessed and may turn out well; else a longer one than the choice
// that stands, which may be none at all.
//
// A view of one step's prospects; it keeps nothing. Pure: no I/O, no clock.
//
// Promised, and verified by draft_pace_test.cc (LengthTrials):
//   TRIAL-1  the length lies between 0 and the longest that a request allows
//   TRIAL-2  a trial costs no less than the way there and back
#pragma once

#include "plan/draft_costs.h"
#include "plan/step_prospects.h"

namespace holdfast::plan {

class LengthTrials {
 public:
  // `here`: the choice that stands. REQUIRES: both outlive this, and 0 <= here <= most().
  LengthTrials(const StepProspects& prospects, const DraftCosts& costs, TokenPos here)
      : prospects_(prospects), costs_(costs), here_(here) {}

  // The length to try; the choice that stands if there is none.
  [[nodiscard]] TokenPos length() const;
  // Whether it would pay if all of it were right, or all of a shorter one.
  [[nodiscard]] bool could_pay(TokenPos length) const;
  // What a run of it loses at worst, there and back again, in steps without a draft.
  [[nodiscard]] double price(TokenPos length) const;
  // What a step of a trial that took `ms` and yielded `tokens` loses against the choice that
  // stands, in steps without a draft.
  [[nodiscard]] double lost(double ms, double tokens) const;

 private:
  [[nodiscard]] TokenPos hopeful() const;
  [[nodiscard]] TokenPos longer() const;

  const StepProspects& prospects_;
  const DraftCosts& costs_;
  const TokenPos here_;
};

// Estimates as close as this are equal.
inline constexpr double kBetterRate = 1.02;

}  // namespace holdfast::plan
