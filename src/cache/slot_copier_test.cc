#include "cache/slot_copier.h"

#include <gtest/gtest.h>

#include "engine/testing/fake.h"
#include "tier/testing/blob_maker.h"

namespace holdfast::cache {
namespace {

constexpr SlotId kFrom{0};
constexpr SlotId kTo{1};

// Says more than its shape allows, or exactly as much.
class Talkative final : public engine::Companion {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "talkative"; }
  [[nodiscard]] engine::CompanionShape shape() const noexcept override { return {2, 5}; }
  [[nodiscard]] engine::Followed follow(SlotId, const engine::CompanionPoint&) noexcept override {
    return {};
  }
  void advance(SlotId, TokenSpan, TokenPos) noexcept override {}
  void draft(std::span<engine::DraftWish>) noexcept override {}
  [[nodiscard]] engine::CompanionSaved save(SlotId, std::span<const TokenRange> blocks,
                                            TokenPos) noexcept override {
    engine::CompanionSaved saved;
    for (const TokenRange& block : blocks) {
      const auto bytes = static_cast<std::size_t>(2 * block.length()) + more;
      saved.rows.push_back(CheckedBytes::of(StateBytes(bytes)));
    }
    saved.place = CheckedBytes::of(StateBytes(5 + more));
    return saved;
  }
  std::size_t more = 0;
};

class SlotCopierTest : public ::testing::TestWithParam<engine::FakeKind> {
 protected:
  void read(SlotId slot, std::size_t count) {
    for (std::size_t at = 0; at < count; at += 50) {
      const TokenSpan chunk = TokenSpan(path_).subspan(at, std::min<std::size_t>(50, count - at));
      ASSERT_TRUE(engine_.prefill(slot, chunk, engine::LogitsOf::kLastToken).ok());
    }
  }
  [[nodiscard]] CopyOrder whole_state(TokenPos length) const {
    CopyOrder order{.slot = kFrom, .length = length};
    const tree::StateNeeds needs = tree::StateNeeds::of(engine_.shape());
    if (needs.blocks) order.rows = {{0, length}};
    order.snapshot = needs.snapshot;
    return order;
  }
  static HeldParts parts_of(const CopiedState& copied) {
    HeldParts parts;
    for (const ExtentBlockPtr& block : copied.rows) parts.rows.push_back({block, block->range()});
    if (!copied.snapshots.empty()) parts.snapshot = copied.snapshots.front();
    return parts;
  }

  engine::FakeFault fault_ = engine::FakeFault::kNone;
  engine::FakeEngine engine_{{.kind = GetParam(), .faults = [this](auto) { return fault_; }}};
  Tokens path_ = tier::counting(200);
};

TEST_P(SlotCopierTest, COPIER1WhatIsCopiedAndRestoredGoesOnAlike) {
  SlotCopier copier(engine_, nullptr);
  read(kFrom, 150);
  const auto copied = copier.copy(whole_state(150));
  ASSERT_TRUE(copied.has_value());
  EXPECT_EQ(copied->bytes, copier.state_bytes(150));
  const auto moved = copier.restore(kTo, TokenSpan(path_).first(150), parts_of(*copied));
  ASSERT_TRUE(moved.ok());
  const TokenSpan next = TokenSpan(path_).subspan(150, 10);
  std::vector<std::vector<float>> said;
  for (const SlotId slot : {kFrom, kTo}) {
    ASSERT_TRUE(engine_.prefill(slot, next, engine::LogitsOf::kLastToken).ok());
    const auto logits = engine_.logits(slot, 0);
    said.emplace_back(logits.begin(), logits.end());
  }
  EXPECT_EQ(said[0], said[1]);
}

TEST_P(SlotCopierTest, COPIER2WhatACompanionSaysBeyondItsShapeIsNotKept) {
  Talkative companion;
  for (const std::size_t more : {0U, 1U}) {
    companion.more = more;
    SlotCopier copier(engine_, &companion);
    engine_.clear(kFrom);
    read(kFrom, 100);
    const auto copied = copier.copy(whole_state(100));
    ASSERT_TRUE(copied.has_value());
    for (const ExtentBlockPtr& block : copied->rows) {
      EXPECT_EQ(copier.lacks_companion(*block), more > 0);
    }
    for (const SnapshotPtr& snapshot : copied->snapshots) {
      EXPECT_EQ(copier.lacks_companion(*snapshot), more > 0);
    }
  }
}

TEST_P(SlotCopierTest, AnEngineThatFailsCopiesNothing) {
  SlotCopier copier(engine_, nullptr);
  read(kFrom, 100);
  fault_ = engine::FakeFault::kFail;
  EXPECT_FALSE(copier.copy(whole_state(100)).has_value());
}

INSTANTIATE_TEST_SUITE_P(Kinds, SlotCopierTest,
                         ::testing::Values(engine::FakeKind::kAttention,
                                           engine::FakeKind::kWindowed,
                                           engine::FakeKind::kRecurrent,
                                           engine::FakeKind::kHybrid));

}  // namespace
}  // namespace holdfast::cache
