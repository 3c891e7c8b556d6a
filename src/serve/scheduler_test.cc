// The scheduler on the fake engine: any state that is misplaced changes the text.
#include "serve/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <random>
#include <thread>

#include "serve/testing/scheduler_fixture.h"

namespace holdfast::serve {
namespace {

const std::string kSystem = "<s>system: you are a very patient and exact machine</s>";

TEST(Scheduler, AnswersAsTheEngineWould) {
  Bench bench;
  const auto recorder = bench.submit(kSystem + "<s>user: hello</s><s>");
  bench.turn_until_ended(*recorder);
  ASSERT_TRUE(recorder->finished_.has_value());
  EXPECT_FALSE(recorder->text_.empty());
  EXPECT_EQ(recorder->text_, cold_answer({}, kSystem + "<s>user: hello</s><s>"));
  EXPECT_EQ(recorder->finished_->timings.cached_tokens, 0);
  EXPECT_EQ(recorder->finished_->timings.prompt_tokens, recorder->finished_->prompt_tokens);
}

TEST(Scheduler, ShortPromptsThatCameTogetherWriteTogether) {
  Bench bench({.slots = 4});
  std::vector<std::shared_ptr<Recorder>> short_ones;
  for (const char* prompt : {"abcd", "efgh", "ijkl", "mnop"}) {
    short_ones.push_back(bench.submit(prompt, 3));
  }
  for (int i = 0; i < 2; ++i) bench.run_round();
  for (const auto& one : short_ones) EXPECT_TRUE(one->ended());
  EXPECT_EQ(bench.scheduler.status().decode_steps, 2U) << "each with all four";
  std::uint64_t after_the_first = 0;  // which the prompt's last chunk gives
  std::uint64_t longest = 0;
  for (const auto& one : short_ones) {
    const auto written = static_cast<std::uint64_t>(one->finished_->timings.predicted_tokens);
    after_the_first += written - 1;
    longest = std::max(longest, written);
  }
  EXPECT_EQ(bench.scheduler.status().decoded_slots, after_the_first);
  EXPECT_EQ(bench.scheduler.status().tokens_max, 4 + longest) << "with the prompt";
}

TEST(Scheduler, OnlyWhereAllIsExactAnswersAreWrittenOneByOne) {
  for (const Exactness exact : kEachExactness) {
    Bench bench({.slots = 4}, {.exact = exact});
    std::vector<std::shared_ptr<Recorder>> all;
    for (const char* prompt : {"abcd", "efgh", "ijkl", "mnop"}) {
      auto request = bench.request(prompt, 3);
      request.ignore_eos = true;
      all.push_back(bench.submit(std::move(request)));
    }
    for (const auto& one : all) bench.turn_until_ended(*one);
    EXPECT_EQ(bench.scheduler.status().decode_steps, exact == Exactness::kAll ? 8U : 2U);
    for (const auto& one : all) EXPECT_EQ(one->finished_->receipt->exact, exact);
  }
}

TEST(Scheduler, OneTurnReadsNoMoreThanTheLongestChunk) {
  Bench bench({.slots = 4});
  const auto first = bench.submit("abcdefghij", 9);  // two of them are more than a chunk of 16
  const auto second = bench.submit("klmnopqrst", 9);
  bench.run_round();
  EXPECT_NE(first->deltas_ > 0, second->deltas_ > 0) << "only one of them was read";
  bench.run_round();
  EXPECT_TRUE(first->deltas_ > 0 && second->deltas_ > 0);
}

TEST(Scheduler, ALongPromptDelaysOthersByOneChunkAtMost) {
  Bench bench;
  const auto talking = bench.submit("<s>first</s>", 500);
  bench.run_round();
  const auto reading = bench.submit(std::string(400, 'x'), 5);
  int turns = 0;
  while (!reading->finished_ && !talking->ended() && turns < 20) {
    const int before = talking->deltas_;
    bench.run_round();
    ++turns;
    ASSERT_TRUE(talking->ended() || talking->deltas_ == before + 1)
        << "the other answer stood still in turn " << turns;
  }
  EXPECT_GT(turns, 5);
}

class Continuing : public ::testing::TestWithParam<engine::FakeKind> {};

TEST_P(Continuing, AnAppendedConversationIsNotReadAgain) {
  Bench bench({.kind = GetParam(), .slots = 1});
  const std::string first = kSystem + "<s>user: hello</s><s>";
  const std::string answer = bench.run(first);
  const std::string second = first + answer + "</s><s>user: go on</s><s>";
  const auto recorder = bench.submit(second);
  bench.turn_until_ended(*recorder);
  const TokenPos lived_through = length_of(bench.text.tokenize(first + answer, true, true)) - 1;
  EXPECT_GE(recorder->finished_->timings.cached_tokens, lived_through);
  EXPECT_EQ(recorder->text_, cold_answer({.kind = GetParam()}, second));
}

TEST_P(Continuing, ADivergingPromptIsAnsweredAsFromCold) {
  Bench bench({.kind = GetParam(), .slots = 1});
  bench.run(kSystem + "<s>user: hello there, how do you do</s><s>");
  const std::string other = kSystem + "<s>user: hello world</s><s>";
  const auto recorder = bench.submit(other);
  bench.turn_until_ended(*recorder);
  EXPECT_EQ(recorder->text_, cold_answer({.kind = GetParam()}, other));
  const bool can_go_back = GetParam() == engine::FakeKind::kAttention;
  EXPECT_EQ(recorder->finished_->timings.cached_tokens > 0, can_go_back);
}

TEST_P(Continuing, WithoutReuseEverythingIsRead) {
  Bench bench({.kind = GetParam(), .slots = 1});
  bench.run(kSystem);
  auto request = bench.request(kSystem + "<s>user: again</s>");
  request.reuse = false;
  const auto recorder = bench.submit(std::move(request));
  bench.turn_until_ended(*recorder);
  EXPECT_EQ(recorder->finished_->timings.cached_tokens, 0);
}

// Decoded state differs from prefilled state in its last bits, and so does state
// that was chunked otherwise: where prompts are exact neither is kept.
TEST_P(Continuing, WherePromptsAreExactAnswersEqualColdOnesBitForBit) {
  const engine::FakeOptions sensitive{.kind = GetParam(), .slots = 1, .chunk_sensitive = true};
  for (const Exactness exact : {Exactness::kPrompt, Exactness::kAll}) {
    Bench bench(sensitive, {.exact = exact});
    std::string history = kSystem;
    for (int turn = 0; turn < 5; ++turn) {
      history += "<s>user: question number " + std::to_string(turn) + "</s><s>";
      const std::string answer = bench.run(history);
      ASSERT_EQ(answer, cold_answer(sensitive, history)) << "turn " << turn;
      history += answer + "</s>";
    }
  }
}

TEST_P(Continuing, ARefusedCutCostsTimeOnly) {
  engine::FakeOptions stubborn{.kind = GetParam(), .slots = 1};
  stubborn.faults = [](engine::FakeOperation operation) {
    return operation == engine::FakeOperation::kTruncate ? engine::FakeFault::kRefuse
                                                         : engine::FakeFault::kNone;
  };
  Bench bench(stubborn);
  bench.run(kSystem + "<s>one</s>");
  const std::string prompt = kSystem + "<s>two</s>";
  EXPECT_EQ(bench.run(prompt), cold_answer(stubborn, prompt));
}

INSTANTIATE_TEST_SUITE_P(Kinds, Continuing,
                         ::testing::Values(engine::FakeKind::kAttention,
                                           engine::FakeKind::kWindowed,
                                           engine::FakeKind::kRecurrent,
                                           engine::FakeKind::kHybrid));

TEST(Scheduler, WhatAnIdleSlotHoldsIsOutOfTheWayBeforeAnotherComes) {
  ByteCount before = 0;
  const auto copied_by_the_next = [&](bool idle_for_a_while) {
    SchedulerOptions options;
    options.cache.memory.budget = 1 << 20;
    Bench bench({.slots = 1}, options);
    bench.run(kSystem + "<s>user: hello</s><s>", 60);
    before = bench.scheduler.cache_commands().status().resident;
    if (idle_for_a_while) bench.scheduler.idle_work().keep_states();
    EXPECT_EQ(bench.scheduler.cache_commands().status().resident > before, idle_for_a_while);
    const auto next = bench.submit("<s>something else</s><s>");
    bench.turn_until_ended(*next);
    return next->finished_->receipt->bytes_out;
  };
  EXPECT_LT(copied_by_the_next(true), copied_by_the_next(false));

  SchedulerOptions full;
  full.cache.memory.budget = before;
  Bench bench({.slots = 1}, full);
  bench.run(kSystem + "<s>user: hello</s><s>", 60);
  const cache::CacheStatus was = bench.scheduler.cache_commands().status();
  bench.scheduler.idle_work().keep_states();
  EXPECT_EQ(bench.scheduler.cache_commands().status().resident, was.resident);
  EXPECT_EQ(bench.scheduler.cache_commands().status().evicted_bytes, was.evicted_bytes)
      << "nothing makes way";
}

TEST(Scheduler, ListsConversationsWhenAsked) {
  SchedulerOptions options;
  options.cache.memory.budget = 1 << 20;
  Bench bench({.slots = 1}, options);
  cache::ConversationsStatus listed;
  const auto list = [&](std::size_t most) {
    bench.scheduler.cache_commands().list_conversations(
        most, [&](Result<cache::ConversationsStatus> answer) {
          ASSERT_TRUE(answer.ok());
          listed = *answer;
        });
    bench.run_round();
  };
  list(8);
  EXPECT_EQ(listed.count, 0U);
  bench.run(kSystem + "<s>user: hello</s><s>", 60);
  bench.scheduler.idle_work().keep_states();
  bench.clock.advance(std::chrono::seconds(5));
  bench.run(kSystem + "<s>user: goodbye</s><s>", 60);
  bench.clock.advance(std::chrono::seconds(2));
  list(8);
  ASSERT_EQ(listed.count, 2U);
  EXPECT_DOUBLE_EQ(listed.latest[0].idle_seconds, 2.0);
  EXPECT_DOUBLE_EQ(listed.latest[1].idle_seconds, 7.0);
  EXPECT_EQ(listed.latest[0].slot, 0);
  EXPECT_FALSE(listed.latest[1].slot) << "the other took it";
  EXPECT_GT(listed.shared.rows, 0U) << "of the system block";
  EXPECT_EQ(listed.latest[0].shared, listed.shared);
  EXPECT_EQ(listed.own.sum() + listed.shared.sum(),
            bench.scheduler.cache_commands().status().resident);
  EXPECT_FALSE(bench.scheduler.cache_commands().tokens_below(listed.latest[0]))
      << "there is nothing below";
  list(1);
  EXPECT_EQ(listed.count, 2U);
  EXPECT_EQ(listed.latest.size(), 1U);
}

// Each look wakes the loop, but does not make it wait again before it puts states away.
TEST(Scheduler, WhoeverLooksAgainAndAgainKeepsNothingFromBeingIdle) {
  SchedulerOptions options;
  options.cache.memory.budget = 1 << 20;
  Bench bench({.slots = 1}, options);
  bench.run(kSystem + "<s>user: hello</s><s>", 60);
  const ByteCount before = bench.scheduler.cache_commands().status().resident;
  bench.scheduler.start();
  const auto held = [&] {
    std::promise<ByteCount> promise;
    bench.scheduler.cache_commands().list_conversations(
        8, [&](const Result<cache::ConversationsStatus>& listed) {
          promise.set_value(listed.ok() ? listed->own.sum() + listed->shared.sum() : 0);
        });
    return promise.get_future().get();
  };
  int looks = 0;
  while (held() == before && ++looks < 2000) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_GT(held(), before);
  EXPECT_GT(looks, 10);
  bench.scheduler.stop(StopMode::kFinish);
}

TEST(Scheduler, ListsNothingOnceItStops) {
  Bench bench;
  bench.scheduler.request_stop(StopMode::kFinish);
  bool refused = false;
  bench.scheduler.cache_commands().list_conversations(
      8, [&](const Result<cache::ConversationsStatus>& answer) { refused = !answer.ok(); });
  EXPECT_TRUE(refused);
}

TEST(Scheduler, TheSlotThatSavesMostIsChosen) {
  Bench bench({.kind = engine::FakeKind::kHybrid, .slots = 3});
  const std::string first = kSystem + "<s>user: a</s><s>";
  const std::string answer = bench.run(first);
  bench.run("<s>something else entirely</s>");
  const auto recorder = bench.submit(first + answer + "</s><s>user: b</s><s>");
  bench.turn_until_ended(*recorder);
  EXPECT_EQ(recorder->finished_->slot, SlotId{0});
  EXPECT_GT(recorder->finished_->timings.cached_tokens, 0);
}

// On attention-only models every conversation with the same system prompt matches
// every slot; taking such a slot would throw the other conversation away.
TEST(Scheduler, ConversationsThatBeginAlikeKeepTheirOwnSlots) {
  Bench bench({.kind = engine::FakeKind::kAttention, .slots = 2});
  std::string a = kSystem + "<s>user: the first conversation, with some length to it</s><s>";
  std::string b = kSystem + "<s>user: the second one, which is another matter entirely</s><s>";
  for (int turn = 0; turn < 3; ++turn) {
    for (std::string* history : {&a, &b}) {
      const auto recorder = bench.submit(*history);
      bench.turn_until_ended(*recorder);
      if (turn > 0) {
        EXPECT_GT(recorder->finished_->timings.cached_tokens, 100) << "turn " << turn;
      }
      *history += recorder->text_ + "</s><s>user: and then?</s><s>";
    }
  }
}

TEST(Scheduler, StopStringsMaySpanTokens) {
  Bench bench;
  const std::string whole = cold_answer({}, "<s>tell</s>", 12);
  ASSERT_GE(whole.size(), 8U);
  auto request = bench.request("<s>tell</s>", 12);
  request.stops = {whole.substr(3, 3)};
  const auto recorder = bench.submit(std::move(request));
  bench.turn_until_ended(*recorder);
  EXPECT_EQ(recorder->finished_->reason, FinishReason::kStopString);
  EXPECT_EQ(recorder->finished_->stop_string, whole.substr(3, 3));
  EXPECT_EQ(recorder->text_, whole.substr(0, whole.find(whole.substr(3, 3))));
}

TEST(Scheduler, MaxTokensEndsTheAnswer) {
  Bench bench;
  const auto recorder = bench.submit("<s>tell</s>", 3);
  bench.turn_until_ended(*recorder);
  EXPECT_EQ(recorder->finished_->reason, FinishReason::kMaxTokens);
  EXPECT_EQ(recorder->finished_->timings.predicted_tokens, 3);
}

TEST(Scheduler, NoTokensAreWrittenWhenNoneAreWanted) {
  Bench bench;
  const auto recorder = bench.submit("<s>tell</s>", 0);
  bench.turn_until_ended(*recorder);
  EXPECT_EQ(recorder->finished_->reason, FinishReason::kMaxTokens);
  EXPECT_EQ(recorder->text_, "");
}

TEST(Scheduler, AFullContextEndsTheAnswer) {
  Bench bench({.slots = 1, .context_tokens = 64});
  auto request = bench.request(std::string(60, 'x'), -1);
  request.ignore_eos = true;
  const auto recorder = bench.submit(std::move(request));
  bench.turn_until_ended(*recorder);
  EXPECT_EQ(recorder->finished_->reason, FinishReason::kContextFull);
  EXPECT_EQ(recorder->finished_->timings.predicted_tokens, 4);
  EXPECT_EQ(bench.engine.length(SlotId{0}), 63) << "the last token is in the context, not computed";
  EXPECT_EQ(recorder->finished_->receipt->notes.answer_limit,
            recorder->finished_->timings.predicted_tokens);
}

TEST(Scheduler, TheReceiptSaysHowLongTheAnswerMayBe) {
  const std::pair<TokenPos, TokenPos> limits[] = {{-1, 44}, {1000, 44}, {45, 44}, {44, 44}, {9, 9}};
  for (const auto& [asked, possible] : limits) {
    Bench bench({.slots = 1, .context_tokens = 64});
    auto request = bench.request(std::string(20, 'x'), asked);
    request.ignore_eos = true;
    const auto recorder = bench.submit(std::move(request));
    bench.turn_until_ended(*recorder);
    const cache::RequestNotes& notes = recorder->finished_->receipt->notes;
    EXPECT_EQ(notes.answer_asked, asked);
    EXPECT_EQ(notes.answer_limit, possible) << asked;
    EXPECT_EQ(recorder->finished_->timings.predicted_tokens, possible) << asked;
    EXPECT_EQ(note_sentences(*recorder->finished_->receipt).empty(), asked == 44 || asked == 9);
  }
}

TEST(Scheduler, APromptBeyondTheContextIsRefusedAtOnce) {
  Bench bench({.slots = 1, .context_tokens = 64});
  auto request = bench.request(std::string(64, 'x'));
  request.sink = std::make_shared<Recorder>();
  const auto taken = bench.scheduler.submit(std::move(request));
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().code, ErrorCode::kContextExceeded);
}

TEST(Scheduler, ProgressCountsUpToThePrompt) {
  Bench bench;
  auto request = bench.request(std::string(100, 'x'));
  request.want_progress = true;
  const auto recorder = bench.submit(std::move(request));
  bench.turn_until_ended(*recorder);
  ASSERT_GE(recorder->progress_.size(), 5U);
  EXPECT_EQ(recorder->progress_.back().processed, 100);
  EXPECT_EQ(recorder->progress_.front().processed, 0) << "before anything is read";
  EXPECT_EQ(recorder->progress_[1].processed, 16) << "the grid's step";
}

TEST(Scheduler, ACancelledPrefillFreesItsSlotAndKeepsItsWork) {
  Bench bench({.kind = engine::FakeKind::kHybrid, .slots = 1});
  auto request = bench.request(std::string(200, 'x'));
  const std::string id = request.id;
  const auto recorder = bench.submit(std::move(request));
  bench.run_round();
  bench.run_round();
  bench.scheduler.cancel(id);
  bench.run_round();
  ASSERT_TRUE(recorder->failed_.has_value());
  EXPECT_EQ(recorder->failed_->code, ErrorCode::kCancelled);
  const auto retry = bench.submit(std::string(200, 'x'));
  bench.turn_until_ended(*retry);
  EXPECT_EQ(retry->finished_->timings.cached_tokens, 32) << "two chunks of 16";
  EXPECT_EQ(retry->text_, cold_answer({.kind = engine::FakeKind::kHybrid}, std::string(200, 'x')));
}

TEST(Scheduler, ACancelledRequestLeavesTheQueue) {
  Bench bench({.slots = 1});
  const auto running = bench.submit("<s>run</s>", 30);
  bench.run_round();
  auto request = bench.request("<s>wait</s>");
  const std::string id = request.id;
  const auto waiting = bench.submit(std::move(request));
  bench.scheduler.cancel(id);
  bench.run_round();
  EXPECT_TRUE(waiting->failed_.has_value());
  EXPECT_EQ(bench.scheduler.status().queued, 0U);
}

TEST(Scheduler, AFullQueueSaysSo) {
  Bench bench({.slots = 1}, {.queue_max = 2});
  bench.submit("<s>run</s>", 30);
  bench.run_round();
  bench.submit("<s>wait</s>");
  bench.submit("<s>wait</s>");
  auto request = bench.request("<s>too many</s>");
  request.sink = std::make_shared<Recorder>();
  const auto taken = bench.scheduler.submit(std::move(request));
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().code, ErrorCode::kUnavailable);
}

