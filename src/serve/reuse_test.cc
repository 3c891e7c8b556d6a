// The scheduler with memory behind its slots, on the fake engine: whatever is
// reused, the answer is that of a server which has seen nothing.
#include <gtest/gtest.h>

#include <random>

#include "engine/ngram.h"
#include "serve/testing/scheduler_fixture.h"

namespace holdfast::serve {
namespace {

const std::string kSystem = "<s>system: you are a very patient and exact machine</s>";
constexpr ByteCount kAmple = 64 << 20;

SchedulerOptions with_memory(ByteCount budget = kAmple, Exactness exact = Exactness::kOff) {
  SchedulerOptions options;
  options.exact = exact;
  options.cache.memory.budget = budget;
  return options;
}

std::string user(const std::string& text) { return "<s>user: " + text + "</s>"; }
std::string asking(const std::string& text) { return user(text) + "<s>"; }

class Reuse : public ::testing::TestWithParam<engine::FakeKind> {
 protected:
  cache::Receipt run(Bench& bench, const std::string& prompt, TokenPos max_tokens = 20) {
    return run_as_cold(bench, cold(), prompt, max_tokens, answer);
  }

  static engine::FakeOptions cold() { return {.kind = GetParam(), .context_tokens = 4096}; }

  std::string answer;
};

TEST_P(Reuse, AnotherConversationOnTheSlotCostsNothingWhenTheFirstComesBack) {
  Bench bench({.kind = GetParam(), .slots = 1}, with_memory());
  std::string first = kSystem + asking("hello, this is the first conversation");
  run(bench, first);
  first += answer + "</s>" + asking("and now?");
  const TokenPos lived = length_of(bench.text.tokenize(first, true, true)) - 14;
  run(bench, "<s>something else entirely, in no way alike</s><s>");
  const cache::Receipt receipt = run(bench, first);
  EXPECT_EQ(receipt.source, plan::StartSource::kMemory);
  EXPECT_GE(receipt.restored, lived - 20);
  EXPECT_EQ(receipt.missing.why, cache::MissReason::kNone);
}

TEST_P(Reuse, ABranchBeginsWhereThePromptsPart) {
  Bench bench({.kind = GetParam(), .slots = 1}, with_memory());
  run(bench, kSystem + asking("what is one and one"));
  const cache::Receipt receipt = run(bench, kSystem + asking("tell me a story"));
  const TokenPos system = length_of(bench.text.tokenize(kSystem, true, true));
  EXPECT_GE(receipt.restored, system) << "the end of the system block is a cut";
  ASSERT_TRUE(receipt.difference.has_value());
  EXPECT_EQ(bench.text.detokenize(receipt.difference->known).substr(0, 4), "what");
  EXPECT_EQ(bench.text.detokenize(receipt.difference->sent).substr(0, 4), "tell");
}

TEST_P(Reuse, ReturningToABranchTwiceFindsItBothTimes) {
  Bench bench({.kind = GetParam(), .slots = 1}, with_memory());
  const std::string base = kSystem + user(std::string(100, 'q'));
  const std::string left = base + asking("left");
  const std::string right = base + asking("right");
  run(bench, left);
  run(bench, right);
  for (int i = 0; i < 2; ++i) {
    EXPECT_GE(run(bench, left).restored, length_of(bench.text.tokenize(left, true, true)) - 1 - 1);
    EXPECT_GE(run(bench, right).restored,
              length_of(bench.text.tokenize(right, true, true)) - 1 - 1);
  }
}

TEST_P(Reuse, ShortMessagesAreReadTogetherButNotWherePromptsAreExact) {
  std::string prompt;
  for (char text = 'a'; text < 'm'; ++text) prompt += std::string("<s>") + text + "!</s>";
  const auto chunks = [&](Exactness exact) {
    Bench bench({.kind = GetParam(), .slots = 1}, with_memory(kAmple, exact));
    auto request = bench.request(prompt + "<s>");
    request.want_progress = true;
    const auto recorder = bench.submit(std::move(request));
    bench.turn_until_ended(*recorder);
    return recorder->progress_.size() - 1;  // the first comes before anything is read
  };
  EXPECT_EQ(chunks(Exactness::kAll), 13U) << "twelve messages and a header";
  EXPECT_EQ(chunks(Exactness::kPrompt), 13U);
  EXPECT_EQ(chunks(Exactness::kOff), 5U)
      << "the first message, three times four tokens, and the rest";
}

TEST_P(Reuse, ALongAnswerIsNotReadAgainWhenItsQuestionIsFollowedByAnother) {
  Bench bench({.kind = GetParam(), .slots = 1, .context_tokens = 4096}, with_memory());
  std::string history = kSystem + asking("tell me a long story");
  run(bench, history, 60);
  history += answer + "</s>";
  const TokenPos told = length_of(bench.text.tokenize(history, true, true)) - 1;
  run(bench, history + asking("yes"), 1);
  const cache::Receipt receipt = run(bench, history + asking("no!"), 1);
  EXPECT_GE(receipt.restored, told - 16) << "no more than a step of the grid";
}

TEST_P(Reuse, AnEditInTheMiddleOfALongMessageFindsTheCutBeforeIt) {
  Bench bench({.kind = GetParam(), .slots = 1, .context_tokens = 4096}, with_memory());
  std::string text(1000, 'a');
  run(bench, kSystem + asking(text));
  text[500] = 'b';
  const cache::Receipt receipt = run(bench, kSystem + asking(text));
  EXPECT_GT(receipt.matched - receipt.restored, -1);
  EXPECT_LT(receipt.matched - receipt.restored, 16) << "at most one step of the grid";
  EXPECT_EQ(receipt.missing.why, cache::MissReason::kGrid);
}

TEST_P(Reuse, APrefixOfALongerPromptIsNotReadAgain) {
  Bench bench({.kind = GetParam(), .slots = 1, .context_tokens = 4096}, with_memory());
  const std::string longer = kSystem + user(std::string(400, 'x')) + user(std::string(400, 'y'));
  run(bench, longer + asking("z"));
  const std::string shorter = kSystem + user(std::string(400, 'x'));
  const cache::Receipt receipt = run(bench, shorter + "<s>");
  EXPECT_GE(receipt.restored, length_of(bench.text.tokenize(shorter, true, true)));
}

// Not where the layout of a window shows in the last bits.
TEST_P(Reuse, TheSameRequestAgainReadsNothing) {
  for (const Exactness exact : kEachExactness) {
    SCOPED_TRACE(exactness_name(exact));
    Bench bench({.kind = GetParam(), .slots = 1, .context_tokens = 4096},
                with_memory(kAmple, exact));
    const std::string prompt = kSystem + asking("what is one and one");
    run(bench, prompt);
    run(bench, "<s>something else entirely, in no way alike</s><s>");
    const bool all = !prompts_are_exact(exact) || GetParam() != engine::FakeKind::kWindowed;
    for (int i = 0; i < 3; ++i) {
      const cache::Receipt receipt = run(bench, prompt, i == 2 ? 0 : 20);
      EXPECT_EQ(receipt.restored == receipt.prompt_tokens, all);
      EXPECT_EQ(receipt.missing.why, cache::MissReason::kNone);
    }
    EXPECT_LT(run(bench, prompt + "x").restored,
              length_of(bench.text.tokenize(prompt + "x", true, true)));
    EXPECT_EQ(bench.scheduler.check(), std::vector<std::string>{});
  }
}

TEST_P(Reuse, LogitsAloneAreNoBeginning) {
  Bench bench({.kind = GetParam(), .slots = 1, .context_tokens = 4096}, with_memory());
  const std::string prompt = kSystem + asking("what is one and one");
  run(bench, prompt);
  auto freed = bench.clear_cache();
  EXPECT_EQ(run(bench, prompt).restored, 0);
  EXPECT_GT(*freed, ByteCount{0});
}

TEST_P(Reuse, TwoConversationsHoldTheirSystemPromptOnce) {
  Bench bench({.kind = GetParam(), .slots = 1, .context_tokens = 4096}, with_memory());
  const std::string system = "<s>system: " + std::string(960, 's') + "</s>";
  run(bench, system + asking("one"));
  bench.run("<s>other</s>");
  const ByteCount after_one = bench.scheduler.cache_commands().status().extents;
  run(bench, system + asking("two"));
  bench.run("<s>another</s>");
  const ByteCount second = bench.scheduler.cache_commands().status().extents - after_one;
  if (GetParam() == engine::FakeKind::kRecurrent) return;  // no extents
  EXPECT_LT(second, after_one / 4);
}

TEST_P(Reuse, ACancelledPrefillIsNotLostWhenTheSlotIsTaken) {
  Bench bench({.kind = GetParam(), .slots = 1}, with_memory());
  auto request = bench.request(std::string(200, 'x'));
  const std::string id = request.id;
  bench.submit(std::move(request));
  for (int i = 0; i < 5; ++i) bench.run_round();
  bench.scheduler.cancel(id);
  bench.run_round();
  bench.run("<s>somebody else</s>");
  EXPECT_EQ(run(bench, std::string(200, 'x')).restored, 80) << "five chunks of 16";
}

TEST_P(Reuse, EightAtOnceOnANewPrefixReadItOnce) {
  Bench bench({.kind = GetParam(), .slots = 4, .context_tokens = 4096}, with_memory());
  const std::string system = "<s>system: " + std::string(500, 's') + "</s>";
  std::vector<std::shared_ptr<Recorder>> recorders;
  std::vector<std::string> prompts;
  for (int i = 0; i < 8; ++i) {
    prompts.push_back(system + asking("question number " + std::to_string(i)));
    recorders.push_back(bench.submit(prompts.back()));
  }
  for (const auto& recorder : recorders) bench.turn_until_ended(*recorder);
  const std::uint64_t shared = bench.text.tokenize(system, true, true).size();
  for (std::size_t i = 0; i < recorders.size(); ++i) {
    EXPECT_EQ(recorders[i]->text_, cold_answer(cold(), prompts[i]));
  }
  EXPECT_LT(bench.engine.tokens_prefilled(), 2 * shared) << "read once, and eight short questions";
  EXPECT_GE(bench.scheduler.cache_commands().status().waits, 7U);
}

TEST_P(Reuse, AWaitingRequestGoesOnWhenTheOneItWaitsForIsCancelled) {
  Bench bench({.kind = GetParam(), .slots = 2}, with_memory());
  const std::string system = "<s>system: " + std::string(300, 's') + "</s>";
  auto first = bench.request(system + asking("one"));
  const std::string id = first.id;
  bench.submit(std::move(first));
  bench.run_round();
  bench.run_round();
  const auto second = bench.submit(system + asking("two"));
  bench.run_round();
  EXPECT_FALSE(second->started_.has_value()) << "it waits";
  bench.scheduler.cancel(id);
  bench.turn_until_ended(*second);
  ASSERT_TRUE(second->finished_.has_value());
  EXPECT_GT(second->finished_->receipt->restored, 0) << "what the other had computed";
  EXPECT_EQ(second->finished_->receipt->waited_for, id);
  EXPECT_EQ(second->text_, cold_answer(cold(), system + asking("two")));
}

TEST_P(Reuse, OtherTenantsShareNothing) {
  Bench bench({.kind = GetParam(), .slots = 1}, with_memory());
  const std::string prompt = kSystem + asking("a secret");
  run(bench, prompt);
  auto stranger = bench.request(prompt);
  stranger.space = {7, 7};
  const auto recorder = bench.submit(std::move(stranger));
  bench.turn_until_ended(*recorder);
  EXPECT_EQ(recorder->finished_->receipt->matched, 0);
  EXPECT_EQ(recorder->finished_->receipt->restored, 0);
  EXPECT_EQ(recorder->text_, cold_answer(cold(), prompt));
  EXPECT_GT(run(bench, prompt).restored, 0) << "the owner still finds it";
}

TEST_P(Reuse, ClearingFreesEverythingAndBreaksNothing) {
  Bench bench({.kind = GetParam(), .slots = 1}, with_memory());
  run(bench, "<s>other</s>");
  run(bench, kSystem + asking("hello"));
  auto freed = bench.clear_cache();
  bench.run_round();
  EXPECT_GT(*freed, ByteCount{0});
  EXPECT_EQ(bench.scheduler.cache_commands().status().resident, 0U);
  const cache::Receipt receipt = run(bench, kSystem + asking("hello"));
  EXPECT_EQ(receipt.restored, 0) << "idle slots are emptied too";
  EXPECT_EQ(receipt.matched, 0) << "nobody can tell any more that it was said before";
}

// A receipt quotes what was known where a prompt differs from it.
TEST_P(Reuse, ClearingForgetsEveryToken) {
  for (const Exactness exact : kEachExactness) {
    SchedulerOptions options = with_memory();
    options.exact = exact;
    engine::NgramCompanion companion(2);
    Bench bench({.kind = GetParam(), .slots = 2}, options, {.companion = &companion});
    run(bench, kSystem + asking("my name is Ada"));
    run(bench, kSystem + asking("what is my name"));
    const std::string id = bench.scheduler.receipts().latest(1, "").at(0).id;
    EXPECT_GT(bench.scheduler.cache_commands().status().tokens, 0U);
    bench.clear_cache();
    bench.run_round();
    EXPECT_EQ(bench.scheduler.cache_commands().status().tokens, 0U);
    EXPECT_EQ(bench.scheduler.cache_commands().status().ghost_tokens, 0U);
    EXPECT_TRUE(bench.scheduler.receipts().latest(10, "").empty());
    EXPECT_FALSE(bench.scheduler.receipts().find(id, "").has_value());
    for (const int slot : {0, 1}) EXPECT_TRUE(companion.tokens(SlotId{slot}).empty());
    const cache::Receipt receipt = run(bench, kSystem + asking("my name is Bob"));
    EXPECT_FALSE(receipt.difference.has_value());
  }
}

TEST_P(Reuse, ClearingForgetsAnswers) {
  cache::TokenHistory history;
  Bench bench({.kind = GetParam(), .slots = 1}, with_memory(), {.history = &history});
  ASSERT_TRUE(history.recall({1, {2, 3}, 4, 5, {6}}, engine::kFakeVocabulary));
  bench.clear_cache();
  bench.run_round();
  EXPECT_EQ(history.usage(), cache::HistoryUsage{});
}

// Failure 3 of the design: a partial removal that the engine declines.
TEST_P(Reuse, ARefusedCutIsPlannedAroundAndNothingIsLost) {
  bool refuse = false;
  engine::FakeOptions stubborn{.kind = GetParam(), .slots = 1};
  stubborn.faults = [&](engine::FakeOperation operation) {
    return refuse && operation == engine::FakeOperation::kTruncate ? engine::FakeFault::kRefuse
                                                                   : engine::FakeFault::kNone;
  };
  Bench bench(stubborn, with_memory());
  const std::string prompt = kSystem + user(std::string(100, 'x')) + asking("one");
  run(bench, prompt);
  const auto before = bench.scheduler.cache_commands().status();
  refuse = true;
  const cache::Receipt receipt = run(bench, kSystem + user(std::string(100, 'x')) + asking("two"));
  const std::string shared = kSystem + user(std::string(100, 'x'));
  EXPECT_GE(receipt.restored, length_of(bench.text.tokenize(shared, true, true)));
  EXPECT_GE(bench.scheduler.cache_commands().status().resident, before.resident);
  EXPECT_EQ(bench.scheduler.cache_commands().status().evicted_snapshots, 0U);
}

// Failure 4: damage on the way out, and a refusal on the way in.
TEST_P(Reuse, DamagedStatesAreQuarantinedAndReadAgain) {
  bool corrupt = false;
  engine::FakeOptions damaged{.kind = GetParam(), .slots = 1};
  damaged.faults = [&](engine::FakeOperation operation) {
    return corrupt && operation == engine::FakeOperation::kSave ? engine::FakeFault::kCorrupt
                                                                : engine::FakeFault::kNone;
  };
  Bench bench(damaged, with_memory());
  const std::string prompt = kSystem + asking("hello");
  corrupt = true;
  run(bench, prompt);
  run(bench, "<s>takes the slot</s>");
  corrupt = false;
  const cache::Receipt receipt = run(bench, prompt);
  EXPECT_EQ(receipt.restored, 0);
  EXPECT_EQ(receipt.missing.why, cache::MissReason::kDamaged);
  EXPECT_GT(bench.scheduler.cache_commands().status().quarantined, 0U);
  run(bench, "<s>takes the slot again</s>");
  EXPECT_GT(run(bench, prompt).restored, 0) << "it has been computed and kept again";
}

TEST_P(Reuse, ALoadThatFailsCostsTimeOnly) {
  int loads = 0;
  engine::FakeOptions failing{.kind = GetParam(), .slots = 1};
  failing.faults = [&](engine::FakeOperation operation) {
    return operation == engine::FakeOperation::kLoad && ++loads <= 2 ? engine::FakeFault::kFail
                                                                     : engine::FakeFault::kNone;
  };
  Bench bench(failing, with_memory());
  const std::string prompt = kSystem + asking("hello");
  run(bench, prompt);
  run(bench, "<s>takes the slot</s>");
  run(bench, prompt);
  run(bench, "<s>takes the slot</s>");
  EXPECT_GT(run(bench, prompt).restored, 0) << "what could not be loaded was read and kept again";
}

// One that has less than the newcomer would only hold it up.
TEST_P(Reuse, NobodyWaitsForARequestThatIsBehind) {
  Bench bench({.kind = GetParam(), .slots = 2, .context_tokens = 4096}, with_memory());
  const std::string shared = "<s>system: " + std::string(1000, 's') + "</s>";
  run(bench, shared + asking("hello"));
  auto slow = bench.request(shared + asking("read it all again"));
  slow.reuse = false;
  slow.slot = SlotId{0};
  const auto behind = bench.submit(std::move(slow));
  bench.run_round();
  const auto quick = bench.submit(shared + asking("what was that?"));
  bench.run_round();
  EXPECT_TRUE(quick->started_.has_value());
  bench.turn_until_ended(*quick);
  EXPECT_FALSE(behind->ended());
  bench.turn_until_ended(*behind);
}

// Every chunk is one token long; the cost of keeping it all must not explode.
TEST_P(Reuse, APromptOfNothingButTurnEndsIsBounded) {
  Bench bench({.kind = GetParam(), .slots = 1, .context_tokens = 4096}, with_memory());
  std::string prompt;
  for (int i = 0; i < 2000; ++i) prompt += "</s>";
  const cache::Receipt receipt = run(bench, prompt + "x", 3);
  EXPECT_LE(receipt.checkpoints, 2000 / 32 + 3);
}

// Where copying is slow beside reading, only what is always kept is kept, and what another question
// about the same text needs: a place for each doubling of the distance from its end.
TEST_P(Reuse, CheckpointsTakeASmallShareOfTheTime) {
  const auto taken_when_a_copy_takes = [](std::chrono::milliseconds copy) {
    ManualClock* clock = nullptr;
    engine::FakeOptions fake{.kind = GetParam(), .slots = 1, .context_tokens = 4096};
    fake.faults = [&](engine::FakeOperation operation) {
      if (operation == engine::FakeOperation::kSave) clock->advance(copy);
      return engine::FakeFault::kNone;
    };
    Bench bench(fake, with_memory());
    clock = &bench.clock;
    const auto recorder = bench.submit(std::string(1600, 'x') + "</s><s>");
    bench.turn_until_ended(*recorder);
    return recorder->finished_->receipt->checkpoints;
  };
  EXPECT_EQ(taken_when_a_copy_takes(std::chrono::milliseconds(0)), 102);
  EXPECT_LE(taken_when_a_copy_takes(std::chrono::milliseconds(20)), 5 + 7);
  EXPECT_GE(taken_when_a_copy_takes(std::chrono::milliseconds(20)), 2) << "the prompt's end too";
}

// The guarantee of plan/placement.h, PLACE-4, on a server: whatever copying costs, and inside one
// message.
TEST_P(Reuse, AnotherQuestionAboutALongTextReadsLittleOfItAgain) {
  ManualClock* clock = nullptr;
  engine::FakeOptions fake{.kind = GetParam(), .slots = 1, .context_tokens = 4096};
  fake.faults = [&](engine::FakeOperation operation) {
    if (operation == engine::FakeOperation::kSave) clock->advance(std::chrono::milliseconds(50));
    return engine::FakeFault::kNone;
  };
  for (const TokenPos d : {3, 20, 70, 300, 900}) {
    Bench bench(fake, with_memory());
    clock = &bench.clock;
    const std::string text(1600, 'x');
    const auto parted = static_cast<std::size_t>(1600 - d);
    (void)run(bench, text, 1);
    (void)run(bench, "something else that takes the slot", 1);
    const cache::Receipt receipt = run(bench, text.substr(0, parted) + std::string(40, 'y'), 1);
    EXPECT_EQ(receipt.matched, 1600 - d);
    EXPECT_GE(receipt.restored, 1600 - 2 * d - 16) << d << " before the end";
  }
}

TEST_P(Reuse, ClearingAfterTheEndIsRefused) {
  Bench bench({.kind = GetParam()}, with_memory());
  bench.scheduler.stop(StopMode::kFinish);
  std::optional<ErrorCode> refused;
  bench.scheduler.cache_commands().clear([&](const Result<ByteCount>& freed) {
    if (!freed) refused = freed.error().code;
  });
  EXPECT_EQ(refused, ErrorCode::kUnavailable);
}

TEST_P(Reuse, WithoutAnySpaceNothingIsKeptAndNothingBreaks) {
  for (const ByteCount budget : {0, 1, 100, 1000}) {
    Bench bench({.kind = GetParam(), .slots = 1}, with_memory(budget));
    for (int i = 0; i < 3; ++i) {
      run(bench, kSystem + asking("hello"));
      run(bench, kSystem + asking("other"));
    }
    EXPECT_LE(bench.scheduler.cache_commands().status().peak, budget);
  }
}

// Failure 1: whatever a companion answers, the primary's reuse is the same.
class StubbornCompanion final : public engine::Companion {
 public:
  explicit StubbornCompanion(TokenPos says) : says_(says) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "stubborn"; }
  [[nodiscard]] engine::CompanionShape shape() const noexcept override { return {}; }
  engine::Followed follow(SlotId, const engine::CompanionPoint&) noexcept override {
    return {.held = says_};
  }
  void advance(SlotId, TokenSpan, TokenPos) noexcept override {}
  void draft(std::span<engine::DraftWish>) noexcept override {}
  engine::CompanionSaved save(SlotId, std::span<const TokenRange>, TokenPos) noexcept override {
    return {};
  }

