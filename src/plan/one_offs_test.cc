#include "plan/one_offs.h"

#include <gtest/gtest.h>

namespace holdfast::plan {
namespace {

TEST(OneOffs, ONEOFF1WhatIsShortAndUnknownBesideALongConversation) {
  OneOffs one_offs;
  EXPECT_FALSE(one_offs.note("s", {900, 0})) << "nothing is longer";
  EXPECT_FALSE(one_offs.note("s", {104'000, 0}));
  EXPECT_TRUE(one_offs.note("s", {900, 300}));
  EXPECT_TRUE(one_offs.note("s", {26'000, 13'000}));
  EXPECT_FALSE(one_offs.note("s", {26'001, 0})) << "longer than a quarter";
}

TEST(OneOffs, ONEOFF1WhatIsKnownGoesOn) {
  OneOffs one_offs;
  EXPECT_FALSE(one_offs.note("s", {104'000, 0}));
  EXPECT_TRUE(one_offs.note("s", {9'000, 2'000})) << "a subagent's first prompt";
  EXPECT_FALSE(one_offs.note("s", {9'500, 9'000})) << "and its second";
  EXPECT_FALSE(one_offs.note("s", {104'400, 104'000})) << "compacting";
}

TEST(OneOffs, AConversationThatWasLeftFades) {
  OneOffs one_offs;
  EXPECT_FALSE(one_offs.note("s", {104'000, 0}));
  EXPECT_TRUE(one_offs.note("s", {2'000, 0}));
  for (int turn = 0; turn < 30; ++turn) EXPECT_FALSE(one_offs.note("s", {4'000, 3'900}));
  EXPECT_FALSE(one_offs.note("s", {2'000, 0})) << "half of the conversation that goes on now";
  EXPECT_TRUE(one_offs.note("s", {800, 0}));
}

TEST(OneOffs, OneOffsDoNotMakeItFade) {
  OneOffs one_offs;
  EXPECT_FALSE(one_offs.note("s", {104'000, 0}));
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(one_offs.note("s", {900, 0}));
}

TEST(OneOffs, ONEOFF2SessionsDoNotCountForOneAnother) {
  OneOffs one_offs;
  EXPECT_FALSE(one_offs.note("s", {104'000, 0}));
  EXPECT_FALSE(one_offs.note("t", {900, 0}));
}

TEST(OneOffs, ONEOFF3TheSessionsUsedLastAreRemembered) {
  OneOffs one_offs;
  EXPECT_FALSE(one_offs.note("first", {104'000, 0}));
  EXPECT_FALSE(one_offs.note("second", {104'000, 0}));
  for (std::size_t i = 0; i + 2 < OneOffs::kSessionsMax; ++i)
    EXPECT_FALSE(one_offs.note(std::to_string(i), {10, 0}));
  EXPECT_TRUE(one_offs.note("first", {900, 0}));
  EXPECT_FALSE(one_offs.note("one more", {10, 0}));
  EXPECT_EQ(one_offs.sessions(), OneOffs::kSessionsMax);
  EXPECT_TRUE(one_offs.note("first", {900, 0}));
  EXPECT_FALSE(one_offs.note("second", {900, 0})) << "forgotten";
}

}  // namespace
}  // namespace holdfast::plan
