#include "api/http_body_budget.h"

#include <gtest/gtest.h>

#include <optional>

namespace holdfast::api {
namespace {

constexpr std::uint64_t kMib = 1024 * 1024;

TEST(BodyBudget, BODIES1HoldsAddUpAndAreGivenBack) {
  const auto budget = std::make_shared<BodyBudget>(8 * kMib);
  {
    BodyHold first(budget);
    EXPECT_TRUE(first.grow_to(1000));
    EXPECT_TRUE(first.grow_to(3 * kMib));
    BodyHold second(std::move(first));
    BodyHold third(budget);
    EXPECT_TRUE(third.grow_to(500));
    EXPECT_EQ(budget->held(), 3 * kMib + 500);
    EXPECT_FALSE(second.grow_to(7 * kMib));
    EXPECT_EQ(budget->held(), 3 * kMib + 500) << "a refusal takes nothing";
  }
  EXPECT_EQ(budget->held(), 0U);
}

TEST(BodyBudget, BODIES2TheLastQuarterIsForSmallBodies) {
  const auto budget = std::make_shared<BodyBudget>(8 * kMib);
  BodyHold large(budget);
  EXPECT_FALSE(large.could_grow_to(7 * kMib));
  EXPECT_TRUE(large.grow_to(6 * kMib));
  BodyHold other(budget);
  EXPECT_FALSE(other.grow_to(kSmallBody + 1));
  EXPECT_TRUE(other.grow_to(kSmallBody));
  BodyHold more(budget);
  EXPECT_TRUE(more.grow_to(kSmallBody));
  BodyHold last(budget);
  EXPECT_FALSE(last.grow_to(1)) << "and that has an end too";
  EXPECT_TRUE(last.grow_to(0));
}

}  // namespace
}  // namespace holdfast::api
