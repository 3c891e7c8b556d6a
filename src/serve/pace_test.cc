// The scheduler between two tokens of those who write, on an engine whose work takes time.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "serve/testing/timed_engine.h"

namespace holdfast::serve {
namespace {

// A client that notes when its tokens came.
class TimedClient final : public EventSink {
 public:
  explicit TimedClient(const ManualClock& clock) : clock_(clock) {}
  void on_event(Event event) override {
    if (const auto* text = std::get_if<TextDelta>(&event)) {
      text_ += text->text;
      at_.push_back(clock_.now());
    }
    if (const auto* finished = std::get_if<Finished>(&event)) finished_ = *finished;
    if (const auto* failed = std::get_if<Failed>(&event)) failed_ = failed->error;
  }
  [[nodiscard]] bool ended() const { return finished_ || failed_; }
  // Between its tokens, from one of them on.
  [[nodiscard]] std::vector<double> gaps_from(std::size_t first) const {
    std::vector<double> gaps;
    for (std::size_t i = first + 1; i < at_.size(); ++i) {
      gaps.push_back(env::ms_between(at_[i - 1], at_[i]));
    }
    return gaps;
  }

  const ManualClock& clock_;
  std::vector<env::Clock::TimePoint> at_;
  std::string text_;
  std::optional<Finished> finished_;
  std::optional<Error> failed_;
};

struct Setting {
  engine::FakeKind kind = engine::FakeKind::kHybrid;
  double target_ms = 250.0;
  Exactness exact = Exactness::kOff;
  bool one_chunk_after_another = false;  // for cold runs: all is exact, whatever the engine is
  TokenPos chunk = 512;
  WorkTimes times = {};
  int slots = 2;
  ByteCount budget = 64 << 20;
};

struct PacedServer {
  explicit PacedServer(const Setting& setting)
      : fake{.kind = setting.kind,
             .slots = setting.slots,
             .context_tokens = 40'000,
             .chunk_tokens_max = setting.chunk,
             .snapshot_bytes = 8 + padding(setting.times),
             .chunk_sensitive = prompts_are_exact(setting.exact)},
        engine(fake, clock, setting.times),
        scheduler(engine, text, options(setting), clock) {}

  // A snapshot weighs what its time says.
  static ByteCount padding(const WorkTimes& times) {
    constexpr double kRowBytes = 8.0;
    return static_cast<ByteCount>(times.snapshot / times.row * kRowBytes);
  }
  static SchedulerOptions options(const Setting& setting) {
    SchedulerOptions made;
    made.exact = setting.one_chunk_after_another ? Exactness::kAll : setting.exact;
    made.grid_step = setting.chunk;
    made.pace.target_ms = setting.target_ms;
    made.cache.memory.budget = setting.budget;
    return made;
  }

