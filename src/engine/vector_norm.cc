#include "engine/vector_norm.h"

#include <algorithm>
#include <cmath>

namespace holdfast::engine {
namespace {

constexpr double kLargestValue = 32760.0;

double length_of(std::span<const float> vector, int norm) {
  double sum = 0.0;
  if (norm == kLargestNorm) {
    for (const float x : vector) sum = std::max(sum, std::abs(static_cast<double>(x)));
    return sum / kLargestValue;
  }
  for (const float x : vector) sum += std::pow(std::abs(static_cast<double>(x)), norm);
  return std::pow(sum, 1.0 / norm);
}

}  // namespace

void normalize(std::span<float> vector, int norm) {
  if (norm <= kNoNorm) return;
  const double length = length_of(vector, norm);
  const double factor = length > 0.0 ? 1.0 / length : 0.0;
  for (float& x : vector) x = static_cast<float>(x * factor);
}

}  // namespace holdfast::engine
