#include "cache/prompt_logits.h"

#include <gtest/gtest.h>

#include "engine/testing/fake.h"

namespace holdfast::cache {
namespace {

constexpr SpaceKey kSpace{1, 2};

LogitsPtr logits(float first, std::size_t count = 16) {
  std::vector<float> values(count, 0.0F);
  values[0] = first;
  return copy_of_logits(values);
}

EndKey key(Token token) { return EndKey::of(kSpace, Tokens{1, 2, token}); }

class Ends : public ::testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(ends_.check(), std::vector<std::string>{});
    EXPECT_EQ(memory_.check(), std::vector<std::string>{});
    EXPECT_EQ(memory_.budget.free(), kBudget - ends_.bytes());
  }

  static constexpr ByteCount kBudget = 1000;
  static constexpr ByteCount kOne = 16 * sizeof(float);
  engine::FakeEngine engine_{engine::FakeOptions{}};
  MemoryTier memory_{engine_, {.budget = kBudget}};
  PromptLogits ends_{memory_, 3 * kOne};
};

TEST_F(Ends, WhatWasPutIsFound) {
  ends_.put(key(3), logits(0.5F));
  const LogitsPtr found = ends_.find(key(3));
  ASSERT_NE(found, nullptr);
  ASSERT_EQ(logits_in(*found).size(), 16U);
  EXPECT_EQ(logits_in(*found)[0], 0.5F);
  EXPECT_EQ(ends_.find(key(4)), nullptr);
  EXPECT_EQ(ends_.find(EndKey::of({1, 3}, Tokens{1, 2, 3})), nullptr) << "another space";
}

TEST_F(Ends, TheOneThatWasNotAskedForGoesFirst) {
  for (Token token = 0; token < 3; ++token) ends_.put(key(token), logits(1.0F));
  EXPECT_NE(ends_.find(key(0)), nullptr);
  ends_.put(key(3), logits(1.0F));
  EXPECT_FALSE(ends_.holds(key(1)));
  EXPECT_TRUE(ends_.holds(key(0)) && ends_.holds(key(2)) && ends_.holds(key(3)));
}

TEST_F(Ends, ALaterOneTakesTheRoomOfItsLike) {
  ends_.put(key(0), logits(1.0F));
  ends_.put(key(0), logits(2.0F));
  EXPECT_EQ(ends_.bytes(), kOne);
  EXPECT_EQ(logits_in(*ends_.find(key(0)))[0], 2.0F);
  ends_.put(key(1), logits(1.0F, 1000));
  EXPECT_FALSE(ends_.holds(key(1))) << "more than the limit";
}

TEST_F(Ends, NothingElseMakesWay) {
  const RoomHold others(memory_.budget, kBudget - kOne);
  ends_.put(key(0), logits(1.0F));
  ends_.put(key(1), logits(1.0F));
  EXPECT_TRUE(ends_.holds(key(1)) && !ends_.holds(key(0)));
  ends_.clear();
  const RoomHold the_rest(memory_.budget, kOne);
  ends_.put(key(2), logits(1.0F));
  EXPECT_EQ(ends_.bytes(), 0U);
}

TEST_F(Ends, WhatIsDamagedIsDropped) {
  auto damaged = std::make_shared<CheckedBytes>(*logits(1.0F));
  ends_.put(key(0), damaged);
  damaged->bytes[5] ^= std::byte{1};
  EXPECT_EQ(ends_.find(key(0)), nullptr);
  EXPECT_FALSE(ends_.holds(key(0)));
}

}  // namespace
}  // namespace holdfast::cache