TEST(Scheduler, ARequestThatTakesTooLongEnds) {
  Bench bench({.slots = 1});
  auto request = bench.request("<s>run</s>", 500);
  request.timeout = std::chrono::seconds(10);
  request.ignore_eos = true;
  const auto recorder = bench.submit(std::move(request));
  bench.run_round();
  bench.clock.advance(std::chrono::seconds(9));
  bench.run_round();
  EXPECT_FALSE(recorder->ended());
  bench.clock.advance(std::chrono::seconds(2));
  bench.run_round();
  ASSERT_TRUE(recorder->failed_.has_value());
  EXPECT_EQ(recorder->failed_->code, ErrorCode::kTimeout);
}

TEST(Scheduler, AClientWithManyRequestsDoesNotStarveAnother) {
  Bench bench({.slots = 2});
  const auto from = [&](const char* client) {
    auto request = bench.request(std::string("<s>") + client + "</s>", 5);
    request.client = client;
    return bench.submit(std::move(request));
  };
  std::vector<std::shared_ptr<Recorder>> flood;
  for (int i = 0; i < 6; ++i) flood.push_back(from("busy"));
  const auto single = from("modest");
  bench.turn_until_ended(*single);
  int busy_done = 0;
  for (const auto& recorder : flood) busy_done += recorder->ended() ? 1 : 0;
  EXPECT_LE(busy_done, 3) << "the modest client waited for the whole flood";
}