 private:
  TokenPos says_;
};

TEST_P(Reuse, ACompanionThatCannotFollowChangesNothing) {
  const auto history = [&](engine::Companion* companion) {
    Bench bench({.kind = GetParam(), .slots = 1}, with_memory(), {.companion = companion});
    std::vector<std::pair<TokenPos, std::string>> seen;
    std::string prompt = kSystem + asking("hello");
    for (int i = 0; i < 4; ++i) {
      const cache::Receipt receipt = run(bench, prompt);
      seen.emplace_back(receipt.restored, answer);
      EXPECT_EQ(receipt.companion.has_value(), companion != nullptr);
      seen.emplace_back(receipt.checkpoints, "");
      if (i == 2) run(bench, "<s>takes the slot</s>");
      prompt += answer + "</s>" + asking("next");
    }
    seen.emplace_back(
        static_cast<TokenPos>(bench.scheduler.cache_commands().status().snapshot_count), "");
    return seen;
  };
  const auto alone = history(nullptr);
  for (const TokenPos says : {0, 1, 1000000, -7}) {
    StubbornCompanion companion(says);
    EXPECT_EQ(history(&companion), alone);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Reuse,
                         ::testing::Values(engine::FakeKind::kAttention,
                                           engine::FakeKind::kWindowed,
                                           engine::FakeKind::kRecurrent,
                                           engine::FakeKind::kHybrid));

// Failure 2: identity, not positions. However many checkpoints there are, an
// unchanged prefix is found, and a diverging request drops none of them.
class Deep : public ::testing::TestWithParam<TokenPos> {};

TEST_P(Deep, AQuarterOfAMillionTokensAreFoundAgain) {
  constexpr TokenPos kTokens = 250'000;
  engine::FakeOptions fake{.slots = 1, .context_tokens = 300'000, .chunk_tokens_max = 512};
  SchedulerOptions options = with_memory(1 << 30);
  options.cache.checkpoint_every = kTokens / GetParam();
  options.grid_step = 64;
  engine::FakeText text;
  engine::FakeEngine engine(fake);
  ManualClock clock;
  Scheduler scheduler(engine, text, options, clock);
  const auto run = [&](const std::string& prompt) {
    GenerateRequest request;
    request.id = "deep";
    request.prompt = text.tokenize(prompt, true, true);
    request.sampler = std::move(text.make_sampler({}, nullptr).value());
    request.max_tokens = 4;
    auto recorder = std::make_shared<Recorder>();
    request.sink = recorder;
    EXPECT_TRUE(scheduler.submit(std::move(request)).ok());
    while (!recorder->ended()) scheduler.run_round();
    return recorder;
  };
  std::mt19937 random(1);
  std::string context;
  for (TokenPos i = 0; i < kTokens; ++i) context += static_cast<char>('a' + random() % 26);
  const std::string question = context + asking("where is the needle?");
  const auto cold = run(question);
  EXPECT_EQ(cold->finished_->receipt->restored, 0);
  const auto kept = scheduler.cache_commands().status().snapshot_count;
  EXPECT_GE(kept * 20, static_cast<std::uint64_t>(GetParam()) * 19) << "rounded to the grid";

  std::string diverging = context.substr(0, kTokens / 2) + "X" + context.substr(0, 1000);
  const auto branch = run(diverging + "</s>");
  EXPECT_GE(branch->finished_->receipt->restored, kTokens / 2 - kTokens / GetParam() - 64);
  EXPECT_GE(scheduler.cache_commands().status().snapshot_count, kept)
      << "none is dropped by a divergence";

  const auto again = run(context + asking("and where is the other one?"));
  EXPECT_GE(again->finished_->receipt->restored, kTokens - 2 * kTokens / GetParam() - 64);
  const auto first = run(question);
  EXPECT_GE(first->finished_->receipt->restored, kTokens);
  EXPECT_EQ(first->text_, cold->text_);
  EXPECT_TRUE(scheduler.check().empty());
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, Deep, ::testing::Values(32, 1000));

// Anything that clients may do, in any order, under any budget: bit for bit the
// answer of a server that has seen nothing.
class AnyOrder : public ::testing::TestWithParam<std::tuple<engine::FakeKind, Exactness>> {};

TEST_P(AnyOrder, EveryAnswerIsThatOfAColdServer) {
  const auto [kind, exact] = GetParam();
  const std::uint64_t first_seed = 1;
  for (std::uint64_t seed = first_seed; seed < first_seed + 25; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    const std::vector<ByteCount> budgets = {0, 20, 500, 4000, 20'000, 200'000, kAmple};
    const int slots = 1 + static_cast<int>(below(3));
    const engine::FakeOptions sound{
        .kind = kind, .slots = slots, .chunk_sensitive = prompts_are_exact(exact)};
    engine::FakeOptions fake = sound;
    const bool faulty = below(3) == 0;
    fake.faults = [&](engine::FakeOperation operation) {
      if (!faulty || below(12) != 0) return engine::FakeFault::kNone;
      switch (operation) {
        case engine::FakeOperation::kTruncate: return engine::FakeFault::kRefuse;
        case engine::FakeOperation::kSave:
          return below(2) == 0 ? engine::FakeFault::kCorrupt : engine::FakeFault::kFail;
        case engine::FakeOperation::kLoad: return engine::FakeFault::kFail;
        default: return engine::FakeFault::kNone;
      }
    };
    SchedulerOptions options = with_memory(budgets[below(budgets.size())], exact);
    options.cache.memory.ghost_tokens_max = std::vector<std::uint64_t>{0, 50, 300, 1000}[below(4)];
    options.cache.checkpoints = below(5) != 0;
    options.cache.slot_snapshots = std::vector<int>{0, 2, 8, 200}[below(4)];
    if (below(3) == 0) options.cache.memory.nodes_max = 10;
    Bench bench(fake, options);
    std::vector<std::string> histories = {kSystem, "<s>system: another</s>"};
    struct Running {
      std::string prompt;
      std::shared_ptr<Recorder> recorder;
      std::string id;
      bool cancelled = false;
    };
    std::vector<Running> running;
    for (int step = 0; step < 60; ++step) {
      std::string base = histories[below(histories.size())];
      if (base.size() > 500) base = kSystem;
      if (below(5) == 0) base.resize(base.size() / 2);    // a prefix, cut anywhere
      if (below(6) == 0) base[below(base.size())] = 'Z';  // an edit
      const std::string prompt = base + asking(std::string(1 + below(60), 'a' + below(3)));
      auto request = bench.request(prompt, static_cast<TokenPos>(below(12)));
      request.reuse = below(10) != 0;
      if (below(8) == 0) request.slot = SlotId{static_cast<int>(below(slots))};
      if (below(6) == 0) request.space = {1 + below(2), 0};
      if (below(10) == 0) request.timeout = std::chrono::milliseconds(1 + below(3000));
      Running one{prompt, nullptr, request.id, false};
      one.recorder = bench.submit(std::move(request));
      running.push_back(std::move(one));
      bench.clock.advance(std::chrono::milliseconds(below(5000)));
      const std::size_t turns = below(30);
      for (std::size_t i = 0; i < turns; ++i) bench.run_round();
      if (below(8) == 0) {
        Running& victim = running[below(running.size())];
        victim.cancelled = true;
        bench.scheduler.cancel(victim.id);
      }
      if (below(25) == 0) (void)bench.clear_cache();
      if (step % 10 != 9) continue;
      for (const Running& each : running) {
        bench.turn_until_ended(*each.recorder);
        if (!each.recorder->finished_) {
          const ErrorCode code = each.recorder->failed_->code;
          ASSERT_TRUE(each.cancelled || code == ErrorCode::kTimeout)
              << each.recorder->failed_->message;
          continue;
        }
        const auto& finished = *each.recorder->finished_;
        const TokenPos wrote = finished.timings.predicted_tokens;
        const auto cold = cold_answer(sound, each.prompt, std::max(wrote, TokenPos{0}));
        ASSERT_EQ(each.recorder->text_, cold) << each.prompt;
        ASSERT_EQ(cache::check_receipt(*finished.receipt), std::vector<std::string>{});
        if (below(2) == 0) histories.push_back(each.prompt + each.recorder->text_ + "</s>");
      }
      running.clear();
    }
    const cache::CacheStatus status = bench.scheduler.cache_commands().status();
    ASSERT_LE(status.peak, status.budget);
    ASSERT_LE(status.slot_snapshots, status.slot_snapshots_max);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, AnyOrder,
    ::testing::Combine(::testing::Values(engine::FakeKind::kAttention, engine::FakeKind::kWindowed,
                                         engine::FakeKind::kRecurrent, engine::FakeKind::kHybrid),
                       ::testing::ValuesIn(kEachExactness)));

}  // namespace
}  // namespace holdfast::serve
