#include "plan/draft_costs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "plan/acceptance.h"
#include "plan/times_by_size.h"

namespace holdfast::plan {
namespace {

constexpr double kTenth = 0.1;

void run(TimesBySize& times, TokenPos size, double ms, int count = SizeRun::kWhole) {
  for (int i = 0; i < count; ++i) times.note(size, ms);
}

// --- times -------------------------------------------------------------------------

TEST(TimesBySize, BeforeAnythingRanOneMoreCostsItsShare) {
  const TimesBySize times(kTenth);
  EXPECT_DOUBLE_EQ(times.ms(1), 1.0);
  EXPECT_DOUBLE_EQ(times.ms(6), 1.5);
  EXPECT_EQ(times.change_ms(), 0.0);
  EXPECT_FALSE(times.changes_cost());
  EXPECT_FALSE(times.timeless()) << "perhaps";
}

TEST(TimesBySize, LinesBetweenAndBeyondWhatIsKnown) {
  TimesBySize times(kTenth);
  run(times, 5, 14.0);
  EXPECT_DOUBLE_EQ(times.ms(1), 10.0);  // a tenth of a step for each row
  EXPECT_DOUBLE_EQ(times.ms(9), 18.0);
  run(times, 9, 20.0);
  EXPECT_DOUBLE_EQ(times.ms(7), 17.0);
  EXPECT_DOUBLE_EQ(times.ms(6.5), 16.25);
  EXPECT_DOUBLE_EQ(times.ms(3), 11.0);
  EXPECT_DOUBLE_EQ(times.ms(13), 26.0);
  run(times, 17, 12.0);  // cheaper than the first: beyond it rows are free, not a gift
  EXPECT_DOUBLE_EQ(times.ms(64), 12.0);
  EXPECT_TRUE(times.check().empty());
}

TEST(TimesBySize, AtBestAGuessIsNearToTheNextSmallerSize) {
  TimesBySize times(kTenth);
  run(times, 1, 10.0);
  run(times, 9, 18.0);
  EXPECT_DOUBLE_EQ(times.ms_at_best(5), 12.0);
  EXPECT_DOUBLE_EQ(times.ms_at_best(9), 18.0) << "that is known";
}

TEST(TimesBySize, ASmallerSizeCostsAtLeastItsShare) {
  TimesBySize times(kTenth);
  run(times, 4, 10.0);
  run(times, 5, 100.0);
  EXPECT_DOUBLE_EQ(times.ms(1), 2.5);
}

// A GPU: each change costs 3 ms and then another 1.5.
void run_slowly_at_first(TimesBySize& times, TokenPos size, double ms, int count) {
  for (int i = 0; i < count; ++i) times.note(size, ms + (i == 0 ? 3.0 : i == 1 ? 1.5 : 0.0));
}

TEST(TimesBySize, WhatAChangeCostsIsNotWhatASizeTakes) {
  TimesBySize times(kTenth);
  for (int i = 0; i < 3; ++i) {
    run_slowly_at_first(times, 1, 2.0, 10);
    run_slowly_at_first(times, 4, 2.1, SizeRun::kWhole);
  }
  EXPECT_DOUBLE_EQ(times.ms(1), 2.0);
  EXPECT_DOUBLE_EQ(times.ms(4), 2.1);
  EXPECT_NEAR(times.change_ms(), 4.5, 1e-9);
  EXPECT_TRUE(times.changes_cost());
}

TEST(TimesBySize, ASizeThatNeverLastsIsGuessedLessTheChange) {
  TimesBySize times(kTenth);
  for (int i = 0; i < 4; ++i) {
    run_slowly_at_first(times, 1, 2.0, 10);
    run_slowly_at_first(times, 4, 2.5, 1);
  }
  EXPECT_NEAR(times.ms(4), 2.5, 1e-9);
  EXPECT_TRUE(times.check().empty());
}

TEST(TimesBySize, WhatRanInBetweenIsAChangeToo) {
  TimesBySize times(kTenth);
  run(times, 1, 2.0);
  for (int i = 0; i < 3; ++i) {
    times.interrupt();
    run_slowly_at_first(times, 1, 2.0, SizeRun::kWhole);
  }
  EXPECT_DOUBLE_EQ(times.ms(1), 2.0);
  EXPECT_NEAR(times.change_ms(), 4.5, 1e-9);
}

TEST(TimesBySize, WhereChangesCostNothingEveryTimeCounts) {
  TimesBySize times(kTenth);
  for (int i = 0; i < 4; ++i) {
    run(times, 1, 10.0);
    run(times, 2, 15.0);
  }
  EXPECT_FALSE(times.changes_cost());
  for (int i = 0; i < 40; ++i) {
    times.note(1, 10.0);
    times.note(2, 12.0);
  }
  EXPECT_NEAR(times.ms(2), 12.0, 0.5);
}

TEST(TimesBySize, WorkThatWaitedMovesNothing) {
  TimesBySize times(kTenth);
  run(times, 1, 500.0, 3);  // the first ones warm up
  EXPECT_DOUBLE_EQ(times.ms(1), 1.0);
  run(times, 1, 10.0, 2);
  EXPECT_DOUBLE_EQ(times.ms(1), 10.0);
  run(times, 1, 10.0, 20);
  times.note(1, 4000.0);
  times.note(1, 10.0);
  EXPECT_DOUBLE_EQ(times.ms(1), 10.0);
  run(times, 1, 30.0, 40);  // that is how it is from now on
  EXPECT_NEAR(times.ms(1), 30.0, 0.5);
}

TEST(TimesBySize, OneOddChangeDoesNotForbidAllOthers) {
  TimesBySize times(kTenth);
  run(times, 1, 10.0);
  times.note(2, 9000.0);
  run(times, 2, 10.0);
  EXPECT_LE(times.change_ms(), 80.0);
}

TEST(TimesBySize, WhatIsNoMeasurementIsNotNoted) {
  TimesBySize times(kTenth);
  run(times, 0, 5.0);
  run(times, TimesBySize::kSizeMost + 1, 5.0);
  run(times, 1, std::nan(""));
  EXPECT_FALSE(times.timeless());
  run(times, 1, 0.0);
  EXPECT_TRUE(times.timeless());
  EXPECT_TRUE(times.usual().empty());
  EXPECT_DOUBLE_EQ(times.ms(1), 1.0);
}

TEST(TimesBySize, SizesOfLongAgoWereNotSeenLately) {
  TimesBySize times(kTenth);
  run(times, 1, 10.0);
  EXPECT_TRUE(times.seen_lately(1, 64));
  EXPECT_FALSE(times.seen_lately(2, 64)) << "never seen";
  run(times, 9, 12.0, 64);
  EXPECT_FALSE(times.seen_lately(1, 64));
  EXPECT_TRUE(times.seen_lately(8, 64)) << "about as many as nine";
}

// --- costs -------------------------------------------------------------------------

void know_steps(DraftCosts& costs, TokenPos rows, double ms) {
  for (int i = 0; i < SizeRun::kWhole; ++i) costs.note_step(rows, ms);
}

constexpr StepShape kThree{.waiting = 1, .asked = 3, .longest = 3, .drafting = 1};

TEST(DraftCosts, AStepItsCallAndWhatComesBesides) {
  DraftCosts costs;
  EXPECT_DOUBLE_EQ(costs.ms(kThree), 1.3);
  for (int i = 0; i < SizeRun::kWhole; ++i) {
    costs.note_call({.slots = 1, .drafted = 3, .longest = 3}, 1.5);
    costs.note_fixed(7.0);
  }
  EXPECT_DOUBLE_EQ(costs.ms(kThree), 1.3) << "of a step that has no time";
  know_steps(costs, 1, 10.0);
  know_steps(costs, 4, 13.0);
  EXPECT_DOUBLE_EQ(costs.ms({.waiting = 1}), 10.0);
  EXPECT_DOUBLE_EQ(costs.ms(kThree), 13.0 + 1.5 + 7.0);
  EXPECT_TRUE(costs.check().empty());
}

TEST(DraftCosts, CompanionsThatStopEarlyMakeShortSteps) {
  DraftCosts costs;
  know_steps(costs, 1, 10.0);
  know_steps(costs, 9, 90.0);
  know_steps(costs, 1, 10.0);
  for (int i = 0; i < 400; ++i) costs.note_call({.slots = 1, .stopped = 1}, 0.001);
  EXPECT_LT(costs.ms({.waiting = 1, .asked = 8, .longest = 8, .drafting = 1}), 12.0);
  for (int i = 0; i < 400; ++i) costs.note_call({.slots = 1, .drafted = 8, .longest = 8}, 0.001);
  EXPECT_GT(costs.ms({.waiting = 1, .asked = 8, .longest = 8, .drafting = 1}), 85.0);
}

TEST(DraftCosts, DraftsAreFilledUpWhereThatIsCheaper) {
  DraftCosts costs;
  const std::vector<TokenPos> rows{2, 3, 4};
  EXPECT_EQ(costs.fill_up_to(rows, 5), 4) << "one batch instead of three";
  EXPECT_EQ(costs.fill_up_to(std::vector<TokenPos>{2, 2}, 5), 0);
  DraftCosts processor;
  know_steps(processor, 1, 10.0);
  know_steps(processor, 12, 120.0);
  know_steps(processor, 1, 10.0);
  EXPECT_EQ(processor.fill_up_to(rows, 5), 0) << "every row costs as much as a step";
}

TEST(DraftCosts, WhereChangesAreDearEveryStepIsAsLongAsAskedFor) {
  DraftCosts costs;
  for (int i = 0; i < 4; ++i) {
    costs.note_step(1, 5.0);
    know_steps(costs, 1, 2.0);
    costs.note_step(5, 5.1);
    know_steps(costs, 5, 2.1);
  }
  EXPECT_EQ(costs.fill_up_to(std::vector<TokenPos>{2}, 5), 5);
  EXPECT_EQ(costs.fill_up_to(std::vector<TokenPos>{1}, 5), 5);
}

// --- acceptance ------------------------------------------------------------------

TEST(Acceptance, EachPositionCountsOnlyWhenThoseBeforeItWereRight) {
  AcceptanceByPosition seen;
  for (int i = 0; i < 500; ++i) seen.note(3, i % 2 == 0 ? 1 : 2);
  const auto chances = seen.chances(3);
  EXPECT_GT(chances[0], 0.9);
  EXPECT_NEAR(chances[1], 0.5, 0.1);
  EXPECT_LT(chances[2], 0.15);
  EXPECT_TRUE(seen.check().empty());
}

TEST(Acceptance, ANewRequestBeginsWithWhatEndedOnesSaw) {
  AcceptanceByPosition prior;
  AcceptanceByPosition ended;
  for (int i = 0; i < 100; ++i) ended.note(4, 0);
  for (int i = 0; i < 4; ++i) prior.fold(ended);
  EXPECT_LT(AcceptanceByPosition().chances(1, &prior)[0], 0.1);
  EXPECT_TRUE(prior.check().empty());
  for (int i = 0; i < 100; ++i) ended.note(4, 4);
  prior.fold(ended);
  EXPECT_GT(AcceptanceByPosition().chances(1, &prior)[0], 0.4);
}

TEST(Acceptance, ADraftThatEndsEarlyIsATryThatGaveNothing) {
  AcceptanceByPosition seen;
  for (int i = 0; i < 100; ++i) {
    seen.note(1, 1);
    seen.note_missing(1);
  }
  const auto chances = seen.chances(2);
  EXPECT_GT(chances[0], 0.9);
  EXPECT_LT(chances[1], 0.1);
  seen.note_missing(AcceptanceByPosition::kPositions);
  EXPECT_TRUE(seen.check().empty());
}

TEST(Acceptance, ExpectedTokensAddUpTheChanceThatAllWereRight) {
  EXPECT_EQ(expected_tokens({0.5, 0.5}), (std::vector{1.0, 1.5, 1.75}));
  EXPECT_EQ(expected_tokens({}), (std::vector{1.0}));
}

}  // namespace
}  // namespace holdfast::plan
