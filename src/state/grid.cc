#include "state/grid.h"

#include <algorithm>

#include "base/check.h"

namespace holdfast {

Grid::Grid(GridRule rule) : rule_(std::move(rule)) {
  CHECK(rule_.step > 0);
  std::erase_if(rule_.turn_ends, [](const Tokens& sequence) { return sequence.empty(); });
}

bool Grid::turn_ends_at(TokenSpan tokens, TokenPos end) const {
  return std::ranges::any_of(rule_.turn_ends, [&](const Tokens& sequence) {
    const auto n = length_of(sequence);
    return n <= end && std::ranges::equal(sequence, tokens.subspan(end - n, n));
  });
}

std::optional<TokenPos> Grid::next_cut(TokenSpan tokens, TokenPos last_cut) const {
  const TokenPos limit = last_cut + rule_.step;
  for (TokenPos p = last_cut + 1; p <= length_of(tokens); ++p) {
    if (p == limit || turn_ends_at(tokens, p)) return p;
  }
  return std::nullopt;
}

std::vector<TokenPos> Grid::cuts(TokenSpan tokens) const {
  std::vector<TokenPos> all;
  for (auto p = next_cut(tokens, 0); p; p = next_cut(tokens, *p)) all.push_back(*p);
  return all;
}

TokenPos Grid::floor(TokenSpan tokens, TokenPos limit) const {
  TokenPos deepest = 0;
  const auto within = tokens.first(std::min(limit, length_of(tokens)));
  for (auto p = next_cut(within, 0); p; p = next_cut(within, *p)) deepest = *p;
  return deepest;
}

std::vector<std::string> Grid::check(TokenSpan tokens) const {
  std::vector<std::string> violations;
  const auto all = cuts(tokens);
  TokenPos last = 0;
  for (const TokenPos p : all) {
    if (p - last < 1 || p - last > rule_.step) {
      violations.push_back("GRID-2: chunk of " + std::to_string(p - last) + " tokens ends at " +
                           std::to_string(p));
    }
    if (floor(tokens.first(p), p) != p) {
      violations.push_back("GRID-1: cut " + std::to_string(p) + " depends on later tokens");
    }
    last = p;
  }
  return violations;
}

}  // namespace holdfast
