// The length that vectors of texts are brought to before they are compared.
#pragma once

#include <span>

namespace holdfast::engine {

// llama-server's numbers: -1 leaves a vector as it is, 0 makes its largest value 32,760, 1 its sum
// 1 (taxicab), 2 its length 1 (Euclid), and N > 2 its N-norm 1. A vector of zeros stays one.
inline constexpr int kNoNorm = -1;
inline constexpr int kLargestNorm = 0;
inline constexpr int kEuclid = 2;
inline constexpr int kNormMax = 64;

// REQUIRES: kNoNorm <= norm <= kNormMax.
void normalize(std::span<float> vector, int norm);

}  // namespace holdfast::engine
