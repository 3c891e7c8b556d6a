// DraftPace: how many tokens the slots of a step draft, step by step.
//
// Slots that share a batch draft equally long, so there is one choice for all of them: the length
// that promises the most tokens per millisecond (plan/step_prospects.h).
//
//   D |           __trial         adopted       a length stays as it is until another
//     |          |  |     ___________    ____   promises more than the change costs
//     |__________|  |____|           |__|       within the next steps
//     +-------------------------------baseline- steps
//
// On a GPU steps are slow after a change, so what is found out is found out in runs of
// equal steps (SizeRun::kWhole): a trial of another length (plan/length_trials.h), and, while
// drafting is on, a baseline without drafts (plan/baselines.h). Where changes cost nothing a trial
// is one step. Two accounts bound what a wrong estimate can cost (plan/draft_accounts.h).
//
// What simulation reaches (draft_pace_test.cc; every fifth of its worlds, four seeds; 5000
// tokens a slot, times that are up to a tenth off). Each number is that of the worst seed:
//
//                                        of never     of the best length in hindsight
//                                        at worst     at worst   19 of 20   median
//   changes cost nothing, 1 slot         0.969        0.83       0.96       0.99
//   the same, one time in 50 is odd      0.981        0.84       0.96       0.99
//   the same, 4 slots                    0.978        0.96       0.98       0.99
//   the same, a row costs 0.5 or 0.9     0.982        0.97       0.97       0.98
//   the same, slow for a while, 1 slot   0.981        0.96       0.96       0.98
//   the same, 4 slots                    0.974        0.97       0.97       0.99
//   states that are copied, 1 slot       0.976        0.88       0.92       0.99
//   the same, 4 slots                    0.979        0.95       0.98       0.99
//   changes cost two steps, 1 slot       0.976        0.84       0.89       0.98
//   the same, 4 slots                    0.979        0.92       0.94       0.98
//   the same, one time in 50 is odd      0.977        0.84       0.89       0.98
//   the same, drafts that end early      0.966        0.83       0.91       0.98
//   the same, slots come and go          0.975        0.92       0.94       0.98
//   changes cost six steps, 1 slot       0.971        0.91       0.91       0.97
//   the same, 4 slots                    0.981        0.97       0.97       0.99
//
// Farthest from the best length are worlds where one row more costs a large part of a step
// (found out only by trying the lengths around it), and gains of a tenth, which luck hides
// for long.
//
// Invariants, verified by check():
//   DRAFT-1  the accounts, the baselines and the prospects are sound (their own headers)
//   DRAFT-2  the costs are sound (draft_costs.h)
//   DRAFT-3  the latest choice is one that its requests allowed, and no run has steps below 0 left
//
// Pure: no I/O, no clock. Equal calls give equal answers.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "plan/acceptance.h"
#include "plan/baselines.h"
#include "plan/draft_accounts.h"
#include "plan/draft_costs.h"
#include "plan/length_trials.h"
#include "plan/step_prospects.h"
#include "state/tokens.h"

namespace holdfast::plan {

class DraftPace {
 public:
  // Tokens to draft in the coming step: 0 .. the largest `most`. To be asked once for
  // each step. `prior` is what earlier requests have seen.
  [[nodiscard]] TokenPos choose(std::span<const PacedRequest> requests, BatchOthers others,
                                const AcceptanceByPosition& prior);
  // Of the drafts that were chosen for the latest step, this many tokens were right.
  void note_accepted(TokenPos accepted) { came_.accepted += accepted; }
  // With such a draft a slot went back to before the step; this many rows are computed again.
  void note_undone(TokenPos rows) {
    ++came_.undone;
    came_.again += rows;
  }

  [[nodiscard]] DraftCosts& costs() { return costs_; }
  [[nodiscard]] const DraftCosts& costs() const { return costs_; }
  [[nodiscard]] std::vector<std::string> check() const;

 private:
  // Equal steps that are made for one reason.
  struct Run {
    enum class Why { kChoice, kTrial, kBaseline } why = Why::kChoice;
    TokenPos length = 0;
    int left = 0;  // 0: it is over
    double gained = 0.0;
  };
  // Of the latest step.
  struct Came {
    TokenPos accepted = 0;
    int undone = 0;
    TokenPos again = 0;
  };

  [[nodiscard]] TokenPos next();
  void begin_next_run();
  void reconsider();
  [[nodiscard]] bool worth_changing_to(TokenPos length) const;
  void change_to(TokenPos length);
  void try_out();
  void settle_accounts();
  // The choice that stands, as far as these requests allow. One that is about to end
  // allows little, and changes nothing for the next.
  [[nodiscard]] TokenPos here() const { return std::min(length_, prospects_.most()); }
  [[nodiscard]] LengthTrials trials() const { return {prospects_, costs_, here()}; }
  [[nodiscard]] double change_steps() const { return prospects_.change_steps(costs_); }

  DraftCosts costs_;
  DraftAccounts accounts_;
  Baselines baselines_;
  TokenPos length_ = 0;  // the choice that stands
  Run run_;              // at hand
  // Of the step at hand.
  StepProspects prospects_;
  TokenPos now_ = 0;
  Came came_;
};

}  // namespace holdfast::plan
