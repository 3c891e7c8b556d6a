#include "cache/slot_snapshots.h"

#include <gtest/gtest.h>

#include <random>

namespace holdfast::cache {
namespace {

constexpr ByteCount kBytes = 100;

SnapshotPtr snapshot_at(TokenPos position) {
  return std::make_shared<const Snapshot>(position, StateBytes(kBytes));
}

SlotOffer offer_at(TokenPos position, TokenPos end, ByteCount allowance = 1 << 20) {
  SlotOffer offer;
  offer.at = {position, plan::CheckpointKind::kGridStep};
  offer.path_end = end;
  offer.bytes = kBytes;
  offer.allowance = allowance;
  return offer;
}

class SlotSnapshotsTest : public ::testing::Test {
 protected:
  ByteCount put(int slot, TokenPos position, TokenPos end, ByteCount allowance = 1 << 20) {
    const ByteCount kept = snapshots_.put(SlotId{slot}, offer_at(position, end, allowance),
                                          [&] { return snapshot_at(position); });
    EXPECT_EQ(snapshots_.check(), std::vector<std::string>{});
    return kept;
  }

  SlotSnapshots snapshots_{3, 4};
};

TEST_F(SlotSnapshotsTest, ASlotKeepsItsNumberAndNotTheLeastOfThem) {
  for (const TokenPos at : {100, 300, 310, 320, 900}) put(0, at, 1000);
  EXPECT_EQ(snapshots_.of(SlotId{0}).size(), 4U);
  EXPECT_EQ(snapshots_.find(SlotId{0}, 310), nullptr) << "ten tokens from others on both sides";
  EXPECT_NE(snapshots_.find(SlotId{0}, 900), nullptr);
}

TEST_F(SlotSnapshotsTest, WhatWouldGoAtOnceIsNotCopied) {
  for (const TokenPos at : {1000, 2000, 3000, 4000}) put(0, at, 8000);
  bool asked = false;
  const ByteCount kept = snapshots_.put(SlotId{0}, offer_at(4001, 4001), [&] {
    asked = true;
    return snapshot_at(4001);
  });
  EXPECT_EQ(kept, 0U);
  EXPECT_FALSE(asked);
  EXPECT_EQ(snapshots_.of(SlotId{0}).size(), 4U);
}

TEST_F(SlotSnapshotsTest, WhereBytesAreShortTheSlotWithMostGives) {
  for (const TokenPos at : {100, 200, 300}) put(0, at, 1000, 4 * kBytes);
  put(1, 500, 1000, 4 * kBytes);
  put(2, 600, 1000, 4 * kBytes);
  EXPECT_EQ(snapshots_.of(SlotId{0}).size(), 2U);
  EXPECT_EQ(snapshots_.of(SlotId{1}).size(), 1U);
  EXPECT_EQ(snapshots_.of(SlotId{2}).size(), 1U);
  EXPECT_EQ(snapshots_.bytes(), 4 * kBytes);
}

TEST_F(SlotSnapshotsTest, PlacesGoWithTheRows) {
  for (const TokenPos at : {100, 200, 300}) put(0, at, 1000);
  snapshots_.shorten(SlotId{0}, 200);
  EXPECT_EQ(snapshots_.of(SlotId{0}).size(), 2U);
  EXPECT_EQ(snapshots_.bytes(), 2 * kBytes);
  EXPECT_EQ(snapshots_.clear(), 2 * kBytes);
  EXPECT_EQ(snapshots_.count(), 0U);
}

TEST_F(SlotSnapshotsTest, ASnapshotThatCannotBeHadOrIsTooLargeIsNone) {
  EXPECT_EQ(snapshots_.put(SlotId{0}, offer_at(100, 1000), [] { return SnapshotPtr(); }), 0U);
  EXPECT_EQ(put(0, 100, 1000, kBytes - 1), 0U);
  SlotOffer small = offer_at(100, 1000, kBytes / 2);
  small.bytes = 1;  // it turns out to be more
  EXPECT_EQ(snapshots_.put(SlotId{0}, small, [] { return snapshot_at(100); }), 0U);
  EXPECT_EQ(snapshots_.count(), 0U);
  EXPECT_EQ(snapshots_.check(), std::vector<std::string>{});
}

TEST_F(SlotSnapshotsTest, AnythingInAnyOrderKeepsTheInvariants) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t n) { return static_cast<TokenPos>(random() % n); };
    const ByteCount allowance = kBytes * (1 + random() % 12);
    for (int step = 0; step < 200; ++step) {
      const int slot = below(3);
      const auto places = snapshots_.of(SlotId{slot});
      const TokenPos last = places.empty() ? 0 : places.back().at.position;
      if (below(4) == 0) {
        snapshots_.shorten(SlotId{slot}, below(static_cast<std::uint64_t>(last) + 1));
      } else {
        const TokenPos at = last + 1 + below(100);
        put(slot, at, at + below(50), allowance);
      }
      ASSERT_LE(snapshots_.bytes(), allowance);
    }
    snapshots_.clear();
  }
}

}  // namespace
}  // namespace holdfast::cache
