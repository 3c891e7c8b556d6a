#include "plan/run_cuts.h"

#include <gtest/gtest.h>

#include <random>

namespace holdfast {
namespace {

using Cuts = std::vector<TokenPos>;

TEST(RunCuts, AreTheGridsWhereNothingElseIsKnown) {
  const Cuts grid = {64, 128, 150};
  EXPECT_EQ(run_cuts({.grid = grid, .prompt_length = 153, .chunk_max = 128}), grid);
  EXPECT_EQ(run_cuts({.grid = grid, .prompt_length = 153, .begin = 64, .chunk_max = 128}),
            (Cuts{128, 150}));
  EXPECT_EQ(run_cuts({.grid = grid, .prompt_length = 150, .chunk_max = 128}), (Cuts{64, 128}))
      << "a prompt's end is no cut";
}

TEST(RunCuts, TheHeadersEndTakesThePlaceOfTheCutBeforeIt) {
  const Cuts grid = {64, 128, 150};
  EXPECT_EQ(run_cuts({.grid = grid, .prompt_length = 157, .chunk_max = 128, .header_end = 153}),
            (Cuts{64, 128, 153}));
  EXPECT_EQ(run_cuts({.grid = grid, .prompt_length = 157, .chunk_max = 24, .header_end = 153}),
            (Cuts{64, 128, 150, 153}))
      << "one chunk cannot hold both";
}

TEST(RunCuts, ADifferenceInsideAChunkIsACutIfItIsWorthAChunk) {
  const Cuts grid = {64, 128};
  EXPECT_EQ(run_cuts({.grid = grid, .prompt_length = 190, .chunk_max = 64, .junction = 100}),
            (Cuts{64, 100, 128}));
  EXPECT_EQ(run_cuts({.grid = grid, .prompt_length = 190, .chunk_max = 64, .junction = 70}), grid);
}

TEST(RunCuts, AscendWithinThePromptAndLeaveNoChunkTooLong) {
  std::mt19937 random(1);
  const auto below = [&](TokenPos n) { return static_cast<TokenPos>(random() % n); };
  for (int i = 0; i < 5000; ++i) {
    SCOPED_TRACE(i);
    RunCutsInput input;
    input.chunk_max = 64;
    Cuts grid;
    for (TokenPos at = 1 + below(64); grid.size() < 8; at += 1 + below(64)) grid.push_back(at);
    input.grid = grid;
    input.prompt_length = grid.back() + below(30);
    input.begin = below(2) == 0 ? 0 : grid[static_cast<std::size_t>(below(8))];
    if (input.begin >= input.prompt_length) input.begin = 0;
    if (below(2) == 0) input.header_end = grid.back() + below(10);
    if (below(2) == 0) input.junction = below(input.prompt_length);
    const Cuts cuts = run_cuts(input);
    TokenPos last = input.begin;
    for (const TokenPos cut : cuts) {
      EXPECT_GT(cut, last);
      EXPECT_LE(cut - last, input.chunk_max);
      EXPECT_LT(cut, input.prompt_length);
      last = cut;
    }
    EXPECT_LE(input.prompt_length - last, input.chunk_max);
  }
}

}  // namespace
}  // namespace holdfast