TEST(Scheduler, AnEngineFailureEndsOneRequestOnly) {
  int prefills = 0;
  engine::FakeOptions faulty{.slots = 1};
  faulty.faults = [&](engine::FakeOperation operation) {
    return operation == engine::FakeOperation::kPrefill && ++prefills == 2
               ? engine::FakeFault::kFail
               : engine::FakeFault::kNone;
  };
  Bench bench(faulty);
  const auto first = bench.submit(std::string(100, 'x'));
  bench.turn_until_ended(*first);
  ASSERT_TRUE(first->failed_.has_value());
  EXPECT_EQ(first->failed_->code, ErrorCode::kEngine);
  EXPECT_EQ(bench.run("<s>next</s>"), cold_answer(faulty, "<s>next</s>"));
}

TEST(Scheduler, StopFinishesWhatRuns) {
  Bench bench({.slots = 1});
  const auto first = bench.submit("<s>one</s>");
  const auto second = bench.submit("<s>two</s>");
  bench.scheduler.start();
  bench.scheduler.stop(StopMode::kFinish);
  EXPECT_TRUE(first->finished_.has_value());
  EXPECT_TRUE(second->finished_.has_value());
  auto late = bench.request("<s>late</s>");
  late.sink = std::make_shared<Recorder>();
  EXPECT_FALSE(bench.scheduler.submit(std::move(late)).ok());
}

