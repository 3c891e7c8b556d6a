// DraftCosts: what a step of the server costs, learned from those that ran.
//
//   ms |                        . beyond: along the line from first to last
//      |             x--------x
//      |     x-----'              between two visited row counts: a straight line
//      | x
//      +-------------------------- token rows in the batch
//
// Each visited row count keeps a mean of its latest times. Two times alone are not
// believed, and later ones enter as the second shortest of five: steps that waited for
// something move nothing, and all row counts err to the same side. Before anything is
// known a step costs 1, each row beyond the first a tenth of that, and a draft nothing.
//
// A clock that stands still measures nothing: times of 0 are not noted for steps, and
// without steps to compare with drafting is free. What follows from these costs then
// depends on acceptance alone.
//
// Invariants, verified by check():
//   D1  at most kRowsMax row counts are kept, each between 1 and kRowsMax
//   D2  every cost is finite; a step costs more than nothing
//
// Pure: no I/O, no clock.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "state/tokens.h"

namespace holdfast {

// A mean of the latest times that a few odd ones do not move.
class SteadyTime {
 public:
  void note(double ms);
  [[nodiscard]] bool known() const { return count_ >= 3; }
  [[nodiscard]] double ms() const { return known() ? mean_ : 0.0; }

 private:
  std::array<double, 5> latest_{};
  std::uint64_t count_ = 0;
  double mean_ = 0.0;
};

class DraftCosts {
 public:
  static constexpr TokenPos kRowsMax = 256;

  // A step of the primary with this many token rows, of all slots together.
  void note_step(TokenPos rows, double ms);
  // A call of the companion, and how many tokens it proposed, for all slots together.
  // One that proposed none counts too: the tokens that are found bear its cost.
  void note_draft(TokenPos tokens, double ms);
  // What a step with a draft costs besides: a snapshot taken first, say.
  void note_fixed(double ms);

  [[nodiscard]] double ms_for_rows(TokenPos rows) const;
  [[nodiscard]] bool knows_rows(TokenPos rows) const;
  [[nodiscard]] double ms_per_drafted() const;
  [[nodiscard]] double ms_fixed() const;

  // Whether steps of about this many rows ran so long ago, or never, that a
  // comparison with them would be a guess. Ask with the number of slots that decode:
  // if so, nobody should draft in the coming step.
  [[nodiscard]] bool wants_step_of(TokenPos rows) const;

  [[nodiscard]] std::vector<std::string> check() const;

 private:
  struct Visited {
    SteadyTime time;
    std::uint64_t step = 0;  // when it was visited last
  };

  struct Point {
    TokenPos rows = 0;
    double ms = 0.0;
  };
  [[nodiscard]] double beyond(TokenPos rows, Point end) const;

  std::map<TokenPos, Visited> visited_;  // by rows
  std::vector<Point> known_;             // those with a time that is believed, ascending
  std::uint64_t steps_ = 0;
  SteadyTime found_token_;  // of a call that proposed something, for each token
  SteadyTime empty_call_;
  // Both fade with each call, so their quotient is that of the latest calls.
  double found_tokens_ = 0.0;
  double empty_calls_ = 0.0;
  SteadyTime fixed_;
};

}  // namespace holdfast
