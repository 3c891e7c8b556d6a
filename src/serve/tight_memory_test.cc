// The scheduler with far less memory than one conversation needs, on the fake engine: slots go
// back in their own rows, and whatever they do, the answer is that of a server which has seen
// nothing.
#include <gtest/gtest.h>

#include <random>

#include "serve/testing/scheduler_fixture.h"

namespace holdfast::serve {
namespace {

const std::string kSystem = "<s>system: " + std::string(80, 's') + "</s>";

// A place that is missed may have gone, and the one before it is as many tokens away at most: a few
// steps of the grid.
constexpr TokenPos kThinned = 4 * 16;

SchedulerOptions tight(int slot_snapshots = 8, Exactness exact = Exactness::kOff) {
  SchedulerOptions options;
  options.exact = exact;
  options.cache.memory.budget = 16;  // the rows of two tokens
  options.cache.slot_snapshots = slot_snapshots;
  return options;
}

std::string user(const std::string& text) { return "<s>user: " + text + "</s>"; }
std::string asking(const std::string& text) { return user(text) + "<s>"; }

class Tight : public ::testing::TestWithParam<std::tuple<engine::FakeKind, Exactness>> {
 protected:
  static engine::FakeKind kind() { return std::get<0>(GetParam()); }
  static Exactness exact() { return std::get<1>(GetParam()); }
  static engine::FakeOptions fake(int slots = 1) {
    return {.kind = kind(),
            .slots = slots,
            .context_tokens = 4096,
            .chunk_sensitive = prompts_are_exact(exact())};
  }

  cache::Receipt run(Bench& bench, const std::string& prompt, TokenPos max_tokens = 20) {
    return run_as_cold(bench, fake(), prompt, max_tokens, answer);
  }

  static TokenPos length(Bench& bench, const std::string& prompt) {
    return length_of(bench.text.tokenize(prompt, true, true));
  }

  std::string answer;
};

TEST_P(Tight, AnotherQuestionOnALongDocumentReadsTheQuestion) {
  Bench bench(fake(), tight(8, exact()));
  const std::string document = kSystem + "<s>user: " + std::string(2000, 'd');
  run(bench, document + " what is one?</s><s>");
  const cache::Receipt receipt = run(bench, document + " what is two?</s><s>");
  EXPECT_EQ(receipt.source, plan::StartSource::kSnapshotInPlace);
  EXPECT_GE(receipt.restored, length(bench, document) - kThinned);
}

TEST_P(Tight, AnAnswerIsAskedForAgainAndTheQuestionEdited) {
  Bench bench(fake(), tight(8, exact()));
  const std::string opening = kSystem + user(std::string(300, 'a'));
  run(bench, opening + asking("first"));
  EXPECT_GE(run(bench, opening + asking("first")).restored, length(bench, opening) - kThinned);
  EXPECT_GE(run(bench, opening + asking("second")).restored, length(bench, opening) - kThinned);
  EXPECT_GE(run(bench, kSystem + asking("a new one")).restored, length(bench, kSystem) - kThinned);
}

TEST_P(Tight, BranchesThatReturnReadNoMoreThanTheirOwnPart) {
  Bench bench(fake(2), tight(8, exact()));
  const std::string base = kSystem + user(std::string(600, 'b'));
  const std::string left = base + user(std::string(50, 'l'));
  const std::string right = base + user(std::string(50, 'r'));
  run(bench, left + asking("one"));
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_GE(run(bench, right + asking("two")).restored, length(bench, base) - kThinned);
    EXPECT_GE(run(bench, left + asking("three")).restored, length(bench, base) - kThinned);
  }
}

TEST_P(Tight, ALongConversationKeepsItsNumberOfPlacesInEachSlot) {
  Bench bench(fake(2), tight(3, exact()));
  std::string talk = kSystem;
  for (int turn = 0; turn < 12; ++turn) {
    talk += asking(std::string(static_cast<std::size_t>(20 + 7 * turn), 'q'));
    run(bench, talk, 5);
    talk += answer + "</s>";
    run(bench, "<s>user: another one, number " + std::to_string(turn) + "</s><s>", 5);
    const cache::CacheStatus status = bench.scheduler.cache_commands().status();
    EXPECT_LE(status.slot_snapshot_count, 2U * 3U);
    EXPECT_LE(status.slot_snapshots, status.slot_snapshots_max);
    EXPECT_LE(status.peak, status.budget);
  }
}

TEST_P(Tight, WithNoneForTheSlotsTheBudgetIsNeverExceeded) {
  Bench bench(fake(), tight(0, exact()));
  run(bench, kSystem + asking(std::string(500, 'x')));
  run(bench, kSystem + asking("y"));
  const cache::CacheStatus status = bench.scheduler.cache_commands().status();
  EXPECT_EQ(status.slot_snapshots, 0U);
  EXPECT_EQ(status.slot_snapshots_max, 0U);
  EXPECT_LE(status.peak, status.budget);
}

TEST_P(Tight, ClearingEmptiesTheSlotsPlacesToo) {
  Bench bench(fake(), tight(8, exact()));
  run(bench, kSystem + asking("hello"));
  EXPECT_GT(bench.scheduler.cache_commands().status().slot_snapshots, 0U);
  auto freed = bench.clear_cache();
  bench.run_round();
  EXPECT_GT(*freed, ByteCount{0});
  EXPECT_EQ(bench.scheduler.cache_commands().status().slot_snapshots, 0U);
  EXPECT_EQ(run(bench, kSystem + asking("hello")).restored, 0);
}

TEST_P(Tight, ADamagedPlaceCostsTimeOnly) {
  bool corrupt = true;
  engine::FakeOptions damaged = fake();
  damaged.faults = [&](engine::FakeOperation operation) {
    return corrupt && operation == engine::FakeOperation::kSave ? engine::FakeFault::kCorrupt
                                                                : engine::FakeFault::kNone;
  };
  Bench bench(damaged, tight(8, exact()));
  const std::string opening = kSystem + user(std::string(300, 'a'));
  run(bench, opening + asking("first"));
  corrupt = false;
  run(bench, opening + asking("second"));
  EXPECT_GT(bench.scheduler.cache_commands().status().quarantined, 0U);
  EXPECT_GT(run(bench, opening + asking("third")).restored, 0) << "it has been kept again";
}

TEST_P(Tight, ACancelledPromptIsGoneOnWith) {
  Bench bench(fake(), tight(8, exact()));
  const std::string prompt = kSystem + asking(std::string(800, 'x'));
  auto request = bench.request(prompt);
  const std::string id = request.id;
  bench.submit(std::move(request));
  for (int i = 0; i < 20; ++i) bench.run_round();
  bench.scheduler.cancel(id);
  bench.run_round();
  EXPECT_GE(run(bench, prompt).restored, 16 * 16);
}

TEST_P(Tight, OtherTenantsDoNotGoBackInASlot) {
  Bench bench(fake(), tight(8, exact()));
  const std::string prompt = kSystem + asking("a secret");
  run(bench, prompt);
  auto stranger = bench.request(prompt);
  stranger.space = {7, 7};
  const auto recorder = bench.submit(std::move(stranger));
  bench.turn_until_ended(*recorder);
  EXPECT_EQ(recorder->finished_->receipt->restored, 0);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Tight,
                         ::testing::Combine(::testing::Values(engine::FakeKind::kHybrid,
                                                              engine::FakeKind::kRecurrent,
                                                              engine::FakeKind::kWindowed),
                                            ::testing::ValuesIn(kEachExactness)));

}  // namespace
}  // namespace holdfast::serve
