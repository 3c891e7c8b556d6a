#include "serve/prewarm_log.h"

#include <gtest/gtest.h>

namespace holdfast::serve {
namespace {

constexpr SpaceKey kSpace{1, 2};

TEST(PrewarmLog, WhoeverBeginsWithItIsTold) {
  PrewarmLog log;
  log.note(kSpace, Tokens{1, 2, 3, 4}, 1);
  EXPECT_EQ(log.claim(kSpace, Tokens{1, 2, 3, 5, 6}, 4), 0) << "another prompt";
  EXPECT_EQ(log.claim({7, 7}, Tokens{1, 2, 3, 4, 6}, 4), 0) << "another tenant";
  EXPECT_EQ(log.claim(kSpace, Tokens{1, 2, 3, 4, 6}, 3), 0) << "it begins before the end";
  EXPECT_EQ(log.claim(kSpace, Tokens{1, 2, 3, 4, 6}, 4), 3);
  EXPECT_EQ(log.claim(kSpace, Tokens{1, 2, 3, 4, 6}, 4), 0) << "counted once";
}

TEST(PrewarmLog, ReadingThatGoesOnIsOne) {
  PrewarmLog log;
  log.note(kSpace, Tokens{1, 2, 3}, 1);
  log.note(kSpace, Tokens{1, 2, 3, 4, 5}, 3);
  EXPECT_EQ(log.claim(kSpace, Tokens{1, 2, 3, 4, 5, 6}, 3), 0);
  EXPECT_EQ(log.claim(kSpace, Tokens{1, 2, 3, 4, 5, 6}, 5), 4);
}

TEST(PrewarmLog, WhatWasReadTwiceCountsOnce) {
  PrewarmLog log;
  log.note(kSpace, Tokens{1, 2, 3, 4}, 1);
  log.note(kSpace, Tokens{1, 2, 3, 4, 5, 6}, 0);  // its state had gone
  log.note(kSpace, Tokens{1, 2, 3}, 2);
  EXPECT_EQ(log.claim(kSpace, Tokens{1, 2, 3, 4, 5, 6, 7}, 6), 6);
}

TEST(PrewarmLog, TheLatestAreKnown) {
  PrewarmLog log;
  const auto reading = [](std::size_t i) { return Tokens{static_cast<Token>(i), 1}; };
  for (std::size_t i = 0; i <= PrewarmLog::kReadingsMax; ++i) log.note(kSpace, reading(i), 0);
  EXPECT_EQ(log.claim(kSpace, reading(0), 2), 0);
  EXPECT_EQ(log.claim(kSpace, reading(1), 2), 2);
}

}  // namespace
}  // namespace holdfast::serve
