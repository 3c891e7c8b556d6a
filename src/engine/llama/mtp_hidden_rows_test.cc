#include "engine/llama/mtp_hidden_rows.h"

#include <gtest/gtest.h>

#include <array>

namespace holdfast::llama {
namespace {

using HiddenRow = std::array<float, 2>;

HiddenRow row(float value) { return {value, value + 0.5F}; }

MtpHiddenRows empty_rows() { return {2, 4}; }

// The carried row after `tokens` tokens; token i leaves row(i + 1).
MtpHiddenRows after(TokenPos tokens) {
  MtpHiddenRows rows = empty_rows();
  for (TokenPos i = 0; i < tokens; ++i) rows.push(row(static_cast<float>(i + 1)));
  return rows;
}

void expect_sound(const MtpHiddenRows& rows) {
  std::vector<std::string> violations;
  rows.check(violations, "the slot");
  for (const auto& violation : violations) ADD_FAILURE() << violation;
}

TEST(MtpHiddenRows, EachPositionIsReadWithTheRowOfTheTokenBefore) {
  const MtpHiddenRows rows = after(3);
  EXPECT_EQ(rows.begin(), 0);
  EXPECT_EQ(rows.end(), 3);
  EXPECT_EQ(rows.at(0)[0], 0.0F);  // nothing lies before the first token
  EXPECT_EQ(rows.at(1)[0], 1.0F);
  EXPECT_EQ(rows.at(3)[0], 3.0F);
  expect_sound(rows);
}

TEST(MtpHiddenRows, CarryTheLastRowWhenNoneIsPending) {
  MtpHiddenRows rows = after(3);
  rows.restart_at(3);
  EXPECT_EQ(rows.pending(), 0);
  EXPECT_EQ(rows.at(3)[1], 3.5F);
  EXPECT_FALSE(rows.knows(2));
  expect_sound(rows);
}

TEST(MtpHiddenRows, ACutGoesBackToAPendingRow) {
  MtpHiddenRows rows = after(3);
  rows.truncate(1);
  EXPECT_EQ(rows.end(), 1);
  EXPECT_EQ(rows.at(1)[0], 1.0F);
  rows.push(row(9.0F));
  EXPECT_EQ(rows.at(1)[0], 1.0F);
  EXPECT_EQ(rows.at(2)[0], 9.0F);
  expect_sound(rows);
}

TEST(MtpHiddenRows, AKeptRowComesBack) {
  const CheckedBytes kept = after(3).copy_of_carried();
  MtpHiddenRows rows = empty_rows();
  rows.restart_at(3);
  rows.restore_carried(kept);
  EXPECT_TRUE(rows.knows(3));
  EXPECT_EQ(rows.at(3)[1], 3.5F);
}

// Zeros stand for the lost row: its position stays unknown, and the next ones are known again.
TEST(MtpHiddenRows, ADamagedRowIsUnknownAtItsPositionOnly) {
  CheckedBytes kept = after(3).copy_of_carried();
  kept.bytes[0] ^= std::byte{1};
  MtpHiddenRows rows = after(5);
  rows.restart_at(3);
  rows.restore_carried(kept);
  EXPECT_FALSE(rows.knows(3));
  EXPECT_EQ(rows.at(3)[0], 0.0F);
  rows.push(row(4.0F));
  EXPECT_FALSE(rows.knows(3));
  EXPECT_TRUE(rows.knows(4));
  rows.truncate(3);
  EXPECT_FALSE(rows.knows(3));
  rows.restore_carried(after(3).copy_of_carried());
  EXPECT_TRUE(rows.knows(3));
}

TEST(MtpHiddenRows, ZerosBeforeTheFirstTokenAreKnown) {
  MtpHiddenRows rows = after(2);
  rows.restart_at(0);
  rows.restore_carried({});
  EXPECT_TRUE(rows.knows(0));
  EXPECT_EQ(rows.at(0)[0], 0.0F);
}

}  // namespace
}  // namespace holdfast::llama
