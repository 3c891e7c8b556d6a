#include "engine/row_distance.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

namespace holdfast::engine {

namespace {

bool all_numbers(std::span<const float> row) {
  return std::ranges::all_of(row, [](float value) { return std::isfinite(value); });
}

double mean_of(std::span<const float> row) {
  double sum = 0.0;
  for (const float value : row) sum += value;
  return sum / static_cast<double>(row.size());
}

}  // namespace

double row_distance(std::span<const float> row, std::span<const float> right) {
  constexpr double kNoRow = std::numeric_limits<double>::infinity();
  if (row.size() != right.size() || row.empty()) return kNoRow;
  if (!all_numbers(row) || !all_numbers(right)) return kNoRow;
  const double mean = mean_of(row);
  const double right_mean = mean_of(right);
  double apart = 0.0;
  double size = 0.0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const double value = right[i] - right_mean;
    const double difference = row[i] - mean - value;
    apart += difference * difference;
    size += value * value;
  }
  if (apart == 0.0) return 0.0;
  return size == 0.0 ? kNoRow : std::sqrt(apart / size);
}

std::string distance_text(double distance) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", distance);
  return text;
}

bool same_row(std::span<const float> row, std::span<const float> right) {
  return row.size() == right.size() && all_numbers(row) &&
         std::memcmp(row.data(), right.data(), row.size_bytes()) == 0;
}

}  // namespace holdfast::engine
