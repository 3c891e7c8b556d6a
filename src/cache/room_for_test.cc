#include "cache/room_for.h"

#include <gtest/gtest.h>

#include "plan/placement.h"

namespace holdfast::cache {
namespace {

constexpr ByteCount kKiB = 1024;
constexpr ByteCount kMiB = 1024 * kKiB;
constexpr ByteCount kGiB = 1024 * kMiB;

Part extent(ByteCount bytes) { return {.kind = PartKind::kExtent, .bytes_per_token = bytes}; }
Part recurrent(ByteCount bytes) { return {.kind = PartKind::kSnapshot, .bytes_fixed = bytes}; }

// Qwen3.5 9B.
RoomInput hybrid(ByteCount memory, ByteCount disk = 0) {
  return {.shape = {{extent(32 * kKiB), recurrent(50 * kMiB)}},
          .context = 262'144,
          .step = 256,
          .memory = memory,
          .disk = disk};
}

TEST(RoomFor, AHybridHasRowsAndTheSnapshotsThatArePromised) {
  const RoomFor room = room_for(hybrid(8 * kGiB, 4 * kGiB));
  EXPECT_EQ(room.tokens, kUsualTokens);
  EXPECT_EQ(room.row_bytes, 512 * kMiB);
  EXPECT_EQ(room.snapshots, plan::near_end_places(kUsualTokens, {.step = 256, .factor = 2}) + 2);
  EXPECT_EQ(room.snapshots, 10U);
  EXPECT_EQ(room.bytes(), 1012 * kMiB);
  EXPECT_EQ(room.in_memory(), 8U);
  EXPECT_LT(room.snapshots_least, room.snapshots);
  ASSERT_GT(room.bytes_least(), 0U);
  EXPECT_EQ(room.on_disk(), 4 * kGiB / room.bytes_least());
  EXPECT_TRUE(room_warnings(room).empty());
  EXPECT_EQ(room_in_words(room),
            "a conversation of 16,384 tokens takes about 1012.0 MiB (rows 512.0 MiB, 10 snapshots "
            "of 50.0 MiB); memory for states (8.0 GiB) holds about 8 of them, the disk (4.0 GiB) "
            "about 6");
}

TEST(RoomFor, AShortContextIsTheUsualLength) {
  RoomInput input = hybrid(8 * kGiB);
  input.context = 4096;
  EXPECT_EQ(room_for(input).tokens, 4096);
  EXPECT_EQ(room_for(input).row_bytes, 128 * kMiB);
}

TEST(RoomFor, FewerSnapshotsWhereMemoryIsScarce) {
  EXPECT_LT(room_for(hybrid(kGiB)).snapshots, room_for(hybrid(8 * kGiB)).snapshots);
  const RoomFor scarce = room_for(hybrid(200 * kMiB));
  EXPECT_EQ(scarce.snapshots, 3U);
}

TEST(RoomFor, WhereNotOneFitsItSaysWhatToGive) {
  const RoomFor room = room_for(hybrid(200 * kMiB, 100 * kMiB));
  EXPECT_EQ(room.in_memory(), 0U);
  const auto warnings = room_warnings(room);
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_NE(warnings[0].find("Give --cache-ram 662 or more"), std::string::npos) << warnings[0];
  EXPECT_NE(warnings[1].find("Give --cache-disk 662 or more"), std::string::npos) << warnings[1];
  RoomInput larger = hybrid(662 * kMiB, 662 * kMiB);
  EXPECT_TRUE(room_warnings(room_for(larger)).empty()) << "what it says is enough";
}

TEST(RoomFor, RowsAlone) {
  RoomInput input = hybrid(8 * kGiB);
  input.shape = {{extent(128 * kKiB)}};
  const RoomFor room = room_for(input);
  EXPECT_EQ(room.snapshots, 0U);
  EXPECT_EQ(room_in_words(room),
            "a conversation of 16,384 tokens takes about 2.0 GiB (rows 2.0 GiB); memory for states "
            "(8.0 GiB) holds about 4 of them");
}

TEST(RoomFor, AWindowCountsAsFarAsItReaches) {
  RoomInput input = hybrid(64 * kGiB);
  input.shape = {{extent(80 * kKiB),
                  {.kind = PartKind::kWindow, .bytes_per_token = 416 * kKiB, .window = 1024}}};
  EXPECT_EQ(room_for(input).snapshot_bytes, 416 * kMiB);
  EXPECT_EQ(room_for(input).row_bytes, 1280 * kMiB);
  input.context = 512;
  EXPECT_EQ(room_for(input).snapshot_bytes, 208 * kMiB);
}

TEST(RoomFor, SnapshotsAlone) {
  RoomInput input = hybrid(8 * kGiB);
  input.shape = {{recurrent(kMiB)}};
  input.companion = {.bytes_per_token = 100, .bytes_per_place = 0};
  const RoomFor room = room_for(input);
  EXPECT_EQ(room.row_bytes, 0U) << "a companion's rows lie in the model's blocks";
  EXPECT_EQ(room_in_words(room).find("rows"), std::string::npos);
}

TEST(RoomFor, TheCompanionsPartIsCounted) {
  RoomInput input = hybrid(8 * kGiB);
  input.companion = {.bytes_per_token = 4 * kKiB, .bytes_per_place = kMiB};
  EXPECT_EQ(room_for(input).row_bytes, 576 * kMiB);
  EXPECT_EQ(room_for(input).snapshot_bytes, 51 * kMiB);
}

TEST(RoomFor, NoBudgetOrNoLimit) {
  EXPECT_EQ(room_in_words(room_for(hybrid(0))), "");
  EXPECT_TRUE(room_warnings(room_for(hybrid(0))).empty());
  const std::string unlimited = room_in_words(room_for(hybrid(~ByteCount{0} / 2)));
  EXPECT_TRUE(unlimited.ends_with("memory for states has no limit")) << unlimited;
}

}  // namespace
}  // namespace holdfast::cache
