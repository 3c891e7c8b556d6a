#include "cache/evicted_bytes.h"

#include <gtest/gtest.h>

namespace holdfast::cache {
namespace {

TEST(EvictedBytes, CountsWhatLeftFromThenOn) {
  EvictedBytes gone(0);
  EXPECT_EQ(gone.from(0), 0U);
  gone.note(10, 100);
  gone.note(20, 30);
  gone.note(20, 3);
  gone.note(30, 5);
  EXPECT_EQ(gone.from(5), 138U);
  EXPECT_EQ(gone.from(10), 138U);
  EXPECT_EQ(gone.from(15), 38U);
  EXPECT_EQ(gone.from(20), 38U);
  EXPECT_EQ(gone.from(30), 5U);
  EXPECT_EQ(gone.from(31), 0U);
  EXPECT_TRUE(gone.check().empty());
}

TEST(EvictedBytes, IsTooLargeByLessThanAMoment) {
  constexpr ByteCount kStep = 100;
  EvictedBytes gone(256 * (kStep - 1));
  constexpr tree::Tick kLast = 3000;
  for (tree::Tick when = 1; when <= kLast; ++when) {
    gone.note(when, 7);
    ASSERT_TRUE(gone.check().empty()) << when;
  }
  for (tree::Tick when = 1; when <= kLast; ++when) {
    const ByteCount truth = 7 * (kLast - when + 1);
    EXPECT_GE(gone.from(when), truth);
    EXPECT_LT(gone.from(when), truth + kStep + 7) << when;
  }
}

TEST(EvictedBytes, ForgetsWhatIsLongAgo) {
  EvictedBytes gone(0);
  constexpr tree::Tick kLast = 3 * EvictedBytes::kMomentsMax;
  for (tree::Tick when = 1; when <= kLast; ++when) gone.note(when, 2);
  EXPECT_TRUE(gone.check().empty());
  EXPECT_EQ(gone.from(kLast), 2U);
  EXPECT_EQ(gone.from(kLast - 99), 200U);
  EXPECT_EQ(gone.from(1), 2 * EvictedBytes::kMomentsMax) << "at least so much";
}

}  // namespace
}  // namespace holdfast::cache
