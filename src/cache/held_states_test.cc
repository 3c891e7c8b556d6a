#include "cache/held_states.h"

#include <gtest/gtest.h>

#include "cache/memory_tier.h"
#include "engine/testing/fake.h"
#include "tier/testing/blob_maker.h"

namespace holdfast::cache {
namespace {

constexpr SpaceKey kSpace{1, 2};
constexpr SlotId kSlot{0};

class HeldStatesTest : public ::testing::Test {
 protected:
  void read(TokenPos from, TokenPos to) {
    const auto count = static_cast<std::size_t>(to - from);
    const TokenSpan chunk = TokenSpan(path_).subspan(static_cast<std::size_t>(from), count);
    ASSERT_TRUE(engine_.prefill(kSlot, chunk, engine::LogitsOf::kLastToken).ok());
  }
  [[nodiscard]] TokenSpan front(TokenPos length) const {
    return TokenSpan(path_).first(static_cast<std::size_t>(length));
  }
  bool store(TokenPos length) {
    return memory_.store({.slot = kSlot, .space = kSpace, .tokens = front(length), .now = ++now_})
        .stored;
  }

  engine::FakeEngine engine_{engine::FakeOptions{.kind = engine::FakeKind::kHybrid}};
  MemoryTier memory_{engine_, {.budget = 1 << 20}};
  Tokens path_ = tier::counting(200);
  tree::Tick now_ = 0;
};

TEST_F(HeldStatesTest, HELD1AllPartsOfAStateOrNothing) {
  read(0, 64);
  ASSERT_TRUE(store(64));
  read(64, 100);
  const auto there = memory_.held.parts_of(kSpace, front(64));
  ASSERT_TRUE(there.has_value());
  EXPECT_EQ(there->snapshot->position(), 64);
  EXPECT_EQ(there->rows.back().range.end, 64);
  EXPECT_FALSE(memory_.held.parts_of(kSpace, front(60)).has_value()) << "no snapshot there";
  EXPECT_FALSE(memory_.held.parts_of(kSpace, front(100)).has_value()) << "rows are missing";
  EXPECT_FALSE(memory_.held.parts_of({9, 9}, front(64)).has_value()) << "another space";
}

TEST_F(HeldStatesTest, HELD2WhatMemoryHasIsSharedAndTheRestCopied) {
  read(0, 64);
  ASSERT_TRUE(store(64));
  const auto before = memory_.held.parts_of(kSpace, front(64));
  read(64, 100);
  const auto all = memory_.held.collect(kSlot, kSpace, front(100));
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(all->rows.front().block, before->rows.front().block) << "the same object";
  EXPECT_EQ(all->rows.back().range.end, 100);
  EXPECT_EQ(all->snapshot->position(), 100);
  EXPECT_FALSE(memory_.held.parts_of(kSpace, front(100)).has_value()) << "memory is as it was";
}

TEST_F(HeldStatesTest, TheBudgetIsCheckedWithWhatIsPromised) {
  EXPECT_EQ(memory_.check(), std::vector<std::string>{});
  const RoomHold hold(memory_.budget, memory_.budget.total() + 1);
  EXPECT_EQ(memory_.check(),
            std::vector<std::string>{"BUDGET-1: more is held than the budget allows"});
}

}  // namespace
}  // namespace holdfast::cache
