#include "engine/vector_norm.h"

#include <gtest/gtest.h>

#include <vector>

namespace holdfast::engine {
namespace {

std::vector<float> normalized(std::vector<float> vector, int norm) {
  normalize(vector, norm);
  return vector;
}

TEST(VectorNorm, EachNumberMeansItsNorm) {
  EXPECT_EQ(normalized({3, -4}, kNoNorm), (std::vector<float>{3, -4}));
  EXPECT_EQ(normalized({3, -4}, kLargestNorm), (std::vector<float>{24570, -32760}));
  EXPECT_EQ(normalized({3, -5}, 1), (std::vector<float>{0.375F, -0.625F}));
  EXPECT_EQ(normalized({3, -4}, kEuclid), (std::vector<float>{0.6F, -0.8F}));
  EXPECT_FLOAT_EQ(normalized({1, 1}, 3)[0], 0.793700526F);  // 2 to the power of -1/3
}

TEST(VectorNorm, ZerosStayZeros) {
  for (const int norm : {kNoNorm, kLargestNorm, 1, kEuclid, 3}) {
    EXPECT_EQ(normalized({0, 0}, norm), (std::vector<float>{0, 0})) << norm;
  }
}

}  // namespace
}  // namespace holdfast::engine
