#include "cache/cold_choice.h"

#include <gtest/gtest.h>

namespace holdfast::cache {
namespace {

constexpr tree::StateNeeds kHybrid{.blocks = true, .snapshot = true};
constexpr tree::StateNeeds kAttention{.blocks = true, .snapshot = false};
constexpr tree::StateNeeds kRecurrent{.blocks = false, .snapshot = true};
const std::vector<TokenPos> kCuts = {100, 200, 300, 400};

tier::BlobKey key(int name) {
  tier::BlobKey made;
  made.bytes[0] = static_cast<std::byte>(name);
  return made;
}

tier::PlaceHit place(TokenPos position, ByteCount bytes, Hints marks = {}) {
  return {key(position), position, bytes, 0, marks, false};
}

// Rows of 100 tokens each, 1,000 bytes a blob, up to 350; places on the grid and off it.
tier::StoreMatch found() {
  tier::StoreMatch match;
  for (int i = 0; i < 4; ++i) {
    match.rows.push_back({key(i), {100 * i, std::min(100 * i + 100, 350)}, 1000});
  }
  match.covered = 350;
  match.places = {place(100, 500), place(300, 500), place(330, 500, Hint::kOffGrid),
                  place(340, 500), place(400, 500)};
  return match;
}

ColdInput asked(tree::StateNeeds needs) {
  ColdInput input;
  input.needs = needs;
  input.prompt_length = 420;
  input.cuts = kCuts;
  input.bytes_per_ms = 1000.0;
  input.bytes_max = 1 << 20;
  return input;
}

TEST(ColdChoice, TheDeepestPlaceThatStandsOnRows) {
  const auto choice = choose_cold(found(), asked(kHybrid));
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->position, 330);  // 340 is none for this prompt, 400 has no rows
  EXPECT_EQ(choice->place->position, 330);
  EXPECT_EQ(choice->rows.size(), 4U);
  EXPECT_EQ(choice->rows.back().range, (TokenRange{300, 330}));
  EXPECT_EQ(choice->bytes, 4500U);
}

TEST(ColdChoice, WherePromptsAreExactItBeginsOnTheGridOnly) {
  ColdInput input = asked(kHybrid);
  input.exact_prompts = true;
  EXPECT_EQ(choose_cold(found(), input)->position, 300);
}

TEST(ColdChoice, RowsAloneAreEnoughWhereNothingElseIsNeeded) {
  tier::StoreMatch match = found();
  match.places.clear();
  const auto choice = choose_cold(match, asked(kAttention));
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->position, 300);
  EXPECT_FALSE(choice->place);
  EXPECT_FALSE(choose_cold(match, asked(kHybrid)));
}

TEST(ColdChoice, PlacesAloneAreEnoughWhereThereAreNoRows) {
  tier::StoreMatch match = found();
  match.rows.clear();
  match.covered = 0;
  const auto choice = choose_cold(match, asked(kRecurrent));
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->position, 400);
  EXPECT_TRUE(choice->rows.empty());
  EXPECT_FALSE(choose_cold(match, asked(kHybrid)));
}

TEST(ColdChoice, WhatMemoryHasIsNotBroughtUp) {
  ColdInput input = asked(kHybrid);
  input.rows_held = 250;
  const auto choice = choose_cold(found(), input);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->rows.front().range, (TokenRange{250, 300}));
  input.reused = 330;
  EXPECT_FALSE(choose_cold(found(), input));
}

TEST(ColdChoice, TheLastTokenIsAlwaysRead) {
  ColdInput input = asked(kRecurrent);
  input.prompt_length = 400;
  EXPECT_EQ(choose_cold(found(), input)->position, 330);
}

// 10 tokens take as long as 1,000 bytes and a read.
TEST(ColdChoice, OnlyWhereItIsFasterThanReading) {
  ColdInput input = asked(kHybrid);
  input.ms_per_token = 0.11;
  EXPECT_EQ(choose_cold(found(), input)->position, 330);
  input.ms_per_token = 0.005;
  EXPECT_FALSE(choose_cold(found(), input));
}

TEST(ColdChoice, AShallowerPlaceWhereTheDeeperOneIsTooDear) {
  tier::StoreMatch match = found();
  match.places = {place(100, 500), place(300, 1'000'000)};
  ColdInput input = asked(kHybrid);
  input.ms_per_token = 0.11;
  EXPECT_EQ(choose_cold(match, input)->position, 100);
  input.ms_per_token = 0.0;  // not known: the deepest
  EXPECT_EQ(choose_cold(match, input)->position, 300);
  input.bytes_max = 5000;
  EXPECT_EQ(choose_cold(match, input)->position, 100);
}

}  // namespace
}  // namespace holdfast::cache
