// Grid says where a prefill is cut into chunks.
//
//   tokens   S S S E u u u E a a a a a a a a a a E h h
//   cuts            ^       ^       ^       ^     ^     (step 4, E = end of turn)
//
// A cut falls after each end-of-turn sequence, and `step` tokens after the
// last cut where no turn has ended. Prefill numerics depend on how tokens are
// chunked, so two runs agree bit for bit only if they cut at the same places.
//
// Invariants; check() verifies GRID-1 and GRID-2, GRID-3 holds by construction:
//   GRID-1  causal: whether p is a cut depends on tokens [0, p) alone
//   GRID-2  chunks are never empty and never longer than `step`
//   GRID-3  what happens to be cached plays no part (there is no such input)
//
// Value type; no state of its own beyond the rule.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "state/tokens.h"

namespace holdfast {

struct GridRule {
  // A multiple of 64 (the engine's attention tile), at most its largest chunk.
  TokenPos step = 512;
  // Each sequence ends a turn: <|im_end|>\n in ChatML. May be empty.
  std::vector<Tokens> turn_ends;
};

class Grid {
 public:
  explicit Grid(GridRule rule);

  // The first cut after `last_cut`, or nullopt when the tokens end before it.
  // REQUIRES: last_cut is a cut of `tokens`, or 0.
  [[nodiscard]] std::optional<TokenPos> next_cut(TokenSpan tokens, TokenPos last_cut) const;

  // Every cut of `tokens`, ascending. The end of `tokens` is listed only if it is a cut.
  [[nodiscard]] std::vector<TokenPos> cuts(TokenSpan tokens) const;

  // The deepest cut that is not beyond `limit` (0 when there is none).
  [[nodiscard]] TokenPos floor(TokenSpan tokens, TokenPos limit) const;

  [[nodiscard]] const GridRule& rule() const { return rule_; }

  // Violations of GRID-1 and GRID-2 on these tokens; empty when they hold.
  [[nodiscard]] std::vector<std::string> check(TokenSpan tokens) const;

 private:
  [[nodiscard]] bool turn_ends_at(TokenSpan tokens, TokenPos end) const;

  GridRule rule_;
};

}  // namespace holdfast
