// SpaceKey: whose states may be used for whom.
#pragma once

#include <compare>
#include <cstdint>

namespace holdfast {

// Everything but the tokens that shapes a state: model file, quantisation,
// adapters, context settings, backend, tenant salt. Spaces share nothing.
struct SpaceKey {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  auto operator<=>(const SpaceKey&) const = default;
};

}  // namespace holdfast
