// Places on a prompt's grid.
#pragma once

#include <algorithm>
#include <iterator>
#include <span>

#include "state/tokens.h"

namespace holdfast::plan {

// The deepest of the ascending `cuts` that is not beyond `limit`, or 0.
[[nodiscard]] inline TokenPos floor_of(std::span<const TokenPos> cuts, TokenPos limit) {
  const auto above = std::ranges::upper_bound(cuts, limit);
  return above == cuts.begin() ? 0 : *std::prev(above);
}

}  // namespace holdfast::plan
