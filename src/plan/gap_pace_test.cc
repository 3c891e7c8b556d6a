#include "plan/gap_pace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace holdfast::plan {
namespace {

constexpr TokenPos kEndless = 1 << 30;

// A machine on which some write for ever and others read for ever, in chunks up to the next cut.
struct Machine {
  double chunk_ms = 2.0;   // for each chunk,
  double token_ms = 0.12;  // and for each of its tokens
  double step_ms = 10.0;
  double copy_ms = 0.0;      // after every `copy_every` tokens
  ByteCount copy_bytes = 0;  // of such a copy
  TokenPos copy_every = kEndless;
  TokenPos chunk = 512;
  GapPace::Chunks chunks = GapPace::Chunks::kMayBeSplit;
  double noise = 0.0;
  int writers = 1;
  int readers = 0;

  std::vector<double> gaps = {};  // of work
  std::vector<TokenPos> sizes = {};
  double work_ms = 0.0;
  double all_ms = 0.0;
  TokenPos read = 0;
  std::mt19937 random{7};

  double about(double ms) {
    return ms * std::uniform_real_distribution<>(1.0 - noise, 1.0 + noise)(random);
  }

  // Steps, with whatever the pace lets happen before each.
  void run(GapPace& pace, int steps) {
    bool copy_due = false;
    for (int i = 0; i < steps; ++i) {
      double gap = 0.0;
      const auto copy = [&] {
        const double ms = about(copy_ms);
        pace.note_copied(copy_bytes, ms);
        gap += ms;
        copy_due = false;
      };
      if (copy_due && !pace.resting()) copy();
      double unmeasured = 0.0;
      while (!copy_due) {
        const TokenPos wanted = chunk - read % chunk;
        const TokenPos tokens = pace.tokens_to_read(wanted, chunks);
        if (tokens == 0) break;
        EXPECT_LE(tokens, wanted);
        pace.begin_read(tokens);
        const double ms = about(chunk_ms + token_ms * tokens);
        gap += ms;
        unmeasured += ms;
        read += tokens;
        sizes.push_back(tokens);
        if (read % copy_every != 0) continue;
        pace.note_read(unmeasured);
        unmeasured = 0.0;
        copy_due = true;
        if (pace.may_copy(copy_bytes)) copy();
      }
      pace.note_read(unmeasured);
      const double step = about(step_ms);
      pace.note_step(step, writers, readers);
      ASSERT_EQ(pace.check(), std::vector<std::string>{});
      gaps.push_back(gap);
      work_ms += gap;
      all_ms += gap + step;
    }
  }

