#include "plan/return_ages.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace holdfast::plan {
namespace {

// Conversations of 100 tokens, named by numbers.
class Callers {
 public:
  explicit Callers(tree::Tick pace) : pace_(pace) {}

  void call(int who) {
    const bool known = last_.contains(who);
    now_ = ages.begin(now_ + pace_);
    ages.note(100, known ? 100 : 0, known ? last_[who] : 0);
    last_[who] = now_;
  }

  ReturnAges ages;

 private:
  tree::Tick pace_;
  tree::Tick now_ = 0;
  std::map<int, tree::Tick> last_;
};

TEST(ReturnAges, NothingIsKnownAtFirst) {
  const ReturnAges ages;
  EXPECT_FALSE(ages.loops(0));
  EXPECT_FALSE(ages.loops(1e9));
}

TEST(ReturnAges, CountsRequestsAndNotTime) {
  ReturnAges ages;
  const tree::Tick first = ages.begin(1000);
  EXPECT_EQ(ages.age(first), 0U);
  const tree::Tick second = ages.begin(1000);
  EXPECT_GT(second, first) << "no two have the same tick";
  ages.begin(900'000);
  EXPECT_EQ(ages.age(first), 2U);
  EXPECT_EQ(ages.age(second), 1U);
}

TEST(ReturnAges, ALoopIsSeenWhereMemoryIsTooSmallForIt) {
  for (const int callers : {2, 3, 6, 16, 40, 300}) {
    Callers all(1000);
    for (int i = 0; i < callers + 1; ++i) all.call(i % callers);
    const double needed = 100.0 * callers;
    EXPECT_TRUE(all.ages.loops(needed / 2)) << callers << ", and the first has just come back";
    for (int i = 1; i < 3 * callers; ++i) all.call(i % callers);
    EXPECT_TRUE(all.ages.loops(needed / 2)) << callers;
    EXPECT_FALSE(all.ages.loops(needed * 2)) << callers << ": there is room for all";
    const auto age = static_cast<std::uint64_t>(callers);
    EXPECT_GT(all.ages.density(age - 1), all.ages.density(0)) << "what is due is worth most";
    EXPECT_LT(all.ages.density(2 * age), all.ages.density(0)) << "what did not come will not";
  }
}

TEST(ReturnAges, ThePaceMakesNoDifference) {
  Callers slow(60'000);
  Callers fast(1);
  std::mt19937 random(7);
  for (int i = 0; i < 500; ++i) {
    const int who = static_cast<int>(random() % 20);
    slow.call(who);
    fast.call(who);
  }
  for (std::uint64_t age = 0; age < 100; ++age) {
    EXPECT_DOUBLE_EQ(slow.ages.density(age), fast.ages.density(age)) << age;
  }
}

// Each asks ten times in a row, with another one in between, and is never seen again.
TEST(ReturnAges, WhoeverComesBackSoonOrNeverIsNoLoop) {
  Callers all(1000);
  for (int pair = 0; pair < 40; ++pair) {
    for (int turn = 0; turn < 10; ++turn) {
      all.call(2 * pair);
      all.call(2 * pair + 1);
    }
  }
  for (const double capacity : {300.0, 1000.0, 5000.0}) EXPECT_FALSE(all.ages.loops(capacity));
  EXPECT_GT(all.ages.density(0), all.ages.density(5));
}

TEST(ReturnAges, ALoopThatEndedIsForgotten) {
  Callers all(1000);
  for (int i = 0; i < 60; ++i) all.call(i % 10);
  ASSERT_TRUE(all.ages.loops(500));
  for (int i = 0; i < 4000; ++i) all.call(100 + i / 20);
  EXPECT_FALSE(all.ages.loops(500));
}

}  // namespace
}  // namespace holdfast::plan