TEST(Scheduler, CuttingEndsEveryRequest) {
  Bench bench({.slots = 1, .context_tokens = 1 << 20});
  auto endless = bench.request("<s>one</s>", -1);
  endless.ignore_eos = true;
  const auto first = bench.submit(std::move(endless));
  const auto second = bench.submit("<s>two</s>");
  bench.scheduler.start();
  bench.scheduler.stop(StopMode::kAbort);
  EXPECT_TRUE(first->failed_.has_value());
  EXPECT_TRUE(second->failed_.has_value());
}

// Random requests, cancellations and faults on every kind of engine: each answer
// equals the one from cold, and the invariants hold between turns.
struct RandomRun {
  engine::FakeKind kind;
  Exactness exact;
};
class SchedulerModel : public ::testing::TestWithParam<RandomRun> {};

TEST_P(SchedulerModel, EveryAnswerEqualsTheColdOne) {
  const unsigned seed = 4242;
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  engine::FakeOptions fake{.kind = GetParam().kind, .slots = 3, .context_tokens = 400};
  fake.chunk_sensitive = prompts_are_exact(GetParam().exact);
  fake.faults = [&random](engine::FakeOperation operation) {
    if (operation == engine::FakeOperation::kTruncate && random() % 5 == 0)
      return engine::FakeFault::kRefuse;
    if (operation == engine::FakeOperation::kPrefill && random() % 200 == 0)
      return engine::FakeFault::kFail;
    return engine::FakeFault::kNone;
  };
  Bench bench(fake, {.exact = GetParam().exact});
  std::vector<std::string> histories = {kSystem, "<s>system: another</s>"};
  struct Pending {
    std::string prompt;
    std::string id;
    std::shared_ptr<Recorder> recorder;
  };
  std::vector<Pending> pending;
  int answered = 0;
  for (int step = 0; step < 4000; ++step) {
    if (pending.size() < 5 && random() % 4 == 0) {
      std::string prompt = histories[random() % histories.size()];
      if (random() % 5 == 0) prompt.resize(1 + random() % prompt.size());
      prompt += "<s>user: " + std::to_string(random() % 20) + "</s><s>";
      auto request = bench.request(prompt, static_cast<TokenPos>(1 + random() % 12));
      request.reuse = random() % 8 != 0;
      const std::string id = request.id;
      pending.push_back({prompt, id, bench.submit(std::move(request))});
    }
    if (!pending.empty() && random() % 50 == 0) {
      bench.scheduler.cancel(pending[random() % pending.size()].id);
    }
    ASSERT_NO_FATAL_FAILURE(bench.run_round());
    std::erase_if(pending, [&](const Pending& request) {
      if (!request.recorder->ended()) return false;
      if (!request.recorder->finished_) return true;
      const auto wrote = request.recorder->finished_->timings.predicted_tokens;
      EXPECT_EQ(request.recorder->text_, cold_answer(fake, request.prompt, wrote));
      ++answered;
      const std::string grown = request.prompt + request.recorder->text_ + "</s>";
      if (grown.size() < 250) histories.push_back(grown);
      if (histories.size() > 12) histories.erase(histories.begin() + 2);
      return true;
    });
    ASSERT_FALSE(::testing::Test::HasFailure()) << "in step " << step;
  }
  EXPECT_GT(answered, 100);
}

INSTANTIATE_TEST_SUITE_P(
    Runs, SchedulerModel,
    ::testing::Values(RandomRun{engine::FakeKind::kAttention, Exactness::kOff},
                      RandomRun{engine::FakeKind::kAttention, Exactness::kPrompt},
                      RandomRun{engine::FakeKind::kAttention, Exactness::kAll},
                      RandomRun{engine::FakeKind::kWindowed, Exactness::kOff},
                      RandomRun{engine::FakeKind::kWindowed, Exactness::kPrompt},
                      RandomRun{engine::FakeKind::kWindowed, Exactness::kAll},
                      RandomRun{engine::FakeKind::kRecurrent, Exactness::kOff},
                      RandomRun{engine::FakeKind::kRecurrent, Exactness::kPrompt},
                      RandomRun{engine::FakeKind::kRecurrent, Exactness::kAll},
                      RandomRun{engine::FakeKind::kHybrid, Exactness::kOff},
                      RandomRun{engine::FakeKind::kHybrid, Exactness::kPrompt},
                      RandomRun{engine::FakeKind::kHybrid, Exactness::kAll}));

}  // namespace
}  // namespace holdfast::serve
