// DraftLength: how many tokens to draft for one request, step by step.
//
// The length that promises the most tokens per millisecond for the whole batch:
//
//                     others.tokens + 1 + a1 + a1 a2 + ... + a1 .. aD
//   rate(D) = ------------------------------------------------------------------
//             ms(others.rows + 1 + D) + D x drafted token + (D > 0 ? fixed : 0)
//
// with the chances `a` of acceptance.h and the times of draft_costs.h. Both are
// estimates, known where drafts were made and guessed elsewhere. Two accounts, counted
// in steps without a draft, bound what a wrong estimate can cost:
//   - trials: each step pays in a hundredth. When that bears the loss, another length
//     than the best is tried: a shorter one whose cost was only guessed, or else a
//     longer one (the best may be none at all). What a trial gains is paid in too, so
//     after a lucky one the next follows at once, and longer: that is how drafting
//     comes back when a text becomes easy.
//   - balance: what drafts have gained over steps without one. While it is overdrawn,
//     nothing is drafted, whatever the estimates promise.
//
// When steps without a draft were last seen long ago, one is made (wants_step_of).
//
// Slots of one batch choose one after the other, each given the others. Where only all
// of them together would gain (rows that double a step's cost, once), none begins.
//
// In simulation (draft_length_test.cc) this reached at least 0.977 of never drafting in
// every world, 0.964 with four slots; and in 19 of 20 worlds 0.977 of the best length
// known in hindsight, 0.967 with four slots.
//
// Invariants, verified by check():
//   L1  neither account holds more than its limit
//   L2  the evidence is sound (A1, A2)
//
// Pure: no I/O, no clock. Equal calls give equal answers.
#pragma once

#include <string>
#include <vector>

#include "plan/acceptance.h"
#include "plan/draft_costs.h"
#include "state/tokens.h"

namespace holdfast {

// The other slots of the same batch.
struct BatchOthers {
  TokenPos rows = 0;
  double tokens = 0.0;  // that they are expected to yield, at least one each
};

class DraftLength {
 public:
  static constexpr double kBalanceMost = 32.0;
  static constexpr double kTrialsMost = 32.0;

  // Both are the server's and outlive it.
  DraftLength(const AcceptanceByPosition& prior, const DraftCosts& costs)
      : prior_(&prior), costs_(&costs) {}

  // Tokens to draft in the coming step: 0 .. most. To be asked once for each step.
  [[nodiscard]] TokenPos choose(TokenPos most, BatchOthers others);
  // What became of the step's draft, which may have been shorter than chosen. Not to
  // be called where nothing was proposed.
  void note(TokenPos drafted, TokenPos accepted);

  // Tokens that a step is expected to yield with this draft: 1 and more.
  [[nodiscard]] double expected(TokenPos drafted) const;
  // For AcceptanceByPosition::fold, when the request ends.
  [[nodiscard]] const AcceptanceByPosition& acceptance() const { return acceptance_; }

  [[nodiscard]] std::vector<std::string> check() const;

 private:
  [[nodiscard]] TokenPos best(TokenPos most) const;
  [[nodiscard]] TokenPos try_out(TokenPos most);
  [[nodiscard]] TokenPos shorter_trial() const;
  [[nodiscard]] TokenPos longer_trial(TokenPos most) const;
  [[nodiscard]] double ms(TokenPos drafted) const;
  [[nodiscard]] double worth(TokenPos drafted, double accepted) const;
  [[nodiscard]] double expected_worth(TokenPos drafted) const;

  const AcceptanceByPosition* prior_;
  const DraftCosts* costs_;
  AcceptanceByPosition acceptance_;
  double balance_ = 0.0;
  double trials_ = 0.0;
  TokenPos lucky_ = 0;  // length of the last trial, where all of it was accepted
  // Of the step at hand.
  BatchOthers others_;
  TokenPos best_ = 0;
  std::vector<double> expected_;  // tokens with a draft of 0, 1, 2 ...
};

}  // namespace holdfast
