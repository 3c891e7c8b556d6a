#include <gtest/gtest.h>

#include "record/recording_events.h"

namespace holdfast::record {
namespace {

RecordingHeader some_header() {
  RecordingHeader header;
  header.shape.parts = {{.kind = PartKind::kExtent, .bytes_per_token = 64},
                        {.kind = PartKind::kSnapshot, .bytes_fixed = 1024}};
  header.slots = 2;
  header.context_tokens = 4096;
  header.chunk_tokens_max = 512;
  header.options.slot_snapshots = 8;
  header.options.merged_chunk = 64;
  header.options.names_foreign = true;
  return header;
}

TEST(RecordingHeader, SaysHowThePromptsWereRead) {
  const auto read = decode_header(encode_header(some_header()));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->options.slot_snapshots, 8);
  EXPECT_EQ(read->options.merged_chunk, 64);
  EXPECT_TRUE(read->options.names_foreign);
}

// Each of the last three fields is one byte here.
TEST(RecordingHeader, OfAnOlderServerEndsEarlierAndMeansWhatThatOneDid) {
  const std::string now = encode_header(some_header());
  const auto silent = decode_header(now.substr(0, now.size() - 1));
  ASSERT_TRUE(silent.ok());
  EXPECT_EQ(silent->options.merged_chunk, 64);
  EXPECT_FALSE(silent->options.names_foreign);
  const auto unmerged = decode_header(now.substr(0, now.size() - 2));
  ASSERT_TRUE(unmerged.ok());
  EXPECT_EQ(unmerged->options.slot_snapshots, 8);
  EXPECT_EQ(unmerged->options.merged_chunk, 0);
  const auto without_snapshots = decode_header(now.substr(0, now.size() - 3));
  ASSERT_TRUE(without_snapshots.ok());
  EXPECT_EQ(without_snapshots->options.slot_snapshots, 0);
  EXPECT_FALSE(decode_header(now.substr(0, now.size() - 4)).ok());
}

}  // namespace
}  // namespace holdfast::record