  [[nodiscard]] double longest() const { return *std::ranges::max_element(gaps); }
  [[nodiscard]] double noticed_share() const {
    const auto noticed = std::ranges::count_if(gaps, [&](double ms) { return ms > step_ms; });
    return static_cast<double>(noticed) / static_cast<double>(gaps.size());
  }
  [[nodiscard]] double reading_share() const { return work_ms / all_ms; }
};

TEST(PieceTimes, TellsThePriceOfAPieceFromThatOfItsSize) {
  PieceTimes times;
  EXPECT_FALSE(times.known());
  times.note(1, 512, 2 + 51.2);
  EXPECT_NEAR(times.ms(1, 256), (2 + 51.2) / 2, 1e-9) << "one size alone does not tell";
  times.note(1, 64, 2 + 6.4);
  times.note(3, 1100, 6 + 110);
  EXPECT_NEAR(times.ms(1, 256), 2 + 25.6, 1e-6);
  EXPECT_NEAR(times.ms(4, 2048), 8 + 204.8, 1e-6);
}

TEST(PieceTimes, FollowsAMachineThatBecomesSlowAndIgnoresOneOddTime) {
  PieceTimes times;
  for (int i = 0; i < 5; ++i) times.note(1, 512, 50);
  times.note(1, 512, 5000);
  EXPECT_LT(times.ms(1, 512), 400);
  for (int i = 0; i < 8; ++i) times.note(1, 512, 200);
  EXPECT_NEAR(times.ms(1, 512), 200, 20);
  times.note(1, 512, 0.0);
  times.note(1, 0, 3.0);
  EXPECT_NEAR(times.ms(1, 512), 200, 20) << "times of nothing are not noted";
}

TEST(GapPace, AGapTakesAsMuchAsTheTargetHolds) {
  GapPace pace({});
  Machine machine;  // four chunks of 63.44 ms are more than 250 ms
  machine.run(pace, 2000);
  EXPECT_LE(machine.longest(), 250.0);
  EXPECT_NEAR(machine.longest(), 3 * 63.44, 1e-6);
}

TEST(GapPace, AGapReadsNoMoreThanABatch) {
  GapPace pace({});
  Machine machine{.token_ms = 0.01};
  machine.run(pace, 200);
  EXPECT_NEAR(machine.longest(), 4 * (2 + 5.12), 1e-6) << "2048 tokens";
}

TEST(GapPace, FewGapsAreNoticedWhereStepsAreShort) {
  for (const double noise : {0.0, 0.1}) {
    GapPace pace({});
    Machine machine{.step_ms = 5.0, .noise = noise};
    machine.run(pace, 5000);
    EXPECT_LE(machine.noticed_share(), 1.0 / 24 + 0.001);
    EXPECT_GT(machine.reading_share(), 0.5);
    EXPECT_LE(machine.longest(), 250.0 * (1 + 2 * noise));
  }
}

TEST(GapPace, AReaderHasHalfOfTheTimeWhereStepsAreLong) {
  for (const double step_ms : {15.0, 60.0, 130.0, 200.0}) {
    GapPace pace({});
    Machine machine{.step_ms = step_ms};
    machine.run(pace, 3000);
    EXPECT_GT(machine.reading_share(), 0.45) << step_ms;
    EXPECT_LE(machine.longest(), std::max(250.0, step_ms)) << step_ms;
  }
}

TEST(GapPace, TheMoreReadTheShorterIsTheRest) {
  const auto share = [](int writers, int readers) {
    GapPace pace({});
    Machine machine{.writers = writers, .readers = readers};
    machine.run(pace, 3000);
    return machine.reading_share();
  };
  EXPECT_NEAR(share(100, 0), 0.5, 0.05);
  EXPECT_NEAR(share(3, 1), 0.6, 0.05);
  EXPECT_NEAR(share(1, 1), 0.95, 0.05) << "one step after each gap";
  EXPECT_NEAR(share(1, 3), 0.95, 0.05);
}

TEST(GapPace, ChunksOfASlowMachineAreCutIntoPiecesAndNoneIsTiny) {
  GapPace pace({});
  Machine machine{.chunk_ms = 50, .token_ms = 1.5, .step_ms = 60, .chunk = 256};
  machine.run(pace, 500);
  machine.gaps.erase(machine.gaps.begin());  // the first chunk's time was not known
  EXPECT_LE(machine.longest(), 250.0);
  EXPECT_GE(*std::ranges::min_element(machine.sizes), 64);

  GapPace slower({});
  Machine snail{.chunk_ms = 50, .token_ms = 6, .step_ms = 200, .chunk = 256};
  snail.run(slower, 500);
  snail.gaps.erase(snail.gaps.begin());
  EXPECT_NEAR(snail.longest(), 50 + 64 * 6, 1e-6) << "one chunk of 64 tokens";
}

TEST(GapPace, ChunksOfTheGridAreNeverCut) {
  GapPace pace({});
  Machine machine{.chunk_ms = 50, .token_ms = 6, .chunks = GapPace::Chunks::kWhole};
  machine.run(pace, 200);
  for (const TokenPos size : machine.sizes) EXPECT_EQ(size, 512);
}

TEST(GapPace, WhatIsLeftOfAChunkMayBeShorterThanTheShortestPiece) {
  GapPace pace({});
  pace.begin_read(256);
  pace.note_read(4000);
  pace.note_step(10, 1, 0);
  pace.nobody_writes();
  EXPECT_EQ(pace.tokens_to_read(20, GapPace::Chunks::kMayBeSplit), 20);
  EXPECT_EQ(pace.tokens_to_read(65, GapPace::Chunks::kMayBeSplit), 64);
  EXPECT_EQ(pace.tokens_to_read(256, GapPace::Chunks::kMayBeSplit), 64);
}

TEST(GapPace, AfterQuietTimesAPromptIsReadWithoutRests) {
  GapPace pace({});
  for (int i = 0; i < 400; ++i) pace.note_step(10, 1, 0);
  Machine machine;
  machine.run(pace, 16);
  for (const double gap : machine.gaps) EXPECT_GT(gap, 60.0);
  machine.gaps.clear();
  machine.run(pace, 100);
  EXPECT_LT(machine.noticed_share(), 0.1) << "what was saved up is used up";
}

TEST(GapPace, ACopyThatDoesNotFitWaitsForTheNextGap) {
  GapPace pace({});
  Machine machine{.copy_ms = 100, .copy_bytes = 100 << 20, .copy_every = 1024};
  machine.run(pace, 3000);
  machine.gaps.erase(machine.gaps.begin(), machine.gaps.begin() + 100);  // the first is a guess
  EXPECT_LE(machine.longest(), 250.0);
  EXPECT_GT(machine.read, 100'000);
}

TEST(GapPace, CopiesOfAModelThatReadsFastWaitLikeItsChunks) {
  GapPace pace({});
  // A batch of 2048 tokens takes 82 ms. All of it and both copies are 146 ms.
  Machine machine{.chunk_ms = 0.0,
                  .token_ms = 0.04,
                  .step_ms = 2.0,
                  .copy_ms = 32,
                  .copy_bytes = 64 << 20,
                  .copy_every = 1024};
  machine.run(pace, 3000);
  machine.gaps.erase(machine.gaps.begin(), machine.gaps.begin() + 100);  // the first is a guess
  EXPECT_LE(machine.longest(), 1.25 * 82.0);
  EXPECT_GE(machine.longest(), 2 * 512 * 0.04 + 32);
  EXPECT_GT(machine.reading_share(), 0.5);
}

TEST(GapPace, AGapThatNobodyNoticesIsNotDivided) {
  GapPace pace({});
  pace.begin_read(512);
  pace.note_read(1.0);  // a batch takes 4 ms
  pace.note_copied(10 << 20, 10.0);
  EXPECT_TRUE(pace.may_copy(30 << 20));
  EXPECT_FALSE(pace.may_copy(50 << 20));
}

TEST(GapPace, OneStateIsBroughtBackInAGap) {
  GapPace pace({});
  EXPECT_TRUE(pace.may_restore(1 << 20));
  pace.note_restored(1 << 20, 25.0);
  EXPECT_FALSE(pace.may_restore(1 << 10));
  EXPECT_TRUE(pace.may_restore(0)) << "costs nobody anything";
  EXPECT_TRUE(pace.may_copy(1 << 20));
  EXPECT_FALSE(pace.may_copy(ByteCount{1} << 30));
  pace.note_step(10, 1, 0);
  EXPECT_TRUE(pace.resting());
  EXPECT_FALSE(pace.may_restore(1 << 10));
  for (int i = 0; i < 2; ++i) pace.note_step(10, 1, 0);
  EXPECT_TRUE(pace.may_restore(ByteCount{1} << 30)) << "the first of a gap is always done";
}

TEST(GapPace, ACopyThatMayBeDividedTakesAGapOfItsOwn) {
  GapPace pace({});
  pace.note_copied(100 << 20, 100);  // a millisecond for a MiB
  EXPECT_EQ(pace.bytes_to_copy(140 << 20), 140U << 20);
  EXPECT_EQ(pace.bytes_to_copy(160 << 20), 0U) << "there is other work";
  pace.note_other(150);
  EXPECT_EQ(pace.bytes_to_copy(1 << 20), 0U);
  pace.note_step(10, 1, 0);
  EXPECT_TRUE(pace.resting());
  EXPECT_NEAR(static_cast<double>(pace.bytes_to_copy(1000 << 20)), 250.0 * (1 << 20), 1 << 20);
}

TEST(GapPace, WithoutATargetThereIsNoLimitButTheBatch) {
  GapPace pace({.target_ms = 0.0});
  Machine machine{.token_ms = 1.0};
  machine.run(pace, 50);
  for (const double gap : machine.gaps) EXPECT_NEAR(gap, 4 * 514.0, 1e-6);
}

TEST(GapPace, WhereTheClockStandsStillOneChunkIsReadInEachGap) {
  GapPace pace({});
  Machine machine{.chunk_ms = 0, .token_ms = 0, .step_ms = 0};
  machine.run(pace, 50);
  EXPECT_EQ(machine.read, 50 * 512);
}

TEST(GapPace, WhereNobodyWritesNothingIsOwed) {
  GapPace pace({});
  pace.begin_read(512);
  pace.note_read(100);
  pace.note_step(1, 1, 0);
  EXPECT_TRUE(pace.resting());
  pace.nobody_writes();
  EXPECT_FALSE(pace.resting());
  EXPECT_EQ(pace.gap_ms(), 0.0);
  pace.begin_read(512);
  EXPECT_GT(pace.gap_ms(), 0.0) << "what was measured stays known";
}

}  // namespace
}  // namespace holdfast::plan
