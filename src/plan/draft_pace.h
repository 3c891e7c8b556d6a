// DraftPace: how many tokens the slots of a step draft, step by step.
//
// Slots that share a batch draft equally long, so there is one choice for all of them:
// the length D that promises the most tokens per millisecond,
//
//             sum over requests of (1 + a1 + a1 a2 + ... + a1 .. aD) + others
//   rate(D) = ---------------------------------------------------------------
//                      ms of such a step (plan/draft_costs.h)
//
// with each request's own chances `a` (plan/acceptance.h). Both are estimates, known
// where drafts were made and guessed elsewhere.
//
//   D |           __trial         adopted       a length stays as it is until another
//     |          |  |     ___________    ____   promises more than the change costs
//     |__________|  |____|           |__|       within kHorizon steps
//     +-------------------------------baseline- steps
//
// On a GPU steps are slow after a change, so what is found out is found out in runs of
// equal steps (TimesBySize::kRun): a trial of another length, and, while drafting is on,
// a baseline without drafts, soon after it began and then less and less often. Where
// changes cost nothing a trial is one step.
//
// Two accounts, counted in steps without a draft, bound what a wrong estimate can cost:
//   - trials: each step pays in a hundredth. When that bears what a run loses at worst,
//     another length is tried: one whose cost was only guessed and may turn out well, or
//     else a longer one (the choice may be none at all). One that would not pay if all of it
//     were right has to wait until the account is full. What a trial gains is paid in
//     too, so after a lucky one the next follows at once: that is how drafting comes back
//     when a text becomes easy. A run that gained also buys the balance out of its debt.
//   - balance: what drafts have gained over steps without one, less what changes have
//     cost. While it is overdrawn, nothing is drafted, whatever the estimates promise.
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
//   DRAFT-1  neither account holds more than its limit
//   DRAFT-2  the costs are sound (draft_costs.h)
//
// Pure: no I/O, no clock. Equal calls give equal answers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plan/acceptance.h"
#include "plan/draft_costs.h"
#include "state/tokens.h"

namespace holdfast::plan {

// A request of the coming step whose draft is as long as chosen here, or as its own
// limit allows.
struct PacedRequest {
  const AcceptanceByPosition* seen = nullptr;
  TokenPos waiting = 1;  // rows without a draft
  TokenPos most = 0;     // tokens of a draft
  // A draft of up to this many is truncated where it is wrong; with a longer one, all rows of the
  // step that were right are computed again.
  TokenPos truncatable = AcceptanceByPosition::kPositions;
};

// The other slots of the same step.
struct BatchOthers {
  TokenPos rows = 0;
  double tokens = 0.0;  // that they are expected to yield, at least one each
};

class DraftPace {
 public:
  static constexpr double kAccountMost = 32.0;
  static constexpr double kBalanceMost = 8.0;  // what better times leave to burn in worse ones
  static constexpr double kHorizon = 32.0;

  // Tokens to draft in the coming step: 0 .. the largest `most`. To be asked once for
  // each step. `prior` is what earlier requests have seen.
  [[nodiscard]] TokenPos choose(std::span<const PacedRequest> requests, BatchOthers others,
                                const AcceptanceByPosition& prior);
  // Of the drafts that were chosen for the latest step, this many tokens were right.
  void note_accepted(TokenPos accepted) { accepted_ += accepted; }
  // With such a draft a slot went back to before the step; this many rows are computed again.
  void note_undone(TokenPos rows) {
    ++undone_;
    again_ += rows;
  }

  [[nodiscard]] DraftCosts& costs() { return costs_; }
  [[nodiscard]] const DraftCosts& costs() const { return costs_; }
  [[nodiscard]] std::vector<std::string> check() const;

 private:
  enum class Why { kChoice, kTrial, kBaseline };
  // A step that would draft this many tokens: what it costs and is expected to yield.
  struct Prospect {
    double ms = 0.0;  // with what going back is expected to cost
    double undoing_ms = 0.0;
    double ms_at_best = 0.0;
    double tokens = 0.0;
    double tokens_at_best = 0.0;  // if all were right
    TokenPos rows = 0;
    TokenPos waiting = 0;
    [[nodiscard]] double rate() const { return tokens / ms; }
  };

  void settle_account();
  void look_ahead(std::span<const PacedRequest> requests, BatchOthers others,
                  const AcceptanceByPosition& prior);
  [[nodiscard]] TokenPos next();
  void begin_next_run();
  [[nodiscard]] bool wants_baseline() const;
  void begin_baseline();
  [[nodiscard]] TokenPos best() const;
  [[nodiscard]] bool worth_changing_to(TokenPos length) const;
  void reconsider();
  [[nodiscard]] bool overdrawn() const;
  void change_to(TokenPos length);
  void begin_run(Why why, TokenPos length, int steps);
  void try_out();
  [[nodiscard]] TokenPos hopeful_trial() const;
  [[nodiscard]] TokenPos longer_trial() const;
  [[nodiscard]] bool could_pay(TokenPos length) const;
  [[nodiscard]] double price(TokenPos length) const;
  [[nodiscard]] double lost(double ms, double tokens) const;
  [[nodiscard]] double change_steps() const;
  [[nodiscard]] int run_steps() const;
  [[nodiscard]] TokenPos most() const { return static_cast<TokenPos>(prospects_.size()) - 1; }
  // The choice that stands, as far as these requests allow. One that is about to end
  // allows little, and changes nothing for the next.
  [[nodiscard]] TokenPos here() const { return std::min(length_, most()); }
  [[nodiscard]] const Prospect& at(TokenPos length) const {
    return prospects_[static_cast<std::size_t>(length)];
  }

  DraftCosts costs_;
  double balance_ = 0.0;
  double trials_ = kAccountMost / 2;  // a new server has all to find out
  TokenPos length_ = 0;               // the choice that stands
  // The run at hand, which may be over.
  Why why_ = Why::kChoice;
  TokenPos run_length_ = 0;
  int run_left_ = 0;
  double run_gained_ = 0.0;
  std::uint64_t no_baseline_before_ = 0;  // this many notes
  std::uint64_t baseline_every_ = 0;      // this many, while drafting is on
  // Of the step at hand.
  std::vector<Prospect> prospects_;  // with a draft of 0, 1, 2 ...
  bool wasteful_ = false;            // some drafts cannot be truncated where they are wrong
  TokenPos now_ = 0;
  TokenPos accepted_ = 0;
  int undone_ = 0;
  TokenPos again_ = 0;
};

}  // namespace holdfast::plan
