// PieceSize: how many tokens are read at a time while somebody may come.
//
// Pure: no clock.
#pragma once

#include <algorithm>

#include "state/tokens.h"

namespace holdfast::serve {

class PieceSize {
 public:
  // Each piece reads all weights of the model, so none is smaller.
  static constexpr TokenPos kLeast = 64;

  // A piece takes about this long; 0: there is no limit.
  explicit PieceSize(double target_ms) : target_ms_(target_ms) {}

  void note(TokenPos tokens, double ms) { ms_per_token_ = ms / tokens; }
  [[nodiscard]] TokenPos of(TokenPos wanted) const {
    if (target_ms_ <= 0.0) return wanted;
    const double fits = ms_per_token_ > 0.0 ? target_ms_ / ms_per_token_ : 0.0;
    const auto whole = static_cast<TokenPos>(std::min<double>(fits, wanted)) / kLeast * kLeast;
    return fits >= wanted ? wanted : std::min(wanted, std::max(whole, kLeast));
  }

 private:
  const double target_ms_;
  double ms_per_token_ = 0.0;  // 0: not known
};

}  // namespace holdfast::serve
