// How far two rows of logits are from each other.
//
// A constant added to all logits of a row changes nothing, and neither does the scale of the rows:
// 0 is the same row, 1 is as far away as a row of zeros.
#pragma once

#include <span>
#include <string>

namespace holdfast::engine {

// Both rows are centred first. The root mean square of their difference, divided by that of
// `right`. Infinite if a row holds a value that is not a number, or if the rows differ in length.
[[nodiscard]] double row_distance(std::span<const float> row, std::span<const float> right);

// A distance for people: "0.013".
[[nodiscard]] std::string distance_text(double distance);

// The same bits, and all of them numbers.
[[nodiscard]] bool same_row(std::span<const float> row, std::span<const float> right);

}  // namespace holdfast::engine
