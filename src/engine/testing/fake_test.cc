// The fake must notice every misplaced state, or the tests built on it prove nothing.
#include "engine/testing/fake.h"

#include <gtest/gtest.h>

namespace holdfast::engine {
namespace {

constexpr SlotId kSlot{0};
constexpr SlotId kOther{1};

Tokens letters(std::string_view text) { return FakeText().tokenize(text, false, false); }

// Ten tokens that follow the slot's state.
Tokens continue_greedily(FakeEngine& engine, SlotId slot) {
  Tokens out;
  auto sampler = FakeText().make_sampler({}, nullptr);
  EXPECT_TRUE(engine.prefill(slot, letters("?"), LogitsOf::kLastToken).ok());
  for (int i = 0; i < 10; ++i) {
    out.push_back(engine.sample(slot, **sampler, 0).value().token);
    const Token last = out.back();
    const DecodeStep step{slot, {&last, 1}};
    EXPECT_TRUE(engine.decode({&step, 1}).ok());
  }
  return out;
}

class FakeKinds : public ::testing::TestWithParam<FakeKind> {
 protected:
  FakeEngine engine_{{.kind = GetParam()}};
};

TEST_P(FakeKinds, OutputFollowsFromEveryToken) {
  ASSERT_TRUE(engine_.prefill(kSlot, letters("abcdefghij"), LogitsOf::kNone).ok());
  ASSERT_TRUE(engine_.prefill(kOther, letters("abXdefghij"), LogitsOf::kNone).ok());
  EXPECT_NE(continue_greedily(engine_, kSlot), continue_greedily(engine_, kOther));
}

TEST_P(FakeKinds, ChunksDoNotMatterUnlessAskedTo) {
  ASSERT_TRUE(engine_.prefill(kSlot, letters("abcdef"), LogitsOf::kNone).ok());
  ASSERT_TRUE(engine_.prefill(kOther, letters("abc"), LogitsOf::kNone).ok());
  ASSERT_TRUE(engine_.prefill(kOther, letters("def"), LogitsOf::kNone).ok());
  EXPECT_EQ(continue_greedily(engine_, kSlot), continue_greedily(engine_, kOther));
}

TEST_P(FakeKinds, ChunkSensitiveOnesNotice) {
  FakeEngine engine({.kind = GetParam(), .chunk_sensitive = true});
  ASSERT_TRUE(engine.prefill(kSlot, letters("abcdef"), LogitsOf::kNone).ok());
  ASSERT_TRUE(engine.prefill(kOther, letters("abc"), LogitsOf::kNone).ok());
  ASSERT_TRUE(engine.prefill(kOther, letters("def"), LogitsOf::kNone).ok());
  EXPECT_NE(continue_greedily(engine, kSlot), continue_greedily(engine, kOther));
}

TEST_P(FakeKinds, WholeStateMovesBetweenSlots) {
  ASSERT_TRUE(engine_.prefill(kSlot, letters("the quick brown fox"), LogitsOf::kNone).ok());
  const auto saved = engine_.save(kSlot, SaveScope::kWhole);
  ASSERT_TRUE(saved.ok());
  ASSERT_TRUE(engine_.load(kOther, *saved).ok());
  EXPECT_EQ(continue_greedily(engine_, kSlot), continue_greedily(engine_, kOther));
  EXPECT_TRUE(engine_.check().empty());
}

TEST_P(FakeKinds, RowsAndASnapshotBringAStateBack) {
  ASSERT_TRUE(engine_.prefill(kSlot, letters("the quick brown fox"), LogitsOf::kNone).ok());
  const auto snapshot = engine_.save(kSlot, SaveScope::kSnapshot);
  std::vector<ExtentRows> blocks;
  std::vector<RowsView> rows;
  if (engine_.shape().find(PartKind::kExtent) != nullptr) {
    blocks.push_back(engine_.save_rows(kSlot, 0, 8).value());
    blocks.push_back(engine_.save_rows(kSlot, 8, 19).value());
    rows = {blocks[0], blocks[1]};
  }
  const Tokens tokens = letters("the quick brown fox");
  std::optional<SavedStateView> state;
  if (snapshot.ok()) state = *snapshot;
  ASSERT_TRUE(engine_.restore(kOther, {tokens, rows, state}).ok());
  EXPECT_EQ(continue_greedily(engine_, kSlot), continue_greedily(engine_, kOther));
  if (rows.empty()) return;
  rows.pop_back();
  EXPECT_FALSE(engine_.restore(kOther, {tokens, rows, state}).ok()) << "half of the rows";
  EXPECT_EQ(engine_.length(kOther), 0);
}

TEST_P(FakeKinds, DamagedStateIsRefusedAndLeavesNothing) {
  ASSERT_TRUE(engine_.prefill(kSlot, letters("abc"), LogitsOf::kNone).ok());
  auto saved = engine_.save(kSlot, SaveScope::kWhole);
  ASSERT_TRUE(saved.ok());
  saved->bytes.front() ^= std::byte{1};
  EXPECT_FALSE(engine_.load(kSlot, *saved).ok());
  EXPECT_EQ(engine_.length(kSlot), 0);
}

INSTANTIATE_TEST_SUITE_P(Kinds, FakeKinds,
                         ::testing::Values(FakeKind::kAttention, FakeKind::kWindowed,
                                           FakeKind::kRecurrent, FakeKind::kHybrid));

TEST(Fake, AttentionIsCutAnywhere) {
  FakeEngine engine({.kind = FakeKind::kAttention});
  ASSERT_TRUE(engine.prefill(kSlot, letters("abcdef"), LogitsOf::kNone).ok());
  ASSERT_EQ(engine.truncate(kSlot, 3), TruncateAnswer::kDone);
  ASSERT_TRUE(engine.prefill(kOther, letters("abc"), LogitsOf::kNone).ok());
  EXPECT_EQ(continue_greedily(engine, kSlot), continue_greedily(engine, kOther));
}

TEST(Fake, RecurrentStateRefusesToGoBack) {
  FakeEngine engine({.kind = FakeKind::kHybrid});
  ASSERT_TRUE(engine.prefill(kSlot, letters("abcdef"), LogitsOf::kNone).ok());
  EXPECT_EQ(engine.truncate(kSlot, 3), TruncateAnswer::kRefused);
  EXPECT_EQ(engine.length(kSlot), 6);
}

TEST(Fake, RollbackReachesAsFarAsTheLastChunk) {
  FakeEngine engine({.kind = FakeKind::kHybrid, .rollback_depth = 3});
  ASSERT_TRUE(engine.prefill(kSlot, letters("abc"), LogitsOf::kNone).ok());
  EXPECT_TRUE(engine.can_truncate(kSlot, 1));
  ASSERT_TRUE(engine.prefill(kSlot, letters("d"), LogitsOf::kNone).ok());
  EXPECT_FALSE(engine.can_truncate(kSlot, 3)) << "one token leaves no plane to go back to";
}

TEST(Fake, SnapshotBringsAHybridBack) {
  FakeEngine engine({.kind = FakeKind::kHybrid});
  ASSERT_TRUE(engine.prefill(kSlot, letters("abc"), LogitsOf::kNone).ok());
  const auto snapshot = engine.save(kSlot, SaveScope::kSnapshot);
  ASSERT_TRUE(snapshot.ok());
  ASSERT_TRUE(engine.prefill(kSlot, letters("defgh"), LogitsOf::kNone).ok());
  ASSERT_TRUE(engine.load(kSlot, *snapshot).ok());
  ASSERT_TRUE(engine.prefill(kOther, letters("abc"), LogitsOf::kNone).ok());
  EXPECT_EQ(continue_greedily(engine, kSlot), continue_greedily(engine, kOther));
}

TEST(Fake, WindowIsCutOnlyWhileItIsHeld) {
  FakeEngine engine({.kind = FakeKind::kWindowed, .chunk_tokens_max = 64, .window = 4});
  ASSERT_TRUE(engine.prefill(kSlot, letters("abcd"), LogitsOf::kNone).ok());
  EXPECT_TRUE(engine.can_truncate(kSlot, 2));
  ASSERT_TRUE(engine.prefill(kSlot, letters("efgh"), LogitsOf::kNone).ok());
  EXPECT_FALSE(engine.can_truncate(kSlot, 6));
}

}  // namespace
}  // namespace holdfast::engine
