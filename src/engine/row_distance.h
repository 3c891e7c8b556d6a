// How far two rows of logits are from each other.
//
// What a constant added to all logits does not change is not counted, and neither is the scale of
// the row: 0 is the same row, 1 is as far off as a row of nothing.
#pragma once

#include <span>
#include <string>

namespace holdfast::engine {

// Root mean square of the difference, of centred rows, as a part of that of `right`. Infinite
// where a row holds something that is no number, or the two are not of equal length.
[[nodiscard]] double row_distance(std::span<const float> row, std::span<const float> right);

// A distance for people: "0.013".
[[nodiscard]] std::string distance_text(double distance);

// The same bits, and all of them numbers.
[[nodiscard]] bool same_row(std::span<const float> row, std::span<const float> right);

}  // namespace holdfast::engine
