// DraftLength: how many tokens to draft for one request, step by step.
//
// The length that promises the most tokens per millisecond for the whole batch:
//
//                     others.tokens + 1 + a1 + a1 a2 + ... + a1 .. aD
//   rate(D) = ------------------------------------------------------------------
//             ms(others.rows + 1 + D) + D x drafted token + (D > 0 ? fixed : 0)
//
// with the chances `a` of acceptance.h and the times of draft_costs.h. Both are
// estimates, and what they promise may be wrong. So a request has a purse, counted in
// steps without a draft: each step that drafted pays in what it gained over such a
// step, or takes out what it lost, and each step that did not pays in a hundredth.
//   - Where drafting does not seem to pay, a short draft is tried whenever the purse
//     bears the loss of all its tokens. One that is accepted whole pays in, so the
//     next follows at once and may be longer: that is how drafting comes back.
//   - Where it seems to pay and the purse is overdrawn, nothing is drafted.
// So what drafting can lose against not drafting is a hundredth of the time and the
// few steps that a purse may be overdrawn by and may hold.
//
// When steps without a draft were last seen long ago, one is made (wants_step_of).
//
// Invariants, verified by check():
//   L1  a purse holds no more than kPurseMost
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
  static constexpr double kPurseMost = 4.0;

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
  [[nodiscard]] double ms(TokenPos drafted) const;
  [[nodiscard]] double loss(TokenPos drafted, TokenPos accepted) const;
  void pay_in(double steps);

  const AcceptanceByPosition* prior_;
  const DraftCosts* costs_;
  AcceptanceByPosition acceptance_;
  BatchOthers others_;       // of the step at hand
  double purse_ = 0.0;       // in steps without a draft
  TokenPos try_tokens_ = 2;  // of the next draft on trial
};

}  // namespace holdfast
