// SlotId: one of the sequences that an engine holds side by side.
#pragma once

#include <compare>

namespace holdfast {

struct SlotId {
  int value = 0;
  auto operator<=>(const SlotId&) const = default;
};

}  // namespace holdfast
