// DraftCosts: what steps with and without drafts cost, learned from those that ran.
//
// Three times add up: the primary's step by its token rows, the companion's call by the
// tokens it drafts, and what each slot's draft costs besides. Companions that stop early
// (where they have no idea) draft a share of what they are asked for; steps then have
// fewer rows, another number each time, or are filled up, whatever is cheaper.
//
// Where a wrong draft cannot be truncated, the slot's state before it is brought back, and
// its rows up to there wait for the next step. That step pays for it, and others with it:
// slots with unequally many rows do not share a batch. So it is counted here, with the
// draft that may be wrong.
//
// Before anything is known a step costs 1, each row beyond the first a tenth of that, and
// drafts nothing. A clock that stands still measures nothing, and leaves it at that.
//
// Invariants, verified by check():
//   COSTS-1  both kinds of times are sound (TIMES-1 to TIMES-3 of times_by_size.h)
//   COSTS-2  what drafts and going back cost besides is finite and not below nothing; so are the
//            counts
//
// Pure: no I/O, no clock.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "plan/times_by_size.h"
#include "state/tokens.h"

namespace holdfast::plan {

// A step of the slots that share a batch: their rows without drafts, what they ask for
// in drafts, and the longest of these.
struct StepShape {
  TokenPos waiting = 0;
  TokenPos asked = 0;
  TokenPos longest = 0;
  int drafting = 0;  // slots that ask for a draft
  // Where what is wrong cannot be truncated: the rows of each batch, as nothing is filled up; the
  // slots expected to go back to before the step, and their rows that are computed again.
  std::vector<TokenPos> batches;
  double undone = 0.0;
  double again = 0.0;
};

class DraftCosts {
 public:
  DraftCosts();

  // A step of the primary with this many token rows, of all slots together.
  void note_step(TokenPos rows, double ms);
  // The engine did something else than such a step.
  void note_other_work() { steps_.interrupt(); }

  // A call of the companion for `slots` slots.
  struct Call {
    int slots = 0;
    int stopped = 0;       // of these got less than they asked for
    TokenPos drafted = 0;  // tokens, for all of them
    TokenPos longest = 0;  // of the drafts that came
  };
  void note_call(const Call& call, double ms);
  // What a slot's draft costs besides: a snapshot taken first, say.
  void note_fixed(double ms);
  // What bringing a slot's state back took.
  void note_brought_back(double ms);

  // Of a step of this shape, where the steps before it had it too.
  [[nodiscard]] double ms(const StepShape& shape) const;
  // The same where what is only guessed of the step turns out well.
  [[nodiscard]] double ms_at_best(const StepShape& shape) const;
  // The part of it that going back to before the step costs.
  [[nodiscard]] double undoing(const StepShape& shape) const;
  // What beginning to draft, or ending it, or another length costs, once.
  [[nodiscard]] double change_ms() const;
  [[nodiscard]] bool changes_cost() const { return steps_.changes_cost(); }
  [[nodiscard]] const TimesBySize& steps() const { return steps_; }

  // Slots have these numbers of rows, and each might have as many as `asked_each`. The
  // number that all should be filled up to; 0: leave them as they are.
  [[nodiscard]] TokenPos fill_up_to(std::span<const TokenPos> rows, TokenPos asked_each) const;

  [[nodiscard]] std::vector<std::string> check() const;

 private:
  [[nodiscard]] double share(TokenPos longest) const;
  [[nodiscard]] double besides(const StepShape& shape) const;
  [[nodiscard]] double apart(const StepShape& shape) const;

  TimesBySize steps_;
  TimesBySize calls_;
  int call_slots_ = 0;
  SteadyTime fixed_;
  SteadyTime brought_back_;
  // Tokens that were drafted lately, and how often a companion had no more of them.
  double drafted_ = 0.0;
  double stops_ = 0.0;
};

}  // namespace holdfast::plan
