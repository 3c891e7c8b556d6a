#include "record/call_notes.h"

#include <gtest/gtest.h>

#include <chrono>

namespace holdfast::record {
namespace {

env::Clock::TimePoint at(int ns) { return env::Clock::TimePoint(std::chrono::nanoseconds(ns)); }

// CALL-1
TEST(CallNotes, Call1HoldWhatWasAnsweredInsideTheCallInOrder) {
  CallNotes notes;
  notes.note({AnswerKind::kTruncate, true});
  notes.open(EventKind::kBegin, SlotId{3});
  notes.note({AnswerKind::kCanTruncate, false});
  notes.note({AnswerKind::kRestore, true});
  const CacheEvent* call = notes.close();
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(call->kind, EventKind::kBegin);
  EXPECT_EQ(call->slot, 3);
  ASSERT_EQ(call->answers.size(), 2U);
  EXPECT_EQ(call->answers[0].kind, AnswerKind::kCanTruncate);
  EXPECT_EQ(call->answers[1].kind, AnswerKind::kRestore);
  notes.note({AnswerKind::kTruncate, true});
  notes.open(EventKind::kEnd, SlotId{0});
  EXPECT_TRUE(notes.close()->answers.empty());
}

// A reading counts from the one before it, even if that was inside an earlier call.
TEST(CallNotes, TimesCountFromTheReadingBefore) {
  CallNotes notes;
  notes.open(EventKind::kPlan, {});
  notes.note_time(at(500));
  notes.note_time(at(800));
  EXPECT_EQ(notes.close()->clock_ns, (std::vector<std::int64_t>{0, 300}));
  notes.note_time(at(900));  // outside of a call
  notes.open(EventKind::kBegin, {});
  notes.note_time(at(1000));
  EXPECT_EQ(notes.close()->clock_ns, (std::vector<std::int64_t>{200}));
}

TEST(CallNotes, ADroppedCallLeavesNothing) {
  CallNotes notes;
  EXPECT_EQ(notes.close(), nullptr);
  notes.open(EventKind::kPlan, {});
  notes.drop();
  EXPECT_EQ(notes.close(), nullptr);
}

}  // namespace
}  // namespace holdfast::record
