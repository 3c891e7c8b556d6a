#include "plan/run_cuts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace holdfast::plan {
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

TEST(RunCuts, ShortChunksAreReadAsOne) {
  const Cuts grid = {10, 20, 30, 40, 50, 60, 90};
  const RunCutsInput input{.grid = grid, .prompt_length = 95, .chunk_max = 32, .merged_max = 32};
  EXPECT_EQ(run_cuts(input), (Cuts{10, 40, 60, 90})) << "where the system block ends is not known";
  RunCutsInput from_ten = input;
  from_ten.begin = 10;
  EXPECT_EQ(run_cuts(from_ten), (Cuts{20, 50, 60, 90})) << "an answer may end at the first of them";
}

TEST(RunCuts, WhereOthersBeginAndWhereItGoesOnIsCutAllTheSame) {
  const Cuts grid = {10, 20, 30, 40, 50, 60, 64};
  RunCutsInput input{.grid = grid, .prompt_length = 70, .chunk_max = 32, .merged_max = 32};
  input.system_end = 30;
  EXPECT_EQ(run_cuts(input), (Cuts{30, 60, 64})) << "the last one stays";
  input.system_end = 10;
  EXPECT_EQ(run_cuts(input), (Cuts{10, 40, 64}));
  input.junction = 25;
  EXPECT_EQ(run_cuts(input), (Cuts{10, 20, 50, 64})) << "the cut before the junction";
  input.header_end = 67;
  EXPECT_EQ(run_cuts(input), (Cuts{10, 20, 50, 67}));
}

TEST(RunCuts, AJunctionBehindTheLastEndOfTurnLeavesThatACut) {
  const Cuts grid = {10, 40};
  RunCutsInput input{.grid = grid, .prompt_length = 62, .begin = 10, .chunk_max = 64};
  input.merged_max = 64;
  input.junction = 60;
  EXPECT_EQ(run_cuts(input), (Cuts{40, 60}));
  const Cuts more = {10, 30, 40};
  input.grid = more;
  EXPECT_EQ(run_cuts(input), (Cuts{30, 40, 60}));
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
    input.system_end = grid[static_cast<std::size_t>(below(8))];
    if (below(2) == 0) input.merged_max = below(65);
    const Cuts cuts = run_cuts(input);
    TokenPos last = input.begin;
    for (const TokenPos cut : cuts) {
      EXPECT_GT(cut, last);
      EXPECT_LE(cut - last, input.chunk_max);
      EXPECT_LT(cut, input.prompt_length);
      last = cut;
    }
    EXPECT_LE(input.prompt_length - last, input.chunk_max);
    const bool known = input.system_end > input.begin && input.system_end < grid.back();
    EXPECT_TRUE(!known || std::ranges::binary_search(cuts, input.system_end));
    const bool has_header = input.header_end && *input.header_end > input.begin &&
                            *input.header_end < input.prompt_length;
    EXPECT_TRUE(!has_header || std::ranges::binary_search(cuts, *input.header_end));
  }
}

TEST(RunCuts, TheHeadersEndStaysThoughAJunctionLiesBehindIt) {
  const std::vector<TokenPos> grid = {500, 1000};
  const RunCutsInput input{.grid = grid,
                           .prompt_length = 2000,
                           .chunk_max = 4096,
                           .header_end = 1300,
                           .junction = 1900,
                           .merged_max = 4096};
  const auto cuts = run_cuts(input);
  EXPECT_TRUE(std::ranges::binary_search(cuts, 1300));
  EXPECT_TRUE(std::ranges::binary_search(cuts, 1900));
}

}  // namespace
}  // namespace holdfast::plan
