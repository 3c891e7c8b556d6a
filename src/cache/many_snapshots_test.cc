// Plenty of room is a reason to keep every cut only where memory could hold many snapshots
// (checkpoint_plan.cc). Where each is large, places inside messages keep their distance.
#include <gtest/gtest.h>

#include <algorithm>

#include "cache/state_cache.h"
#include "engine/testing/fake.h"

namespace holdfast::cache {
namespace {

constexpr TokenPos kStep = 64;
constexpr ByteCount kRow = 8;          // of FakeEngine
constexpr ByteCount kSnapshot = 1600;  // as much as 200 rows
// Five times the half of what a snapshot weighs in rows.
constexpr TokenPos kSparse = 5 * static_cast<TokenPos>(kSnapshot / kRow) / 2;
constexpr ByteCount kMany = 1024;

// Two long messages among short ones; the header that opens the answer is three tokens long.
const std::vector<MessageSpan> kSpans = {{Role::kSystem, 0, 320},        {Role::kUser, 320, 1600},
                                         {Role::kAssistant, 1600, 1664}, {Role::kUser, 1664, 1792},
                                         {Role::kAssistant, 1792, 3520}, {Role::kUser, 3520, 3584}};
constexpr TokenPos kLength = 3587;
constexpr TokenPos kHeaderEnd = kLength - 1;

std::vector<TokenPos> all_cuts() {
  std::vector<TokenPos> cuts;
  for (TokenPos at = kStep; at < kLength; at += kStep) cuts.push_back(at);
  return cuts;
}

// Where a fresh cache that could hold this many snapshots will keep a state of the prompt.
std::vector<TokenPos> places_with(ByteCount snapshots) {
  engine::FakeEngine engine(
      {.slots = 1, .context_tokens = 4096, .chunk_tokens_max = kStep, .snapshot_bytes = kSnapshot});
  CacheOptions options;
  options.memory.budget = snapshots * kSnapshot;
  options.merged_chunk = kStep;
  options.slot_snapshots = 0;
  env::SteadyClock clock;
  StateCache cache({.engine = &engine, .clock = &clock}, options);
  const Tokens tokens(static_cast<std::size_t>(kLength), 7);
  const std::vector<TokenPos> cuts = all_cuts();
  const Prompt prompt{.space = {1, 2},
                      .tokens = tokens,
                      .keys = tokens,
                      .cuts = cuts,
                      .spans = kSpans,
                      .header_end = kHeaderEnd};
  Receipt receipt;
  cache.begin(prompt, cache.admission().plan(prompt, std::vector{SlotId{0}}), receipt);
  std::vector<TokenPos> places;
  for (TokenPos at = 1; at < kLength; ++at) {
    if (cache.growth().bytes_due(SlotId{0}, at) > 0) places.push_back(at);
  }
  return places;
}

bool ends_message(TokenPos place) {
  return std::ranges::find(kSpans, place, &MessageSpan::end) != kSpans.end();
}

// As plan/placement.h promises them at its densest.
std::vector<TokenPos> places_near_end() {
  std::vector<TokenPos> near = {kHeaderEnd};
  for (TokenPos distance = kStep; distance < kLength; distance *= 2) {
    near.push_back((kLength - distance) / kStep * kStep);
  }
  std::ranges::sort(near);
  return near;
}

TEST(ManySnapshots, WithRoomForManyEveryCutIsKept) {
  std::vector<TokenPos> wanted = all_cuts();
  wanted.push_back(kHeaderEnd);
  EXPECT_EQ(places_with(kMany), wanted);
}

TEST(ManySnapshots, WithRoomForFewerPlacesInsideMessagesKeepTheirDistance) {
  const std::vector<TokenPos> places = places_with(kMany - 1);
  for (const MessageSpan& span : kSpans) {
    EXPECT_TRUE(std::ranges::binary_search(places, span.end)) << "the message's end " << span.end;
  }
  const std::vector<TokenPos> near = places_near_end();
  for (const TokenPos place : near) {
    EXPECT_TRUE(std::ranges::binary_search(places, place)) << "near the end, " << place;
  }
  TokenPos last = 0, inside = 0;
  for (const TokenPos place : places) {
    if (!ends_message(place) && !std::ranges::binary_search(near, place)) {
      EXPECT_GE(place - last, kSparse) << place;
      ++inside;
    }
    last = place;
  }
  EXPECT_GT(inside, 0) << "a long message has places inside";
}

}  // namespace
}  // namespace holdfast::cache
