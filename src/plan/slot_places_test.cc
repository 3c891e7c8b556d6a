#include "plan/slot_places.h"

#include <gtest/gtest.h>

#include <vector>

namespace holdfast::plan {
namespace {

using Kind = CheckpointKind;

std::vector<Checkpoint> thinned(std::vector<Checkpoint> places, std::size_t count, TokenPos end) {
  while (places.size() > count) {
    places.erase(places.begin() + static_cast<std::ptrdiff_t>(least_missed(places, end)));
  }
  return places;
}

TEST(SlotPlaces, OfTwoNeighboursTheDeeperOneServesMore) {
  const std::vector<Checkpoint> places = {{1000, Kind::kGridStep}, {1010, Kind::kGridStep}};
  EXPECT_EQ(least_missed(places, 2000), 0U) << "few prompts part within ten tokens";
}

TEST(SlotPlaces, ShortlyBehindAnotherAndShortlyBeforeTheNextIsMissedLeast) {
  const std::vector<Checkpoint> places = {
      {1000, Kind::kGridStep}, {1010, Kind::kGridStep}, {1020, Kind::kGridStep}};
  EXPECT_EQ(least_missed(places, 2000), 1U);
}

// An agent's history: a place at the end of each tool's result, and the answer to the last one
// not yet written.
TEST(SlotPlaces, TheLastOneIsKeptThoughItLiesAtTheEnd) {
  std::vector<Checkpoint> places;
  for (TokenPos at = 2400; at <= 4673; at += 227) places.push_back({at, Kind::kMessageEnd});
  places.back().kind = Kind::kAnswerStart;
  const TokenPos last = places.back().position;
  EXPECT_EQ(thinned(places, 8, last + 4).back().position, last);
}

TEST(SlotPlaces, NearTheEndPlacesAreNearerToEachOther) {
  std::vector<Checkpoint> places;
  for (TokenPos at = 512; at < 16'000; at += 512) places.push_back({at, Kind::kGridStep});
  const auto left = thinned(places, 6, 16'000);
  ASSERT_EQ(left.size(), 6U);
  EXPECT_GE(left.back().position, 15'000);
  const TokenPos last_gap = left[5].position - left[4].position;
  const TokenPos first_gap = left[1].position - left[0].position;
  EXPECT_LT(last_gap, first_gap);
}

TEST(SlotPlaces, TheEndOfTheSystemBlockOutlivesStepsOfALongMessage) {
  std::vector<Checkpoint> places = {{600, Kind::kSystemEnd}};
  for (TokenPos at = 1024; at < 30'000; at += 512) places.push_back({at, Kind::kGridStep});
  const auto left = thinned(places, 8, 30'000);
  EXPECT_EQ(left.front(), (Checkpoint{600, Kind::kSystemEnd}));
}

// A first answer of 17 tokens, after a system block with a place every 256.
TEST(SlotPlaces, StepsInsideTheSystemBlockGoBeforeWhatWasSaidLately) {
  std::vector<Checkpoint> places;
  for (TokenPos at = 256; at <= 1280; at += 256) places.push_back({at, Kind::kGridStep});
  places.insert(places.end(), {{1538, Kind::kSystemEnd},
                               {1754, Kind::kMessageEnd},
                               {1771, Kind::kMessageEnd},
                               {1988, Kind::kPromptEnd}});
  EXPECT_EQ(least_missed(places, 1992), 0U);
}

TEST(SlotPlaces, OnlyWhatLiesBeforeTheEndOfTheSystemBlockLiesInside) {
  const std::vector<Checkpoint> plain = {{256, Kind::kGridStep},
                                         {512, Kind::kGridStep},
                                         {600, Kind::kGridStep},
                                         {700, Kind::kGridStep}};
  auto with_system = plain;
  with_system[1].kind = Kind::kSystemEnd;
  EXPECT_LT(missed_by(with_system, 0, 1000), missed_by(plain, 0, 1000) / 2);
  EXPECT_DOUBLE_EQ(missed_by(with_system, 2, 1000), missed_by(plain, 2, 1000));
}

TEST(SlotPlaces, EndsOfMessagesOutliveStepsBetweenThem) {
  const std::vector<Checkpoint> places = {
      {500, Kind::kMessageEnd}, {750, Kind::kGridStep}, {1000, Kind::kMessageEnd}};
  EXPECT_EQ(least_missed(places, 1200), 1U);
}

// Against the sum that it stands for: what prompts that part at each token read again.
TEST(SlotPlaces, WhatIsMissedIsWhatIsReadAgain) {
  const std::vector<Checkpoint> places = {
      {400, Kind::kGridStep}, {700, Kind::kGridStep}, {900, Kind::kGridStep}};
  constexpr TokenPos kEnd = 1200;
  double sum = 0;
  for (TokenPos parts = 700; parts < 900; ++parts) {
    sum += (700 - 400) / (kEnd - parts - 0.5 + 32.0);
  }
  EXPECT_NEAR(missed_by(places, 1, kEnd), sum, sum / 1000);
}

}  // namespace
}  // namespace holdfast::plan
