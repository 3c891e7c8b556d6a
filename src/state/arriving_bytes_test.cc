#include "state/arriving_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

constexpr std::size_t kSize = 3 << 20;

TEST(ArrivingBytes, WhoeverReadsWaitsForAllOfThem) {
  for (int round = 0; round < 50; ++round) {
    ArrivingBytes bytes(kSize);
    EXPECT_EQ(bytes.size(), kSize);
    EXPECT_FALSE(bytes.here());
    std::vector<std::thread> readers;
    std::atomic<int> whole = 0;
    for (int i = 0; i < 3; ++i) {
      readers.emplace_back([&] {
        const auto seen = bytes.bytes();
        const bool all = std::ranges::all_of(seen, [](std::byte b) { return b == std::byte{7}; });
        if (all && hash_bytes(seen) == bytes.checksum()) ++whole;
      });
    }
    std::ranges::fill(bytes.room(), std::byte{7});
    bytes.arrive();
    for (std::thread& reader : readers) reader.join();
    EXPECT_EQ(whole, 3);
    EXPECT_TRUE(bytes.here());
  }
}

TEST(ArrivingBytes, WhatFailedIsDamaged) {
  ArrivingBytes bytes(kSize);
  bytes.fail();
  EXPECT_TRUE(bytes.here());
  EXPECT_NE(hash_bytes(bytes.bytes()), bytes.checksum());
}

TEST(ArrivingBytes, WhatIsHereKeepsItsMakersChecksum) {
  const ArrivingBytes bytes(StateBytes(64), 12);
  EXPECT_TRUE(bytes.here());
  EXPECT_EQ(bytes.checksum(), 12U);
  EXPECT_EQ(bytes.bytes().size(), 64U);
}

}  // namespace
}  // namespace holdfast
