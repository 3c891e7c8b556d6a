#include "state/grid.h"

#include <gtest/gtest.h>

#include <random>

#include "state/parts.h"

namespace holdfast {
namespace {

constexpr Token kEnd = 9;

TEST(Grid, CutsAfterEachTurnAndEveryStep) {
  const Grid grid({.step = 4, .turn_ends = {{kEnd}}});
  //                      turn       step        turn  rest
  const Tokens tokens = {1, 2, kEnd, 1, 1, 1, 1, 1, kEnd, 1, 1};
  EXPECT_EQ(grid.cuts(tokens), (std::vector<TokenPos>{3, 7, 9}));
}

TEST(Grid, TurnEndsMayBeSeveralTokens) {
  const Grid grid({.step = 64, .turn_ends = {{kEnd, 5}}});
  EXPECT_EQ(grid.cuts(Tokens{1, kEnd, 5, 1, kEnd, 1}), (std::vector<TokenPos>{3}));
}

TEST(Grid, FloorIsTheDeepestCutWithinTheLimit) {
  const Grid grid({.step = 4, .turn_ends = {}});
  const Tokens tokens(20, 1);
  EXPECT_EQ(grid.floor(tokens, 11), 8);
  EXPECT_EQ(grid.floor(tokens, 12), 12);
  EXPECT_EQ(grid.floor(tokens, 3), 0);
  EXPECT_EQ(grid.floor(tokens, 100), 20);
}

// GRID-1: prompts that share a prefix share its cuts, whatever follows.
TEST(GRID1, CutsDependOnEarlierTokensAlone) {
  constexpr unsigned kSeed = 20;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  const Grid grid({.step = 8, .turn_ends = {{kEnd}, {7, 7}}});
  for (int round = 0; round < 500; ++round) {
    Tokens a(1 + random() % 60);
    for (Token& token : a) token = static_cast<Token>(random() % 10);
    Tokens b(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(random() % a.size()));
    const TokenPos shared = length_of(b);
    for (unsigned i = random() % 30; i > 0; --i) b.push_back(static_cast<Token>(random() % 10));
    ASSERT_TRUE(grid.check(a).empty()) << grid.check(a).front();
    for (const TokenPos limit : {shared, shared / 2}) {
      ASSERT_EQ(grid.floor(a, limit), grid.floor(b, limit));
    }
  }
}

TEST(Parts, SayWhatTheyCost) {
  StateShape shape;
  shape.parts = {{.kind = PartKind::kExtent, .bytes_per_token = 1024},
                 {.kind = PartKind::kSnapshot, .bytes_fixed = 2 * 1024 * 1024}};
  EXPECT_EQ(shape.describe(), "attention 1.0 KiB/token, recurrent 2.0 MiB/snapshot");
  EXPECT_FALSE(shape.truncates_anywhere());
  EXPECT_EQ(shape.bytes_per_token(), 1024U);
  EXPECT_EQ(shape.bytes_per_snapshot(), 2U * 1024 * 1024);
}

TEST(Tokens, CommonPrefixEndsAtTheShorter) {
  EXPECT_EQ(common_prefix(Tokens{1, 2, 3}, Tokens{1, 2, 4, 5}), 2);
  EXPECT_EQ(common_prefix(Tokens{1, 2}, Tokens{1, 2, 3}), 2);
  EXPECT_EQ(common_prefix(Tokens{}, Tokens{1}), 0);
}

}  // namespace
}  // namespace holdfast
