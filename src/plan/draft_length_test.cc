#include "plan/draft_length.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace holdfast {
namespace {

// --- costs -----------------------------------------------------------------------

TEST(DraftCosts, BeforeAnythingRanARowCostsATenthOfAStep) {
  const DraftCosts costs;
  EXPECT_DOUBLE_EQ(costs.ms_for_rows(1), 1.0);
  EXPECT_DOUBLE_EQ(costs.ms_for_rows(6), 1.5);
  EXPECT_EQ(costs.ms_per_drafted(), 0.0);
  EXPECT_FALSE(costs.wants_step_of(1));
}

// Often enough to be believed.
void know_step(DraftCosts& costs, TokenPos rows, double ms) {
  for (int i = 0; i < 3; ++i) costs.note_step(rows, ms);
}

TEST(DraftCosts, LinesBetweenAndBeyondWhatIsKnown) {
  DraftCosts costs;
  know_step(costs, 5, 14.0);
  EXPECT_DOUBLE_EQ(costs.ms_for_rows(1), 10.0);  // a tenth of a step for each row
  EXPECT_DOUBLE_EQ(costs.ms_for_rows(9), 18.0);
  know_step(costs, 9, 20.0);
  EXPECT_DOUBLE_EQ(costs.ms_for_rows(7), 17.0);
  EXPECT_DOUBLE_EQ(costs.ms_for_rows(3), 11.0);
  EXPECT_DOUBLE_EQ(costs.ms_for_rows(13), 26.0);
  know_step(costs, 17, 12.0);  // cheaper than the first: beyond it rows are free, not a gift
  EXPECT_DOUBLE_EQ(costs.ms_for_rows(64), 12.0);
  EXPECT_TRUE(costs.check().empty());
}

TEST(DraftCosts, FewerRowsCostAtLeastTheirShare) {
  DraftCosts costs;
  know_step(costs, 4, 10.0);
  know_step(costs, 5, 100.0);
  EXPECT_DOUBLE_EQ(costs.ms_for_rows(1), 2.5);
}

TEST(DraftCosts, AStepThatWaitedMovesNothing) {
  DraftCosts costs;
  costs.note_step(1, 500.0);  // the first one warms up
  EXPECT_DOUBLE_EQ(costs.ms_for_rows(1), 1.0);
  costs.note_step(1, 10.0);
  EXPECT_TRUE(costs.wants_step_of(1));
  costs.note_step(1, 11.0);
  EXPECT_DOUBLE_EQ(costs.ms_for_rows(1), 10.0);
  for (int i = 0; i < 20; ++i) costs.note_step(1, 10.0);
  costs.note_step(1, 4000.0);
  costs.note_step(1, 10.0);
  EXPECT_DOUBLE_EQ(costs.ms_for_rows(1), 10.0);
  for (int i = 0; i < 40; ++i) costs.note_step(1, 30.0);  // that is how it is from now on
  EXPECT_NEAR(costs.ms_for_rows(1), 30.0, 0.5);
}

TEST(DraftCosts, CallsThatFoundNothingArePaidByThoseThatDid) {
  DraftCosts costs;
  know_step(costs, 1, 10.0);
  for (int i = 0; i < 400; ++i) costs.note_draft(i % 4 == 0 ? 2 : 0, 1.0);
  EXPECT_NEAR(costs.ms_per_drafted(), 2.0, 0.2);
  for (int i = 0; i < 400; ++i) costs.note_draft(0, 1.0);
  EXPECT_GT(costs.ms_per_drafted(), 100.0);
  EXPECT_TRUE(costs.check().empty());
  for (int i = 0; i < 200; ++i) costs.note_draft(2, 1.0);
  EXPECT_NEAR(costs.ms_per_drafted(), 0.5, 0.1);
}

TEST(DraftCosts, WhatIsNoMeasurementIsNotNoted) {
  DraftCosts costs;
  know_step(costs, 1, 0.0);
  know_step(costs, 0, 5.0);
  know_step(costs, DraftCosts::kRowsMax + 1, 5.0);
  know_step(costs, 1, std::nan(""));
  for (int i = 0; i < 3; ++i) {
    costs.note_draft(1, 7.0);
    costs.note_fixed(7.0);
  }
  EXPECT_DOUBLE_EQ(costs.ms_for_rows(1), 1.0);
  EXPECT_EQ(costs.ms_per_drafted() + costs.ms_fixed(), 0.0) << "of a step that has no time";
  know_step(costs, 1, 10.0);
  EXPECT_EQ(costs.ms_per_drafted() + costs.ms_fixed(), 14.0);
}

TEST(DraftCosts, StepsOfLongAgoAreWantedAgain) {
  DraftCosts costs;
  know_step(costs, 1, 10.0);
  EXPECT_FALSE(costs.wants_step_of(1));
  EXPECT_TRUE(costs.wants_step_of(2)) << "never seen";
  for (int i = 0; i < 64; ++i) costs.note_step(9, 12.0);
  EXPECT_TRUE(costs.wants_step_of(1));
  EXPECT_FALSE(costs.wants_step_of(8)) << "about as many as nine";
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

TEST(Acceptance, ExpectedTokensAddUpTheChanceThatAllWereRight) {
  EXPECT_EQ(expected_tokens({0.5, 0.5}), (std::vector{1.0, 1.5, 1.75}));
  EXPECT_EQ(expected_tokens({}), (std::vector{1.0}));
}

// --- lengths ---------------------------------------------------------------------

TEST(DraftLength, NothingIsChosenWhereNothingMayBeDrafted) {
  const AcceptanceByPosition prior;
  const DraftCosts costs;
  DraftLength length(prior, costs);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(length.choose(0, {}), 0);
  EXPECT_EQ(length.choose(-1, {}), 0);
  EXPECT_DOUBLE_EQ(length.expected(0), 1.0);
}

TEST(DraftLength, WithAClockThatStandsStillAcceptanceAloneDecides) {
  const auto lengths_with = [](int right_of_four) {
    AcceptanceByPosition prior;
    DraftCosts costs;
    DraftLength length(prior, costs);
    std::vector<TokenPos> chosen;
    for (int step = 0; step < 200; ++step) {
      chosen.push_back(length.choose(4, {}));
      if (chosen.back() > 0) {
        length.note(chosen.back(), std::min<TokenPos>(right_of_four, chosen.back()));
      }
      costs.note_step(1 + chosen.back(), 0.0);
      costs.note_draft(chosen.back(), 0.0);
      EXPECT_TRUE(length.check().empty());
    }
    return chosen;
  };
  EXPECT_EQ(lengths_with(4), lengths_with(4));
  EXPECT_EQ(lengths_with(4).back(), 4);
  const auto never_right = lengths_with(0);
  EXPECT_EQ(never_right.front(), 4) << "a new server tries";
  EXPECT_LT(std::count_if(never_right.end() - 100, never_right.end(), [](TokenPos d) { return d; }),
            8);
}

TEST(DraftLength, ABusyBatchLeavesLessToGain) {
  AcceptanceByPosition prior;
  for (int i = 0; i < 100; ++i) prior.note(8, 4);
  for (int i = 0; i < 100; ++i) prior.note(1, i % 4 != 0);
  DraftCosts costs;
  know_step(costs, 1, 10.0);  // free up to 8 rows, then in proportion
  know_step(costs, 8, 10.0);
  know_step(costs, 64, 80.0);
  EXPECT_GE(DraftLength(prior, costs).choose(8, {}), 4);
  EXPECT_EQ(DraftLength(prior, costs).choose(8, {.rows = 60, .tokens = 60.0}), 0);
}

// --- simulation ------------------------------------------------------------------
// Worlds with known costs and chances. What the choice reaches is compared with what
// never drafting and each fixed length would reach on average.

constexpr TokenPos kMost = 8;
constexpr double kTokensOfAWorld = 5000.0;

struct Curve {
  const char* name;
  double (*ms)(TokenPos rows);
};
const Curve kCurves[] = {
    {"free rows", [](TokenPos) { return 20.0; }},
    {"GPU", [](TokenPos rows) { return 20.0 + 0.3 * (rows - 1); }},
    {"a tenth", [](TokenPos rows) { return 20.0 + 2.0 * (rows - 1); }},
    {"CPU", [](TokenPos rows) { return 20.0 + 9.0 * (rows - 1); }},
    {"in proportion", [](TokenPos rows) { return 20.0 * rows; }},
    {"a jump at two", [](TokenPos rows) { return rows == 1 ? 20.0 : 30.0 + 0.2 * rows; }},
    {"a jump at five", [](TokenPos rows) { return rows < 5 ? 20.0 : 40.0; }},
};
const Curve& kJumpAtFive = kCurves[std::size(kCurves) - 1];

struct Profile {
  const char* name;
  double (*chance)(TokenPos position);
};
const Profile kProfiles[] = {
    {"never", [](TokenPos) { return 0.0; }},
    {"rarely", [](TokenPos) { return 0.15; }},
    {"half", [](TokenPos) { return 0.5; }},
    {"falling", [](TokenPos i) { return 0.85 - 0.1 * i; }},
    {"mostly", [](TokenPos) { return 0.85; }},
    {"always", [](TokenPos) { return 1.0; }},
};

struct World {
  const Curve* curve;
  const Profile* first;  // of the first half of the tokens
  const Profile* then;
  double draft_ms;  // for one token
  double fixed_ms;
  double odd_share = 0.0;  // of the times are measured twenty times too long
  int slots = 1;

  [[nodiscard]] double step_ms(TokenPos rows, TokenPos drafted, int drafting) const {
    return curve->ms(rows) + draft_ms * drafted + fixed_ms * drafting;
  }
};

double expected(const Profile& profile, TokenPos drafted) {
  std::vector<double> chances;
  for (TokenPos i = 0; i < drafted; ++i) chances.push_back(profile.chance(i));
  return expected_tokens(chances).back();
}

// Tokens per ms when every slot always drafts this many.
double fixed_rate(const World& world, TokenPos drafted) {
  const TokenPos slots = world.slots;
  const double ms =
      world.step_ms(slots * (1 + drafted), slots * drafted, drafted > 0 ? world.slots : 0);
  const double steps = 1.0 / expected(*world.first, drafted) + 1.0 / expected(*world.then, drafted);
  return 2.0 * world.slots / (steps * ms);
}

double best_fixed_rate(const World& world) {
  double best = 0.0;
  for (TokenPos d = 0; d <= kMost; ++d) best = std::max(best, fixed_rate(world, d));
  return best;
}

class Simulation {
 public:
  Simulation(const World& world, unsigned seed) : world_(world), random_(seed) {
    for (int i = 0; i < world.slots; ++i) lengths_.emplace_back(prior_, costs_);
    done_.resize(lengths_.size());
  }

  double rate() {
    double tokens = 0.0;
    const double all = kTokensOfAWorld * world_.slots;
    while (tokens < all) tokens += step();
    return tokens / ms_;
  }

 private:
  double step() {
    const auto drafts = choose();
    TokenPos rows = 0;
    TokenPos drafted = 0;
    int drafting = 0;
    double tokens = 0.0;
    for (std::size_t i = 0; i < drafts.size(); ++i) {
      rows += 1 + drafts[i];
      drafted += drafts[i];
      drafting += drafts[i] > 0 ? 1 : 0;
      const double gained = 1.0 + verify(i, drafts[i]);
      done_[i] += gained;
      tokens += gained;
    }
    ms_ += world_.step_ms(rows, drafted, drafting);
    costs_.note_step(rows, measured(world_.curve->ms(rows)));
    if (drafted > 0) costs_.note_draft(drafted, measured(world_.draft_ms * drafted));
    if (drafting > 0) costs_.note_fixed(measured(world_.fixed_ms));
    return tokens;
  }

  std::vector<TokenPos> choose() {
    std::vector<TokenPos> drafts(lengths_.size());
    if (costs_.wants_step_of(static_cast<TokenPos>(lengths_.size()))) return drafts;
    BatchOthers others{.rows = world_.slots - 1, .tokens = world_.slots - 1.0};
    for (std::size_t i = 0; i < lengths_.size(); ++i) {
      drafts[i] = lengths_[i].choose(kMost, others);
      others.rows += drafts[i];
      others.tokens += lengths_[i].expected(drafts[i]) - 1.0;
    }
    return drafts;
  }

  TokenPos verify(std::size_t slot, TokenPos drafted) {
    const Profile& profile = done_[slot] < kTokensOfAWorld / 2 ? *world_.first : *world_.then;
    TokenPos right = 0;
    while (right < drafted && uniform() < profile.chance(right)) ++right;
    if (drafted > 0) lengths_[slot].note(drafted, right);
    if (right == 0) {
      EXPECT_TRUE(lengths_[slot].check().empty());
    }
    return right;
  }

  double measured(double ms) {
    return ms * (0.9 + 0.2 * uniform()) * (uniform() < world_.odd_share ? 20.0 : 1.0);
  }
  double uniform() { return std::uniform_real_distribution<>(0.0, 1.0)(random_); }

  const World world_;
  std::mt19937 random_;
  AcceptanceByPosition prior_;
  DraftCosts costs_;
  std::vector<DraftLength> lengths_;
  std::vector<double> done_;
  double ms_ = 0.0;
};

struct Least {
  double against_never;
  double against_best_fixed;
  double with_a_jump;  // the same where one more row costs another whole step: that is
                       // found out only by trying each length
};

// The limits were set after runs of 5796 worlds with each of three seeds; those
// kept here are a part of them that takes seconds.
void run_worlds(const std::vector<World>& worlds, Least least) {
  constexpr unsigned kSeed = 7;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  Least worst{1e9, 1e9, 1e9};
  std::vector<double> against_all;
  const std::size_t stride = std::getenv("HOLDFAST_ALL_WORLDS") != nullptr ? 1 : 5;
  for (std::size_t i = 0; i < worlds.size(); i += stride) {
    const World& world = worlds[i];
    const double rate = Simulation(world, kSeed + static_cast<unsigned>(i)).rate();
    const double against_never = rate / fixed_rate(world, 0);
    const double against_best = rate / best_fixed_rate(world);
    const auto name = ::testing::Message()
                      << world.curve->name << ", " << world.first->name << " then "
                      << world.then->name << ", draft " << world.draft_ms << " ms, fixed "
                      << world.fixed_ms << " ms, " << world.slots << " slots";
    const bool jumps = world.curve == &kJumpAtFive;
    EXPECT_GE(against_never, least.against_never) << name;
    EXPECT_GE(against_best, jumps ? least.with_a_jump : least.against_best_fixed) << name;
    worst.against_never = std::min(worst.against_never, against_never);
    double& worst_of_these = jumps ? worst.with_a_jump : worst.against_best_fixed;
    worst_of_these = std::min(worst_of_these, against_best);
    against_all.push_back(against_best);
  }
  std::ranges::sort(against_all);
  std::printf("every %zu. of %zu worlds, seed %u: at worst %.3f of never drafting\n", stride,
              worlds.size(), kSeed, worst.against_never);
  std::printf("  of the best fixed length: at worst %.3f (%.3f with a jump), 1 in 20 below %.3f\n",
              worst.against_best_fixed, worst.with_a_jump, against_all[against_all.size() / 20]);
}

std::vector<World> worlds_of(const std::vector<double>& draft_ms,
                             const std::vector<double>& fixed_ms) {
  std::vector<World> worlds;
  for (const Curve& curve : kCurves) {
    for (const Profile& first : kProfiles) {
      for (const Profile& then : kProfiles) {
        for (const double draft : draft_ms) {
          for (const double fixed : fixed_ms) {
            worlds.push_back({&curve, &first, &then, draft, fixed});
          }
        }
      }
    }
  }
  return worlds;
}

TEST(DraftLengthSimulation, DraftingNeverHurts) {
  run_worlds(worlds_of({0.0, 1.0, 30.0}, {0.0, 40.0}), {0.97, 0.85, 0.75});
}

TEST(DraftLengthSimulation, NorDoOddTimes) {
  auto worlds = worlds_of({0.0, 6.0}, {3.0});
  for (World& world : worlds) world.odd_share = 0.02;
  run_worlds(worlds, {0.97, 0.85, 0.75});
}

TEST(DraftLengthSimulation, NorDoSlotsThatShareABatch) {
  auto worlds = worlds_of({1.0}, {0.0, 40.0});
  std::erase_if(worlds, [](const World& world) { return world.first == world.then; });
  for (World& world : worlds) world.slots = 4;
  run_worlds(worlds, {0.96, 0.88, 0.45});
}

}  // namespace
}  // namespace holdfast
