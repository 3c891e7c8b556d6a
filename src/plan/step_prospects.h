// StepProspects: what the coming step would cost and yield, for each length of its drafts.
//
//             sum over requests of (1 + a1 + a1 a2 + ... + a1 .. aD) + others
//   rate(D) = ---------------------------------------------------------------
//                      ms of such a step (plan/draft_costs.h)
//
// with each request's own chances `a` (plan/acceptance.h). Both are estimates, known where drafts
// were made and guessed elsewhere.
//
// Invariants, verified by check():
//   PROSPECT-1  a longer draft is expected to yield no fewer tokens
//   PROSPECT-2  no step is expected to yield more tokens than if all of its drafts were right
//
// Pure: no I/O, no clock.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "plan/acceptance.h"
#include "plan/draft_costs.h"
#include "state/tokens.h"

namespace holdfast::plan {

// A request of the coming step whose draft is as long as chosen for the step, or as its own
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

// A step that would draft this many tokens.
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

class StepProspects {
 public:
  StepProspects() = default;  // of no step yet
  // `prior` is what earlier requests have seen.
  StepProspects(std::span<const PacedRequest> requests, BatchOthers others,
                const AcceptanceByPosition& prior, const DraftCosts& costs);

  [[nodiscard]] bool empty() const { return by_length_.empty(); }
  // The longest draft that one of the requests allows.
  [[nodiscard]] TokenPos most() const { return static_cast<TokenPos>(by_length_.size()) - 1; }
  // REQUIRES: 0 <= length <= most()
  [[nodiscard]] const Prospect& at(TokenPos length) const {
    return by_length_[static_cast<std::size_t>(length)];
  }
  // The length with the highest rate, the shortest of equals.
  [[nodiscard]] TokenPos best() const;
  // What a change of length costs now, in steps without a draft.
  [[nodiscard]] double change_steps(const DraftCosts& costs) const {
    return costs.change_ms() / at(0).ms;
  }
  // Equal steps after which one of another length is believed.
  [[nodiscard]] int run_steps(const DraftCosts& costs) const;

  [[nodiscard]] std::vector<std::string> check() const;

 private:
  std::vector<Prospect> by_length_;
  bool wasteful_ = false;  // some drafts cannot be truncated where they are wrong
};

}  // namespace holdfast::plan
