// AcceptanceByPosition: how often the first, second, third ... token of a draft is
// there and right, given that those before it were.
//
// Evidence fades as new evidence comes, so a position remembers its last kMemory
// tries or so. Where there is little, a guess takes its place: what a server has seen
// with earlier requests, and the position before (drafts get no better with length).
//
// Invariants, verified by check():
//   ACCEPT-1  0 <= right <= tries <= kMemory at every position
//   ACCEPT-2  every chance lies between 0 and 1
//
// Pure: no I/O, no clock.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "state/tokens.h"

namespace holdfast::plan {

class AcceptanceByPosition {
 public:
  static constexpr TokenPos kPositions = 32;  // longer drafts are not asked for
  static constexpr double kMemory = 32.0;
  static constexpr double kUntried = 1.0 / 128;  // to forget with each step without a draft

  // Of `drafted` tokens the first `accepted` were right.
  // REQUIRES: 0 <= accepted <= drafted.
  void note(TokenPos drafted, TokenPos accepted);
  // The draft ended before this position, though more was asked for, and all of it was
  // right: a try that gave nothing.
  void note_missing(TokenPos position);
  // Lets this share of the evidence go: time has passed without any.
  void forget(double share);
  // Takes a request's evidence over when it ends.
  void fold(const AcceptanceByPosition& ended);

  // Of each of the first `count` positions, with `prior` where evidence is thin.
  [[nodiscard]] std::vector<double> chances(TokenPos count,
                                            const AcceptanceByPosition* prior = nullptr) const;

  [[nodiscard]] std::vector<std::string> check() const;

 private:
  struct Evidence {
    double tries = 0.0;
    double right = 0.0;
    void add(double more_tries, double more_right);
  };
  std::array<Evidence, kPositions> positions_{};
};

// Tokens that one step is expected to yield with a draft of 0, 1, 2 ... tokens.
[[nodiscard]] std::vector<double> expected_tokens(const std::vector<double>& chances);

}  // namespace holdfast::plan
