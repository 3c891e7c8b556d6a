// Slots saved, restored and erased on the fake engine: after a restore every answer is that of
// a server which has seen nothing, and the state is a live one like any other.
#include <gtest/gtest.h>

#include "engine/draft_model.h"
#include "serve/testing/scheduler_fixture.h"
#include "tier/testing/simulated_files.h"

namespace holdfast::serve {
namespace {

const std::string kSystem = "<s>system: you are a very patient and exact machine</s>";
const std::string kFirst = kSystem + "<s>user: tell me about the sea and its tides</s><s>";
constexpr SpaceKey kOther{1, 2};

std::string asking(const std::string& text) { return "</s><s>user: " + text + "</s><s>"; }

// Something asked of a slot, and the answer once it came.
template <typename T>
struct Asked {
  std::shared_ptr<std::optional<Result<T>>> answer = std::make_shared<std::optional<Result<T>>>();

  [[nodiscard]] Answer<T> sink() const {
    return [answer = answer](Result<T> result) { answer->emplace(std::move(result)); };
  }
  [[nodiscard]] bool there() const { return answer->has_value(); }
  [[nodiscard]] const Result<T>& get() const { return answer->value(); }
};

Asked<SlotCopy> ask_save(Bench& bench, SlotAsk ask) {
  Asked<SlotCopy> asked;
  bench.scheduler.slot_commands().save(std::move(ask), asked.sink());
  return asked;
}
Result<SlotCopy> save(Bench& bench, int slot, SpaceKey space = {}) {
  const auto asked = ask_save(bench, {SlotId{slot}, space, nullptr});
  bench.run_round();
  return asked.get();
}
Result<SlotBrought> restore(Bench& bench, int slot, const cache::SlotState& state,
                            SpaceKey space = {}) {
  Asked<SlotBrought> asked;
  bench.scheduler.slot_commands().restore({SlotId{slot}, space, nullptr},
                                          std::make_shared<const cache::SlotState>(state),
                                          asked.sink());
  bench.run_round();
  return asked.get();
}
Result<TokenPos> erase(Bench& bench, int slot, SpaceKey space = {}) {
  Asked<TokenPos> asked;
  bench.scheduler.slot_commands().erase({SlotId{slot}, space, nullptr}, asked.sink());
  bench.run_round();
  return asked.get();
}

SchedulerOptions scheduling(Exactness exact, ByteCount memory = 64 << 20) {
  SchedulerOptions options;
  options.exact = exact;
  options.cache.memory.budget = memory;
  return options;
}

// As another process would have it.
cache::SlotState through_a_file(const cache::SlotState& state, Scheduler& reader) {
  tier::SimulatedFiles files;
  const cache::SlotOwner owner = cache::slot_owner("");
  EXPECT_TRUE(cache::write_slot_file(files, "x.bin", state, owner, 1).ok());
  auto file =
      cache::read_slot_file(files, "x.bin", owner, reader.slot_commands().limits(state.space));
  EXPECT_TRUE(file.ok()) << file.error().message;
  return file ? file->state : cache::SlotState{};
}

class Slots : public ::testing::TestWithParam<std::tuple<engine::FakeKind, Exactness>> {
 protected:
  static engine::FakeOptions fake() {
    engine::FakeOptions options;
    options.kind = std::get<0>(GetParam());
    options.chunk_sensitive = prompts_are_exact(exact());
    return options;
  }
  static Exactness exact() { return std::get<1>(GetParam()); }
  static std::string cold(const std::string& prompt) {
    Bench bench(fake(), scheduling(exact()));
    return bench.run(prompt);
  }
  static cache::Receipt run(Bench& bench, const std::string& prompt) {
    const auto recorder = bench.submit(prompt);
    bench.turn_until_ended(*recorder);
    EXPECT_EQ(recorder->text_, cold(prompt));
    return *recorder->finished_->receipt;
  }
};

TEST_P(Slots, TheNextServerGoesOnFromAllThatWasSaved) {
  Bench before(fake(), scheduling(exact()));
  const std::string second = kFirst + before.run(kFirst) + asking("and the moon?");
  const int slot = 0;
  const TokenPos held = before.scheduler.status().slots[slot].tokens_held;
  const auto saved = save(before, slot);
  ASSERT_TRUE(saved.ok()) << saved.error().message;
  const TokenPos length = saved->state.length();
  if (!prompts_are_exact(exact())) {
    EXPECT_EQ(length, held);
  } else {
    EXPECT_GT(length, 0);
    EXPECT_EQ(saved->state.exact, length);
  }

  Bench after(fake(), scheduling(exact()));
  const auto restored = restore(after, 1, through_a_file(saved->state, after.scheduler));
  ASSERT_TRUE(restored.ok()) << restored.error().message;
  EXPECT_EQ(restored->tokens, length);
  EXPECT_EQ(after.scheduler.status().slots[1].tokens_held, length);
  const cache::Receipt receipt = run(after, second);
  EXPECT_EQ(receipt.slot, 1);
  EXPECT_EQ(receipt.source, plan::StartSource::kLive);
  EXPECT_EQ(receipt.restored, length);
  EXPECT_EQ(run(before, second).restored, length) << "as the server that was not restarted";
}

TEST_P(Slots, ASaveChangesNothing) {
  Bench bench(fake(), scheduling(exact()));
  const std::string second = kFirst + bench.run(kFirst) + asking("and the moon?");
  const auto once = save(bench, 0);
  const auto twice = save(bench, 0);
  ASSERT_TRUE(once.ok() && twice.ok());
  EXPECT_EQ(once->state.tokens, twice->state.tokens);
  Bench unsaved(fake(), scheduling(exact()));
  unsaved.run(kFirst);
  EXPECT_EQ(run(bench, second).restored, run(unsaved, second).restored);
}

TEST_P(Slots, WhatTheSlotHeldBeforeIsStillFoundInMemory) {
  Bench bench(fake(), scheduling(exact()));
  bench.run(kFirst);
  const auto saved = save(bench, 0);
  ASSERT_TRUE(saved.ok());
  ASSERT_TRUE(erase(bench, 0).ok());
  const std::string other = kSystem + "<s>user: something else, of mountains</s><s>";
  const auto recorder = bench.submit([&] {
    GenerateRequest request = bench.request(other);
    request.slot = SlotId{0};
    return request;
  }());
  bench.turn_until_ended(*recorder);
  const TokenPos held = bench.scheduler.status().slots[0].tokens_held;
  ASSERT_TRUE(restore(bench, 0, saved->state).ok());
  const cache::Receipt receipt = run(bench, other + recorder->text_ + asking("higher?"));
  EXPECT_GT(receipt.restored, length_of(bench.text.tokenize(kSystem, true, true)));
  EXPECT_TRUE(prompts_are_exact(exact()) || receipt.restored == held)
      << receipt.restored << " of " << held;
  EXPECT_EQ(receipt.source, plan::StartSource::kMemory);
}

TEST_P(Slots, ARestoredSlotIsKeptInMemoryWhenItIsTaken) {
  Bench before(fake(), scheduling(exact()));
  const std::string second = kFirst + before.run(kFirst) + asking("and the moon?");
  const auto saved = save(before, 0);
  ASSERT_TRUE(saved.ok());
  engine::FakeOptions one = fake();
  one.slots = 1;
  Bench after(one, scheduling(exact()));
  ASSERT_TRUE(restore(after, 0, saved->state).ok());
  after.run("<s>in no way alike</s><s>");
  const cache::Receipt receipt = run(after, second);
  EXPECT_EQ(receipt.source, plan::StartSource::kMemory);
  EXPECT_EQ(receipt.restored, saved->state.length());
}

TEST_P(Slots, EraseEmptiesTheSlotAndNoOther) {
  Bench bench(fake(), scheduling(exact(), 0));
  const std::string second = kFirst + bench.run(kFirst) + asking("and the moon?");
  const TokenPos held = bench.scheduler.status().slots[0].tokens_held;
  EXPECT_EQ(*erase(bench, 0), held);
  EXPECT_EQ(*erase(bench, 0), 0);
  EXPECT_EQ(*erase(bench, 1), 0);
  EXPECT_EQ(bench.scheduler.status().slots[0].tokens_held, 0);
  EXPECT_EQ(run(bench, second).restored, 0);
}

// In memory it was known from the system message on.
TEST_P(Slots, AnErasedConversationIsReadAgainButForWhatOthersBeginWith) {
  Bench bench(fake(), scheduling(exact()));
  const std::string other = kSystem + "<s>user: something else, of mountains</s><s>";
  const auto in_slot = [&](const std::string& prompt, int slot) {
    GenerateRequest request = bench.request(prompt);
    request.slot = SlotId{slot};
    const auto recorder = bench.submit(std::move(request));
    bench.turn_until_ended(*recorder);
    return recorder->text_;
  };
  const std::string second = kFirst + in_slot(kFirst, 0) + asking("and the moon?");
  const std::string third = other + in_slot(other, 1) + asking("higher?");
  ASSERT_TRUE(erase(bench, 0).ok());
  const TokenPos shared = length_of(bench.text.tokenize(kSystem + "<s>user: ", true, true));
  const TokenPos after = run(bench, second).restored;
  EXPECT_LE(after, shared) << "no more than both begin with";
  EXPECT_GT(run(bench, third).restored, shared) << "the other goes on as before";
  ASSERT_TRUE(erase(bench, 0).ok());
  ASSERT_TRUE(erase(bench, 1).ok());
  if (prompts_are_exact(exact())) return;  // what earlier turns ended with has keys of its own
  EXPECT_EQ(bench.scheduler.cache_commands().status().resident, 0U);
}

TEST_P(Slots, AnEmptySlotIsNotSaved) {
  Bench bench(fake(), scheduling(exact()));
  const auto saved = save(bench, 0);
  EXPECT_EQ(saved.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(saved.error().message, "Slot 0 is empty.");
}

TEST_P(Slots, AnothersConversationIsNeitherSavedNorErased) {
  Bench bench(fake(), scheduling(exact()));
  const std::string second = kFirst + bench.run(kFirst) + asking("and the moon?");
  const auto saved = save(bench, 0);
  ASSERT_TRUE(saved.ok());
  const auto copied = save(bench, 0, kOther);
  ASSERT_FALSE(copied.ok());
  EXPECT_EQ(copied.error().code, ErrorCode::kNotFound);
  const auto erased = erase(bench, 0, kOther);
  ASSERT_FALSE(erased.ok());
  EXPECT_EQ(erased.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(restore(bench, 1, saved->state, kOther).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(run(bench, second).restored, saved->state.length());
  // Its slot may be taken, as by a request; what it held stays its owner's.
  cache::SlotState theirs = saved->state;
  theirs.space = kOther;
  ASSERT_TRUE(restore(bench, 0, theirs, kOther).ok());
  EXPECT_EQ(save(bench, 0).error().code, ErrorCode::kNotFound);
  EXPECT_GE(run(bench, second + "x").restored, saved->state.length());
}

TEST_P(Slots, ASlotAtWorkIsWaitedFor) {
  Bench bench(fake(), scheduling(exact()));
  const auto recorder = bench.submit(kFirst);
  bench.run_round();
  ASSERT_FALSE(recorder->ended());
  const auto saved = ask_save(bench, {SlotId{0}, {}, nullptr});
  auto unwanted = std::make_shared<std::atomic<bool>>(false);
  const auto given_up = ask_save(bench, {SlotId{0}, {}, unwanted});
  const auto free = ask_save(bench, {SlotId{1}, {}, nullptr});
  bench.run_round();
  EXPECT_TRUE(free.there()) << "other slots are not waited for";
  ASSERT_FALSE(recorder->ended());
  EXPECT_FALSE(saved.there());
  *unwanted = true;
  bench.turn_until_ended(*recorder);
  bench.run_round();
  EXPECT_TRUE(saved.get().ok());
  EXPECT_EQ(given_up.get().error().code, ErrorCode::kCancelled);
}

TEST_P(Slots, ARestoreComesBeforeTheRequestsThatWait) {
  engine::FakeOptions one = fake();
  one.slots = 1;
  Bench bench(one, scheduling(exact()));
  const std::string second = kFirst + bench.run(kFirst) + asking("and the moon?");
  const auto saved = save(bench, 0);
  ASSERT_TRUE(saved.ok());
  const auto busy = bench.submit("<s>in no way alike</s><s>");
  bench.run_round();
  const auto waiting = bench.submit(second);
  Asked<SlotBrought> asked;
  bench.scheduler.slot_commands().restore({SlotId{0}, {}, nullptr},
                                          std::make_shared<const cache::SlotState>(saved->state),
                                          asked.sink());
  bench.turn_until_ended(*waiting);
  EXPECT_TRUE(asked.get().ok());
  EXPECT_EQ(waiting->finished_->receipt->source, plan::StartSource::kLive);
  EXPECT_EQ(waiting->finished_->receipt->restored, saved->state.length());
}

TEST_P(Slots, AStateThatTheEngineRefusesLeavesTheSlotEmptyAndTheServerWell) {
  Bench before(fake(), scheduling(exact()));
  before.run(kFirst);
  const auto saved = save(before, 0);
  ASSERT_TRUE(saved.ok());
  const auto break_parts = [&](cache::SlotState state) {
    if (state.snapshot != nullptr) {
      state.snapshot = nullptr;
    } else {
      state.rows.pop_back();
    }
    return state;
  };
  Bench after(fake(), scheduling(exact()));
  after.run("<s>in no way alike</s><s>");
  const auto restored = restore(after, 0, break_parts(saved->state));
  ASSERT_FALSE(restored.ok());
  EXPECT_TRUE(restored.error().message.ends_with("Slot 0 is empty now."))
      << restored.error().message;
  EXPECT_EQ(after.scheduler.status().slots[0].tokens_held, 0);
  run(after, kFirst);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, Slots,
    ::testing::Combine(::testing::Values(engine::FakeKind::kAttention, engine::FakeKind::kWindowed,
                                         engine::FakeKind::kRecurrent, engine::FakeKind::kHybrid),
                       ::testing::ValuesIn(kEachExactness)));

// A draft model on a fake engine, whose snapshots are larger than its shape says.
class RoomyDraft final : public engine::Companion {
 public:
  explicit RoomyDraft(const engine::FakeOptions& fake) : engine_(fake), draft_(engine_) {}
  [[nodiscard]] std::string_view name() const noexcept override { return draft_.name(); }
  [[nodiscard]] engine::CompanionShape shape() const noexcept override {
    engine::CompanionShape shape = draft_.shape();
    shape.bytes_per_place += shape.bytes_per_place > 0 ? 256 : 0;
    return shape;
  }
  engine::Followed follow(SlotId slot, const engine::CompanionPoint& point) noexcept override {
    return draft_.follow(slot, point);
  }
  void advance(SlotId slot, TokenSpan kept, TokenPos first_row) noexcept override {
    draft_.advance(slot, kept, first_row);
  }
  void draft(std::span<engine::DraftWish> wishes) noexcept override { draft_.draft(wishes); }
  engine::CompanionSaved save(SlotId slot, std::span<const TokenRange> blocks,
                              TokenPos length) noexcept override {
    return draft_.save(slot, blocks, length);
  }
  [[nodiscard]] std::uint64_t tokens_read() const { return engine_.tokens_prefilled(); }
  [[nodiscard]] std::vector<std::string> check() const { return draft_.check(); }

 private:
  engine::FakeEngine engine_;
  engine::DraftModel draft_;
};

// A draft model's state goes along: the next server's need not read a token.
class SlotsWithDrafts : public ::testing::TestWithParam<engine::FakeKind> {};

TEST_P(SlotsWithDrafts, TheCompanionHasItsPart) {
  const engine::FakeOptions fake{.kind = GetParam()};
  for (const ByteCount memory : {ByteCount{0}, ByteCount{64 << 20}}) {
    RoomyDraft first_draft(fake), next_draft(fake);
    Bench before(fake, scheduling(Exactness::kOff, memory), {.companion = &first_draft});
    const std::string second = kFirst + before.run(kFirst) + asking("and the moon?");
    const auto saved = save(before, 0);
    ASSERT_TRUE(saved.ok());

    Bench after(fake, scheduling(Exactness::kOff, memory), {.companion = &next_draft});
    ASSERT_TRUE(restore(after, 0, through_a_file(saved->state, after.scheduler)).ok());
    EXPECT_EQ(next_draft.check(), std::vector<std::string>{});
    EXPECT_EQ(next_draft.tokens_read(), 0U);
    const auto recorder = after.submit(second);
    after.turn_until_ended(*recorder);
    EXPECT_EQ(recorder->text_, cold_answer(fake, second));
    const cache::Receipt& receipt = *recorder->finished_->receipt;
    EXPECT_EQ(receipt.restored, saved->state.length());
    ASSERT_TRUE(receipt.companion.has_value());
    EXPECT_EQ(receipt.companion->held, saved->state.length());
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, SlotsWithDrafts,
                         ::testing::Values(engine::FakeKind::kAttention,
                                           engine::FakeKind::kWindowed,
                                           engine::FakeKind::kRecurrent,
                                           engine::FakeKind::kHybrid));

TEST(SlotsOfMany, NoMoreWaitThanAreAllowedAndAllAreAnsweredWhenItStops) {
  Bench bench;
  const auto recorder = bench.submit(kFirst);
  bench.run_round();
  std::vector<Asked<SlotCopy>> asked;
  for (int i = 0; i < 33; ++i) asked.push_back(ask_save(bench, {SlotId{0}, {}, nullptr}));
  EXPECT_EQ(asked.back().get().error().code, ErrorCode::kUnavailable);
  bench.run_round();
  EXPECT_FALSE(asked.front().there());
  bench.scheduler.request_stop(StopMode::kAbort);
  bench.run_round();
  for (const auto& one : asked) EXPECT_EQ(one.get().error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(ask_save(bench, {SlotId{0}, {}, nullptr}).get().error().code, ErrorCode::kUnavailable);
}

TEST(SlotsOfMany, StatesThatAreNotCutAsHereAreRefusedAndTheSlotStays) {
  Bench free({}, scheduling(Exactness::kOff)), exact({}, scheduling(Exactness::kPrompt));
  free.run(kFirst);
  exact.run(kFirst);
  const auto of_free = save(free, 0);
  const auto of_exact = save(exact, 0);
  ASSERT_TRUE(of_free.ok() && of_exact.ok());
  const auto expect_refused = [](Bench& bench, const cache::SlotState& state) {
    const TokenPos held = bench.scheduler.status().slots[0].tokens_held;
    const auto restored = restore(bench, 0, state);
    ASSERT_FALSE(restored.ok());
    EXPECT_EQ(restored.error().code, ErrorCode::kInvalidArgument);
    EXPECT_TRUE(restored.error().message.ends_with("Slot 0 is as it was."));
    EXPECT_EQ(bench.scheduler.status().slots[0].tokens_held, held);
  };
  expect_refused(exact, of_free->state);
  expect_refused(free, of_exact->state);
  cache::SlotState forged = of_exact->state;
  forged.keys.front() ^= 1;
  expect_refused(exact, forged);
  forged = of_exact->state;
  forged.exact -= 1;
  expect_refused(exact, forged);
}

}  // namespace
}  // namespace holdfast::serve
