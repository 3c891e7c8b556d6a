#include "serve/prewarmer.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "serve/testing/scheduler_fixture.h"

namespace holdfast::serve {
namespace {

const std::string kQuestion = "<s>Tell me of the sea and the ships on it, please.</s><s>";

SchedulerOptions prewarming(Exactness exact = Exactness::kOff) {
  SchedulerOptions options;
  options.exact = exact;
  options.may_prewarm = [] { return true; };
  options.cache.memory.budget = ByteCount{64} << 20U;
  return options;
}

// Where prompts are exact the last bits count too.
engine::FakeOptions fake_engine(Exactness exact) {
  engine::FakeOptions fake;
  fake.chunk_sensitive = prompts_are_exact(exact);
  return fake;
}

// A conversation whose template leaves thoughts out: history shows only a part of an answer.
struct Talk {
  explicit Talk(const SchedulerOptions& options, engine::FakeOptions fake = {})
      : bench(std::move(fake), options) {}

  // Runs a prompt, and offers its answer.
  std::string ask(const std::string& prompt) {
    GenerateRequest request = bench.request(prompt);
    id = request.id;
    const auto recorder = bench.submit(std::move(request));
    bench.turn_until_ended(*recorder);
    bench.scheduler.offer_prewarm({id, [this] { ++asked; }});
    bench.run_round();
    return recorder->text_;
  }
  void prepare(const std::string& history) {
    PrewarmPrompt next;
    next.request = id;
    next.prompt = bench.text.tokenize(history, true, true);
    next.prepared = bench.scheduler.prepare(next.prompt, next.space, true);
    bench.scheduler.prewarm(std::move(next));
    bench.run_round();
  }
  // Idle time; over after this many pieces.
  void idle(int pieces = 1000) {
    bench.scheduler.idle_work().read_ahead([&] { return pieces-- <= 0; });
    const auto violations = bench.scheduler.check();
    ASSERT_TRUE(violations.empty()) << violations.front();
  }
  cache::Receipt next_turn(const std::string& prompt) {
    const auto recorder = bench.submit(prompt);
    bench.turn_until_ended(*recorder);
    answer = recorder->text_;
    const cache::Receipt receipt = *recorder->finished_->receipt;
    EXPECT_EQ(cache::check_receipt(receipt), std::vector<std::string>{});
    return receipt;
  }
  [[nodiscard]] PrewarmCounts counts() const { return bench.scheduler.status().prewarm; }
  [[nodiscard]] TokenPos length(const std::string& text) const {
    return length_of(bench.text.tokenize(text, true, true));
  }

