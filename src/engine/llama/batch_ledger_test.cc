#include "engine/llama/batch_ledger.h"

#include <gtest/gtest.h>

namespace holdfast::llama {
namespace {

constexpr SlotId kFirst{0};
constexpr SlotId kSecond{1};

// Two slots; steps of up to 4 tokens, of which 2 can be taken back.
BatchLedger ledger_of_two() { return {2, 4, 2}; }

void expect_sound(const BatchLedger& ledger) {
  for (const auto& violation : ledger.check()) ADD_FAILURE() << violation;
}

TEST(BatchLedger, OutputsAreTheLastRowsOfASlotsPart) {
  BatchLedger ledger = ledger_of_two();
  ledger.note_batch(kFirst, 0, 3, 1);  // a chunk with the logits of its last token
  EXPECT_EQ(ledger.output_row(kFirst, 0), 2);
  ledger.forget_batch();
  ledger.note_batch(kFirst, 0, 3, 3);
  ledger.note_batch(kSecond, 3, 3, 3);
  EXPECT_EQ(ledger.output_row(kSecond, 2), 5);
  EXPECT_EQ(ledger.token_row(kSecond, 0), 3);
  EXPECT_EQ(ledger.token_row(kSecond, 3), -1);
  EXPECT_EQ(ledger.batch_position(kFirst), 3);
  EXPECT_EQ(ledger.batch_position(kSecond), 0);
  EXPECT_EQ(ledger.length(kFirst), 6);
  expect_sound(ledger);
}

// LEDGER-2: a step of n tokens can lose n - 1 of them, and never more than there are planes for.
TEST(BatchLedger, Ledger2TakesBackWhatTheLatestStepHas) {
  const BatchLedger ledger = ledger_of_two();
  EXPECT_EQ(ledger.rollback_after(1), 0);
  EXPECT_EQ(ledger.rollback_after(2), 1);
  EXPECT_EQ(ledger.rollback_after(4), 2);
  EXPECT_EQ(ledger.rollback_after(5), 0);  // more than a step: part of a prompt
}

TEST(BatchLedger, Ledger2OneCutForEachBatch) {
  BatchLedger ledger = ledger_of_two();
  ledger.note_batch(kFirst, 0, 4, 4);
  EXPECT_TRUE(ledger.can_roll_back(kFirst, 2));
  EXPECT_FALSE(ledger.can_roll_back(kFirst, 1));
  ledger.note_truncation(kFirst, 3);
  EXPECT_EQ(ledger.length(kFirst), 3);
  EXPECT_FALSE(ledger.can_roll_back(kFirst, 2));
  expect_sound(ledger);
}

TEST(BatchLedger, ANewBatchEndsWhatAnotherSlotCouldTakeBack) {
  BatchLedger ledger = ledger_of_two();
  ledger.note_batch(kFirst, 0, 3, 3);
  ledger.forget_batch();
  ledger.note_batch(kSecond, 0, 3, 3);
  EXPECT_FALSE(ledger.can_roll_back(kFirst, 2));
  EXPECT_TRUE(ledger.can_roll_back(kFirst, 3));  // nothing to take back
  EXPECT_EQ(ledger.batch_position(kFirst), -1);
  EXPECT_EQ(ledger.token_row(kFirst, 0), -1);
  expect_sound(ledger);
}

TEST(BatchLedger, OverwrittenLogitsLeaveHiddenRows) {
  BatchLedger ledger = ledger_of_two();
  ledger.note_batch(kFirst, 0, 2, 2);
  ledger.forget_logits();
  EXPECT_EQ(ledger.token_row(kFirst, 1), 1);
  EXPECT_TRUE(ledger.can_roll_back(kFirst, 1));
  expect_sound(ledger);
}

// LEDGER-1: a slot that is said to be longer without a batch is noticed.
TEST(BatchLedger, Ledger1IsChecked) {
  BatchLedger ledger = ledger_of_two();
  ledger.note_batch(kFirst, 0, 2, 2);
  ledger.note_loaded(kFirst, 7);
  ASSERT_EQ(ledger.check().size(), 1U);
  EXPECT_TRUE(ledger.check().front().starts_with("LEDGER-1"));
}

}  // namespace
}  // namespace holdfast::llama
