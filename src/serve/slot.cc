#include "serve/slot.h"

namespace holdfast {

namespace {

// The deepest of the ascending `cuts` that is not beyond `limit`, or 0.
TokenPos floor_of(const std::vector<TokenPos>& cuts, TokenPos limit) {
  const auto above = std::ranges::upper_bound(cuts, limit);
  return above == cuts.begin() ? 0 : *std::prev(above);
}

}  // namespace

Continuation find_continuation(const Engine& engine, const Slot& slot, TokenSpan prompt,
                               const std::vector<TokenPos>& prompt_cuts, bool deterministic) {
  const TokenPos common = common_prefix(slot.tokens, prompt);
  const TokenPos limit = std::min(common, length_of(prompt) - 1);
  // Within decoded state any position is as good as another.
  if (!deterministic && limit > slot.exact && engine.can_cut(slot.id, limit)) return {limit};
  const TokenPos on_grid = floor_of(prompt_cuts, std::min(limit, slot.exact));
  return {engine.can_cut(slot.id, on_grid) ? on_grid : 0};
}

}  // namespace holdfast