  Bench bench;
  std::string id;
  std::string answer;
  int asked = 0;
};

// What history shows of an answer, and what stands before it.
std::string shown(const std::string& answer) {
  return "<s>Tell me of the sea and the ships on it, please.</s><s>In short, and without what I "
         "thought before: " +
         answer + "</s>";
}

TEST(Prewarmer, TheNextTurnReadsTheNewMessageAlone) {
  for (const Exactness exact : kEachExactness) {
    Talk talk(prewarming(exact), fake_engine(exact));
    const std::string history = shown(talk.ask(kQuestion));
    talk.idle();
    ASSERT_EQ(talk.asked, 1) << "the prompt is made when it is time for it";
    talk.prepare(history);
    talk.idle();
    EXPECT_EQ(talk.counts().read, 1U);

    const std::string prompt = history + "<s>And of the wind?</s><s>";
    const cache::Receipt receipt = talk.next_turn(prompt);
    EXPECT_EQ(receipt.restored, talk.length(history));
    EXPECT_GT(receipt.prewarmed, 0);
    EXPECT_EQ(talk.counts().used_tokens, static_cast<std::uint64_t>(receipt.prewarmed));
    EXPECT_EQ(talk.answer, cold_answer(fake_engine(exact), prompt));
  }
}

TEST(Prewarmer, WithoutItTheAnswerIsReadByTheNextTurn) {
  SchedulerOptions options = prewarming();
  options.may_prewarm = nullptr;
  Talk talk(options);
  const std::string history = shown(talk.ask(kQuestion));
  talk.idle();
  EXPECT_EQ(talk.asked, 0);
  const cache::Receipt receipt = talk.next_turn(history + "<s>And of the wind?</s><s>");
  EXPECT_LE(receipt.restored, talk.length(kQuestion));
}

TEST(Prewarmer, ARequestInterruptsItAndNothingIsReadTwice) {  // PREWARM-4
  for (const Exactness exact : kEachExactness) {
    Talk talk(prewarming(exact), fake_engine(exact));
    const std::string history = shown(talk.ask(kQuestion));
    talk.idle();
    talk.prepare(history);
    int rounds = 0;
    while (talk.counts().read == 0 && ++rounds < 100) talk.idle(1);
    ASSERT_EQ(talk.counts().read, 1U);
    EXPECT_GT(talk.counts().interrupted, 0U);
    const auto least = talk.length(history) - talk.length(kQuestion);
    EXPECT_LE(talk.counts().tokens, static_cast<std::uint64_t>(least + 16));  // PREWARM-3

    const std::string prompt = history + "<s>And of the wind?</s><s>";
    const cache::Receipt receipt = talk.next_turn(prompt);
    EXPECT_EQ(receipt.restored, talk.length(history));
    EXPECT_EQ(talk.answer, cold_answer(fake_engine(exact), prompt));
  }
}

TEST(Prewarmer, TheNextTurnMayComeInTheMiddle) {
  for (int pieces = 0; pieces < 6; ++pieces) {
    Talk talk(prewarming(Exactness::kPrompt), fake_engine(Exactness::kPrompt));
    const std::string history = shown(talk.ask(kQuestion));
    talk.idle();
    talk.prepare(history);
    talk.idle(pieces);
    const std::string prompt = history + "<s>And of the wind?</s><s>";
    const cache::Receipt receipt = talk.next_turn(prompt);
    EXPECT_EQ(talk.answer, cold_answer(fake_engine(Exactness::kPrompt), prompt)) << pieces;
    EXPECT_LE(receipt.prewarmed, receipt.restored);
    EXPECT_EQ(talk.counts().used_tokens, static_cast<std::uint64_t>(receipt.prewarmed));
  }
}

TEST(Prewarmer, AnotherConversationOnItsSlotEndsIt) {
  SchedulerOptions options = prewarming();
  engine::FakeOptions fake;
  fake.slots = 1;
  Talk talk(options, fake);
  const std::string history = shown(talk.ask(kQuestion));
  talk.idle();
  talk.prepare(history);
  talk.next_turn("<s>Something else altogether, which takes the slot.</s><s>");
  talk.idle();
  EXPECT_EQ(talk.counts().tokens, 0U);
}

TEST(Prewarmer, WhatTheSlotHoldsAlreadyIsNotRead) {
  Talk talk(prewarming());
  const std::string history = kQuestion + talk.ask(kQuestion);
  talk.idle();
  talk.prepare(history);
  talk.idle();
  EXPECT_EQ(talk.counts().needless, 1U);
  EXPECT_EQ(talk.counts().tokens, 0U);
}

// However long the answer is: what was decoded is nothing to begin with there.
TEST(Prewarmer, WherePromptsAreExactAnAnswerIsReadThoughHistoryShowsItAsItWas) {
  for (const Exactness exact : {Exactness::kPrompt, Exactness::kAll}) {
    Talk talk(prewarming(exact), fake_engine(exact));
    std::string question;
    std::string answer;
    for (int i = 0; answer.size() <= 16; ++i) {  // longer than a step of the grid
      question = "<s>Tell me of ship number " + std::to_string(i) + ".</s><s>";
      answer = talk.ask(question);
    }
    const std::string history = question + answer + "</s>";
    talk.idle();
    talk.prepare(history);
    talk.idle();
    EXPECT_EQ(talk.counts().read, 1U);
    const std::string prompt = history + "<s>And of the wind?</s><s>";
    EXPECT_EQ(talk.next_turn(prompt).restored, talk.length(history));
    EXPECT_EQ(talk.answer, cold_answer(fake_engine(exact), prompt));
  }
}

TEST(Prewarmer, NothingIsReadOfAConversationThatWasCleared) {
  Talk talk(prewarming());
  const std::string history = shown(talk.ask(kQuestion));
  talk.idle();
  talk.prepare(history);
  const auto freed = talk.bench.clear_cache();
  talk.bench.run_round();
  ASSERT_TRUE(*freed);
  talk.idle();
  EXPECT_EQ(talk.counts().tokens, 0U);
}

TEST(Prewarmer, AGuessThatIsWrongChangesNoAnswer) {
  for (const Exactness exact : kEachExactness) {
    Talk talk(prewarming(exact), fake_engine(exact));
    const std::string answer = talk.ask(kQuestion);
    talk.idle();
    talk.prepare(shown("something that the client does not send"));
    talk.idle();
    const std::string prompt = kQuestion + answer + "</s><s>And of the wind?</s><s>";
    (void)talk.next_turn(prompt);
    EXPECT_EQ(talk.answer, cold_answer(fake_engine(exact), prompt));
  }
}

TEST(Prewarmer, AnEngineThatFailsEndsIt) {
  const auto failing = std::make_shared<bool>(false);
  engine::FakeOptions fake;
  fake.faults = [failing](engine::FakeOperation) {
    return *failing ? engine::FakeFault::kFail : engine::FakeFault::kNone;
  };
  Talk talk(prewarming(), fake);
  const std::string history = shown(talk.ask(kQuestion));
  talk.idle();
  talk.prepare(history);
  *failing = true;
  talk.idle();
  *failing = false;
  const std::string prompt = history + "<s>And of the wind?</s><s>";
  (void)talk.next_turn(prompt);
  EXPECT_EQ(talk.counts().read, 0U);
  EXPECT_EQ(talk.answer, cold_answer({}, prompt));
}

}  // namespace
}  // namespace holdfast::serve