  std::shared_ptr<TimedClient> submit(const std::string& prompt, TokenPos max_tokens,
                                      const std::string& id = "") {
    auto client = std::make_shared<TimedClient>(clock);
    GenerateRequest request;
    request.id = id.empty() ? "r" + std::to_string(++requests) : id;
    request.prompt = text.tokenize(prompt, true, true);
    request.sampler = std::move(text.make_sampler({}, nullptr).value());
    request.max_tokens = max_tokens;
    request.ignore_eos = true;
    request.want_tokens = true;  // an event for each, text or none
    request.sink = client;
    EXPECT_TRUE(scheduler.submit(std::move(request)).ok());
    return client;
  }
  bool run_round() {
    const bool busy = scheduler.run_round();
    EXPECT_EQ(scheduler.check(), std::vector<std::string>{});
    EXPECT_EQ(engine.check(), std::vector<std::string>{});
    return busy;
  }
  void run_until_ended(const TimedClient& client) {
    for (int i = 0; i < 200'000 && !client.ended() && !::testing::Test::HasFailure(); ++i)
      run_round();
    ASSERT_TRUE(client.ended());
  }
  void run_until(const TimedClient& client, std::size_t tokens) {
    for (int i = 0; i < 200'000 && client.at_.size() < tokens; ++i) run_round();
    ASSERT_GE(client.at_.size(), tokens);
  }
  std::vector<TokenPos> chunks_of(SlotId slot) const {
    std::vector<TokenPos> sizes;
    for (const DoneWork& work : engine.done()) {
      if (work.kind == 'p' && work.slot == slot) sizes.push_back(work.tokens);
    }
    return sizes;
  }

  engine::FakeOptions fake;
  engine::FakeText text;
  ManualClock clock;
  TimedEngine engine;
  Scheduler scheduler;
  int requests = 0;
};

std::string long_text(std::size_t length, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::string made;
  while (made.size() < length) made += static_cast<char>('a' + random() % 26);
  return made;
}

// What an engine that was asked nothing else answers, chunk by chunk of the grid.
std::string cold(const Setting& like, const std::string& prompt, TokenPos max_tokens) {
  Setting setting = like;
  setting.one_chunk_after_another = true;
  setting.slots = 1;
  PacedServer server(setting);
  const auto client = server.submit(prompt, max_tokens);
  server.run_until_ended(*client);
  return client->text_;
}

// --- gaps ----------------------------------------------------------------------------------

struct Machine {
  const char* name;
  WorkTimes times;
  TokenPos chunk;
  double target_ms;
};

class WhileOneWrites : public ::testing::TestWithParam<Machine> {
 protected:
  static constexpr TokenPos kPrompt = 16'000;
  Setting setting() const {
    return {
        .target_ms = GetParam().target_ms, .chunk = GetParam().chunk, .times = GetParam().times};
  }
  double smallest_chunk_ms() const { return GetParam().times.chunk + 64 * GetParam().times.token; }
};

TEST_P(WhileOneWrites, NoGapExceedsTheTargetByMoreThanTheSmallestChunk) {
  PacedServer server(setting());
  const auto writer = server.submit("abc", -1);
  server.run_until(*writer, 100);
  // Makes the machine's times known, at whatever cost.
  server.run_until_ended(*server.submit(long_text(3000, 5), 1));
  const std::size_t first = writer->at_.size();
  const auto reader = server.submit(long_text(kPrompt), 1);
  server.run_until_ended(*reader);
  const auto gaps = writer->gaps_from(first);
  ASSERT_FALSE(gaps.empty());
  const WorkTimes& times = GetParam().times;
  const double most = std::max(GetParam().target_ms, times.step) + smallest_chunk_ms() + times.step;
  EXPECT_LE(*std::ranges::max_element(gaps), most);
  EXPECT_EQ(reader->text_, cold(setting(), long_text(kPrompt), 1));
}

TEST_P(WhileOneWrites, FewGapsAreLongOrReadingHasHalfOfTheTime) {
  Setting made = setting();
  made.slots = 4;
  PacedServer server(made);
  std::vector<std::shared_ptr<TimedClient>> writers;
  for (const char* prompt : {"abc", "def", "ghi"}) writers.push_back(server.submit(prompt, -1));
  const auto writer = writers.front();
  server.run_until(*writer, 10);
  server.run_until_ended(*server.submit(long_text(kPrompt, 5), 1));
  const std::size_t first = writer->at_.size();
  const auto began = server.clock.now();
  server.run_until_ended(*server.submit(long_text(kPrompt), 1));
  const auto gaps = writer->gaps_from(first - 1);
  const double step = GetParam().times.step;
  const auto noticed = std::ranges::count_if(gaps, [&](double ms) { return ms > 1.3 * step; });
  const double share = static_cast<double>(noticed) / static_cast<double>(gaps.size());
  const double all = env::ms_between(began, server.clock.now());
  const double reading = 1.0 - static_cast<double>(gaps.size()) * step / all;
  // Three write and one reads: a rest lasts two thirds of its gap, unless few are noticed anyway.
  EXPECT_TRUE(share <= 1.0 / 24 + 0.02 || reading <= 0.7) << share << " noticed, " << reading;
  EXPECT_GE(reading, 0.5);
  EXPECT_LE(share, 0.35);
}

TEST_P(WhileOneWrites, NothingChangesWhereNobodyWrites) {
  const auto alone = [&](double target_ms) {
    Setting made = setting();
    made.target_ms = target_ms;
    PacedServer server(made);
    const auto reader = server.submit(long_text(kPrompt), 1);
    int turns = 0;
    while (!reader->ended()) turns += server.run_round() ? 1 : 0;
    return std::tuple(server.chunks_of(SlotId{0}), turns, server.clock.now().time_since_epoch());
  };
  EXPECT_EQ(alone(1.0), alone(0.0));
  const auto chunks = std::get<0>(alone(1.0));
  for (std::size_t i = 0; i + 1 < chunks.size(); ++i) EXPECT_EQ(chunks[i], GetParam().chunk);
}

TEST_P(WhileOneWrites, WherePromptsAreExactChunksAndAnswersStayAsTheyAre) {
  for (const Exactness exact : {Exactness::kPrompt, Exactness::kAll}) {
    Setting made = setting();
    made.exact = exact;
    PacedServer server(made);
    const auto writer = server.submit("abc", -1);
    server.run_until(*writer, 20);
    for (const unsigned seed : {5U, 6U}) {
      const auto reader = server.submit(long_text(5000, seed), 30);
      server.run_until_ended(*reader);
      EXPECT_EQ(reader->text_, cold(made, long_text(5000, seed), 30));
    }
    const auto chunks = server.chunks_of(SlotId{1});
    const TokenPos last = 5000 % GetParam().chunk;
    for (const TokenPos size : chunks) EXPECT_TRUE(size == GetParam().chunk || size == last);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Machines, WhileOneWrites,
    ::testing::Values(Machine{"gpu", {}, 512, 250.0}, Machine{"gpu, short target", {}, 512, 100.0},
                      Machine{"gpu, short steps", {.step = 2.0}, 512, 250.0},
                      Machine{"processor",
                              {.chunk = 2, .token = 0.45, .step = 5, .row = 0.001, .snapshot = 0.1},
                              256,
                              250.0},
                      Machine{"slow processor",
                              {.chunk = 40, .token = 5, .step = 60, .row = 0.01, .snapshot = 5},
                              256,
                              250.0}),
    [](const auto& one) {
      std::string name = one.param.name;
      std::erase_if(name, [](unsigned char c) { return std::isalnum(c) == 0; });
      return name;
    });

TEST(Pace, APromptThatArrivesInQuietTimesIsReadWithoutRests) {
  PacedServer server({.slots = 4});
  std::vector<std::shared_ptr<TimedClient>> writers;
  for (const char* prompt : {"abc", "def", "ghi"}) writers.push_back(server.submit(prompt, -1));
  server.run_until(*writers.front(), 400);
  const auto began = server.clock.now();
  server.run_until_ended(*server.submit(long_text(16'000), 1));
  const double took = env::ms_between(began, server.clock.now());
  const double alone = 16'000 * 0.12 + 16'000.0 / 512 * 2;
  EXPECT_LT(took, 1.35 * alone) << "copies and one step after each lump are all that is added";
}

TEST(Pace, WithoutATargetAGapHoldsABatch) {
  PacedServer server({.target_ms = 0.0, .times = {.token = 1.0}});
  const auto writer = server.submit("abc", -1);
  server.run_until(*writer, 20);
  server.run_until_ended(*server.submit(long_text(8192), 1));
  TokenPos since = 0;
  TokenPos most = 0;
  for (const DoneWork& work : server.engine.done()) {
    if (work.kind == 'd') since = 0;
    if (work.kind == 'p') most = std::max(most, since += work.tokens);
  }
  EXPECT_EQ(most, 2048);
}

// --- copies --------------------------------------------------------------------------------

// Rows that take as long to copy as to read, and snapshots that fill the target alone.
Setting slow_copies(engine::FakeKind kind, Exactness exact) {
  return {.kind = kind,
          .target_ms = 100.0,
          .exact = exact,
          .times = {.row = 0.12, .snapshot = 80.0},
          .slots = 3};
}

struct Copying {
  engine::FakeKind kind;
  Exactness exact;
};
class SlowCopies : public ::testing::TestWithParam<Copying> {};

TEST_P(SlowCopies, WhatIsCopiedPastAStepIsTheSame) {
  const Setting setting = slow_copies(GetParam().kind, GetParam().exact);
  PacedServer server(setting);
  const auto writer = server.submit("abc", -1);
  server.run_until(*writer, 50);
  const std::string document = long_text(6000);
  server.run_until_ended(*server.submit(document + "</s>first question</s>", 5));

  // Read, then a step of others, then copied: at least once, or this tests nothing.
  int postponed = 0;
  char last = ' ';
  for (const DoneWork& work : server.engine.done()) {
    const bool of_reader = work.slot != SlotId{0};
    if (work.kind == 's' && of_reader && last == 'd') ++postponed;
    if (of_reader || work.kind == 'd') last = work.kind;
  }
  EXPECT_GT(postponed, 0);

  // Others take the slots, so that what is asked next comes from memory.
  for (const unsigned seed : {8U, 9U})
    server.run_until_ended(*server.submit(long_text(700, seed), 2));
  for (const char* question : {"first question", "second question"}) {
    const std::string prompt = document + "</s>" + question + "</s>";
    const auto again = server.submit(prompt, 30);
    server.run_until_ended(*again);
    EXPECT_GE(again->finished_->timings.cached_tokens, 5000) << question;
    EXPECT_EQ(again->text_, cold(setting, prompt, 30)) << question;
  }
}

TEST_P(SlowCopies, GapsStayWithinTheTarget) {
  Setting setting = slow_copies(GetParam().kind, GetParam().exact);
  if (GetParam().kind == engine::FakeKind::kWindowed)
    setting.times.snapshot = 0.24;  // as its bytes say
  PacedServer server(setting);
  const auto writer = server.submit("abc", -1);
  server.run_until(*writer, 50);
  server.run_until_ended(*server.submit(long_text(3000, 5), 1));
  const std::size_t first = writer->at_.size();
  server.run_until_ended(*server.submit(long_text(6000), 5));
  const auto gaps = writer->gaps_from(first);
  // Copies are divided at blocks of 64 rows; a step is part of each gap.
  EXPECT_LE(*std::ranges::max_element(gaps), 1.05 * 100.0 + 64 * 0.12 + 10.0);
}

TEST_P(SlowCopies, ACancelledRequestLosesNothingThatWasPostponed) {
  const Setting setting = slow_copies(GetParam().kind, GetParam().exact);
  int seen = 0;
  for (int turns = 1; turns < 60; turns += 3) {
    PacedServer server(setting);
    const auto writer = server.submit("abc", -1);
    server.run_until(*writer, 50);
    const std::string prompt = long_text(3000);
    const auto reader = server.submit(prompt, 20, "gone");
    for (int i = 0; i < turns; ++i) server.run_round();
    server.scheduler.cancel("gone");
    server.run_until(*writer, writer->at_.size() + 1);
    EXPECT_TRUE(reader->ended());
    const auto again = server.submit(prompt, 20);
    server.run_until_ended(*again);
    EXPECT_EQ(again->text_, cold(setting, prompt, 20)) << turns;
    seen += again->finished_->timings.cached_tokens > 0 ? 1 : 0;
  }
  EXPECT_GT(seen, 5);
}

INSTANTIATE_TEST_SUITE_P(Kinds, SlowCopies,
                         ::testing::Values(Copying{engine::FakeKind::kAttention, Exactness::kOff},
                                           Copying{engine::FakeKind::kWindowed, Exactness::kOff},
                                           Copying{engine::FakeKind::kRecurrent, Exactness::kOff},
                                           Copying{engine::FakeKind::kHybrid, Exactness::kOff},
                                           Copying{engine::FakeKind::kHybrid, Exactness::kPrompt},
                                           Copying{engine::FakeKind::kHybrid, Exactness::kAll}));

TEST(Pace, OneStateComesBackBetweenTwoSteps) {
  PacedServer server({.times = {.row = 0.002, .snapshot = 5.0}, .slots = 4});
  std::vector<std::string> prompts;
  for (const unsigned seed : {1U, 2U, 3U}) prompts.push_back(long_text(3000, seed) + "</s>a</s>");
  for (const std::string& prompt : prompts) server.run_until_ended(*server.submit(prompt, 2));
  for (const unsigned seed : {11U, 12U, 13U, 14U}) {
    server.run_until_ended(*server.submit(long_text(600, seed), 2));
  }
  const auto writer = server.submit("abc", -1);
  server.run_until(*writer, 30);
  const std::size_t before = server.engine.done().size();
  std::vector<std::shared_ptr<TimedClient>> all;
  for (const std::string& prompt : prompts) all.push_back(server.submit(prompt + "more", 2));
  for (const auto& one : all) server.run_until_ended(*one);
  int restores = 0;
  int in_gap = 0;
  for (std::size_t i = before; i < server.engine.done().size(); ++i) {
    const char kind = server.engine.done()[i].kind;
    if (kind == 'd') in_gap = 0;
    if (kind != 'r') continue;
    ++restores;
    EXPECT_EQ(++in_gap, 1);
  }
  EXPECT_EQ(restores, 3);
}

TEST(Pace, GapsAreCounted) {
  PacedServer server({});
  const auto writer = server.submit("abc", -1);
  server.run_until(*writer, 101);
  const auto quiet = server.scheduler.status();
  EXPECT_EQ(quiet.gaps_undisturbed.counts[1], quiet.decode_steps) << "of 10 ms";
  EXPECT_NEAR(quiet.gaps_undisturbed.sum, 0.01 * static_cast<double>(quiet.decode_steps), 0.001);
  server.run_until_ended(*server.submit(long_text(4000), 1));
  const auto after = server.scheduler.status();
  EXPECT_GT(after.gaps_of_work.longest, 0.1);
  EXPECT_LE(after.gaps_of_work.longest, 0.27);
  std::uint64_t counted = 0;
  for (const auto& gaps : {after.gaps_undisturbed, after.gaps_of_work}) {
    for (const std::uint64_t count : gaps.counts) counted += count;
  }
  EXPECT_EQ(counted, after.decode_steps);
}

// --- at random -----------------------------------------------------------------------------

struct RandomPace {
  engine::FakeKind kind;
  Exactness exact;
  double target_ms;
};
class PaceModel : public ::testing::TestWithParam<RandomPace> {};

TEST_P(PaceModel, EveryAnswerEqualsTheColdOne) {
  std::mt19937 random(4242);
  const Setting setting{.kind = GetParam().kind,
                        .target_ms = GetParam().target_ms,
                        .exact = GetParam().exact,
                        .chunk = 128,
                        .times = {.row = 0.05, .snapshot = 20.0},
                        .slots = 3,
                        .budget = 40'000};
  PacedServer server(setting);
  struct Asked {
    std::string prompt;
    std::string id;
    TokenPos wanted = 0;
    std::shared_ptr<TimedClient> client;
  };
  std::vector<Asked> asked;
  std::vector<std::string> histories = {long_text(500) + "</s>", "short</s>"};
  int answered = 0;
  for (int turn = 0; turn < 2500 && !HasFailure(); ++turn) {
    if (asked.size() < 5 && random() % 8 == 0) {
      std::string prompt = histories[random() % histories.size()];
      if (random() % 4 == 0) prompt.resize(1 + random() % prompt.size());
      prompt += long_text(random() % 400, random()) + "</s>";
      const auto wanted = static_cast<TokenPos>(1 + random() % 30);
      const std::string id = "q" + std::to_string(turn);
      asked.push_back({prompt, id, wanted, server.submit(prompt, wanted, id)});
    }
    if (!asked.empty() && random() % 100 == 0) {
      server.scheduler.cancel(asked[random() % asked.size()].id);
    }
    if (random() % 500 == 0)
      server.scheduler.cache_commands().clear([](const Result<ByteCount>&) {});
    server.run_round();
    std::erase_if(asked, [&](const Asked& one) {
      if (!one.client->ended()) return false;
      if (!one.client->finished_) return true;
      ++answered;
      EXPECT_EQ(one.client->text_, cold(setting, one.prompt, one.wanted));
      if (one.prompt.size() < 3000) histories.push_back(one.prompt + one.client->text_ + "</s>");
      if (histories.size() > 8) histories.erase(histories.begin() + 2);
      return true;
    });
  }
  EXPECT_GT(answered, 40);
}

INSTANTIATE_TEST_SUITE_P(
    Runs, PaceModel,
    ::testing::Values(RandomPace{engine::FakeKind::kAttention, Exactness::kOff, 30.0},
                      RandomPace{engine::FakeKind::kWindowed, Exactness::kOff, 30.0},
                      RandomPace{engine::FakeKind::kRecurrent, Exactness::kOff, 30.0},
                      RandomPace{engine::FakeKind::kHybrid, Exactness::kOff, 30.0},
                      RandomPace{engine::FakeKind::kHybrid, Exactness::kOff, 250.0},
                      RandomPace{engine::FakeKind::kHybrid, Exactness::kAll, 30.0},
                      RandomPace{engine::FakeKind::kHybrid, Exactness::kPrompt, 30.0},
                      RandomPace{engine::FakeKind::kWindowed, Exactness::kPrompt, 30.0},
                      RandomPace{engine::FakeKind::kAttention, Exactness::kAll, 30.0}));

}  // namespace
}  // namespace holdfast::serve
