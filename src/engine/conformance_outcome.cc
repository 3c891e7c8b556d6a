#include "engine/conformance_outcome.h"

#include <algorithm>
#include <cmath>

#include "engine/row_distance.h"

namespace holdfast::engine {

void Outcome::compare(const Row& row, const Row& right, const std::string& what) {
  const double apart = row_distance(row, right);
  distance = std::max(distance, apart);
  const bool good = bits ? same_row(row, right) : apart <= allowed;
  if ((good && std::isfinite(apart)) || !finding.empty()) return;
  if (std::isinf(apart)) {
    finding = what + " has a value that is no number";
  } else if (bits) {
    finding = what + " differs from the plain way by " + distance_text(apart) +
              " of its size, and should have the same bits";
  } else {
    finding = what + " is " + distance_text(apart) + " of its size away from the plain way; " +
              distance_text(allowed) + " would be rounding";
  }
}

}  // namespace holdfast::engine
