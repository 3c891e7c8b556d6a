#include "plan/placement.h"

#include <gtest/gtest.h>

#include <random>

#include "state/grid.h"

namespace holdfast::plan {
namespace {

using enum CheckpointKind;

std::vector<CheckpointKind> kinds(const std::vector<Checkpoint>& placed) {
  std::vector<CheckpointKind> all;
  for (const Checkpoint& checkpoint : placed) all.push_back(checkpoint.kind);
  return all;
}

// system 100, user 20, assistant 30, user 600, header 4; step 256
const std::vector<TokenPos> kCuts = {100, 120, 150, 406, 662, 750};
const std::vector<MessageSpan> kSpans = {{Role::kSystem, 0, 100},
                                         {Role::kUser, 100, 120},
                                         {Role::kAssistant, 120, 150},
                                         {Role::kUser, 150, 750},
                                         {Role::kAssistant, 750, 754}};

TEST(Placement, WithRoomEveryCutIsTaken) {
  const auto placed = place_checkpoints({.cuts = kCuts, .spans = kSpans});
  EXPECT_EQ(kinds(placed),
            (std::vector{kSystemEnd, kMessageEnd, kMessageEnd, kGridStep, kGridStep, kPromptEnd}));
}

TEST(Placement, WhenMemoryIsScarceNeighboursKeepTheirDistance) {
  const auto placed = place_checkpoints({.cuts = kCuts, .spans = kSpans, .spacing_min = 200});
  EXPECT_EQ(placed,
            (std::vector<Checkpoint>{{100, kSystemEnd}, {406, kGridStep}, {750, kPromptEnd}}));
}

TEST(Placement, WhatIsNotComputedAnewGetsNone) {
  const auto placed = place_checkpoints({.cuts = kCuts, .spans = kSpans, .from = 406});
  EXPECT_EQ(placed, (std::vector<Checkpoint>{{662, kGridStep}, {750, kPromptEnd}}));
}

TEST(Placement, AJunctionIsRoundedDownToTheGrid) {
  const auto placed =
      place_checkpoints({.cuts = kCuts, .spans = kSpans, .junction = 500, .spacing_min = 1000});
  EXPECT_EQ(placed,
            (std::vector<Checkpoint>{{100, kSystemEnd}, {406, kJunction}, {750, kPromptEnd}}));
}

TEST(Placement, SpacingFollowsFromTheWeightOfACheckpoint) {
  StateShape shape;
  shape.parts = {{.kind = PartKind::kExtent, .bytes_per_token = 1024},
                 {.kind = PartKind::kSnapshot, .bytes_fixed = 656 * 1024}};
  EXPECT_EQ(scarce_spacing(shape, 512), 328);
  shape.parts.erase(shape.parts.begin());
  EXPECT_EQ(scarce_spacing(shape, 512), 512);
}

TEST(PlacementModel, InvariantsHoldOnRandomPrompts) {
  constexpr unsigned kSeed = 11;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  for (int round = 0; round < 2000; ++round) {
    std::vector<TokenPos> cuts;
    std::vector<MessageSpan> spans;
    TokenPos at = 0;
    for (unsigned m = 1 + random() % 8; m > 0; --m) {
      const auto end = at + 1 + static_cast<TokenPos>(random() % 900);
      spans.push_back({spans.empty() ? Role::kSystem : Role::kUser, at, end});
      while (at + 256 < end) cuts.push_back(at += 256);
      cuts.push_back(at = end);
    }
    PlacementInput input{.cuts = cuts, .spans = spans};
    input.from = static_cast<TokenPos>(random() % static_cast<unsigned>(at + 1));
    input.spacing_min = static_cast<TokenPos>(random() % 700);
    if (random() % 2 == 0) input.junction = static_cast<TokenPos>(random() % 2000);
    if (random() % 2 == 0) {
      input.length = at + static_cast<TokenPos>(random() % 20);
      input.near = {256, 2 + static_cast<TokenPos>(random() % 4)};
    }
    const auto placed = place_checkpoints(input);
    const auto violations = check_placement(input, placed);
    ASSERT_TRUE(violations.empty()) << violations.front();
    if (cuts.back() > input.from) {
      ASSERT_FALSE(placed.empty());
      ASSERT_EQ(placed.back().position, cuts.back()) << "the end of the prompt is always taken";
    }
  }
}

// 20,000 tokens in one message, and room for next to nothing between its ends.
TEST(Placement, PlacesThinOutWithTheDistanceFromTheEnd) {
  std::vector<TokenPos> cuts;
  for (TokenPos at = 512; at < 20'000; at += 512) cuts.push_back(at);
  PlacementInput input{.cuts = cuts, .spacing_min = 100'000, .length = 20'000, .near = {512, 2}};
  std::vector<TokenPos> distances;
  for (const Checkpoint& place : place_checkpoints(input)) {
    EXPECT_TRUE(place.near_end || place.kind == kPromptEnd);
    distances.push_back(input.length - place.position);
  }
  EXPECT_EQ(distances, (std::vector<TokenPos>{16'416, 8'224, 4'128, 2'080, 1'056, 544, 32}));
  EXPECT_LE(distances.size(), near_end_places(input.length, input.near));
  EXPECT_EQ(check_placement(input, place_checkpoints(input)), std::vector<std::string>{});
  input.near.factor = 4;
  EXPECT_EQ(place_checkpoints(input).size(), 4U) << "fewer, where there is room for fewer";
  EXPECT_EQ(check_placement(input, place_checkpoints(input)), std::vector<std::string>{});
}

TEST(CheckpointKinds, WhatIsAlwaysKept) {
  using enum CheckpointKind;
  for (const auto kind : {kGridStep, kMessageEnd, kAnswerStart}) EXPECT_FALSE(always_kept(kind));
  for (const auto kind : {kJunction, kPromptEnd, kSystemEnd}) EXPECT_TRUE(always_kept(kind));
}

TEST(SystemEnd, IsThatOfAllSystemMessagesAtTheBeginning) {
  using Spans = std::vector<MessageSpan>;
  EXPECT_EQ(system_end(Spans{}), 0);
  EXPECT_EQ(system_end(Spans{{Role::kUser, 0, 5}, {Role::kSystem, 5, 9}}), 0);
  EXPECT_EQ(system_end(Spans{{Role::kSystem, 0, 1}, {Role::kSystem, 1, 7}, {Role::kUser, 7, 9}}),
            7);
}

}  // namespace
}  // namespace holdfast::plan
