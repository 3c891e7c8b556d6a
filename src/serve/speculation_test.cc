// Speculation on the fake engine: whatever a companion proposes, and whatever happens
// to the state on the way, the answer is the one without it.
#include <gtest/gtest.h>

#include <random>

#include "serve/testing/scheduler_fixture.h"

namespace holdfast::serve {
namespace {

constexpr ByteCount kAmple = 64 << 20;

std::string asking(const std::string& text) { return "<s>user: " + text + "</s><s>"; }

// Knows what the fake engine will say, by asking another one, and says something else
// now and then. Follows the primary by what it is told alone.
class Parrot final : public engine::Companion {
 public:
  Parrot(engine::FakeKind kind, int slots, double truth, unsigned seed)
      : kind_(kind), truth_(truth), random_(seed), held_(static_cast<std::size_t>(slots)) {}

  [[nodiscard]] std::string_view name() const noexcept override { return "parrot"; }
  [[nodiscard]] engine::CompanionShape shape() const noexcept override { return {}; }
  engine::Followed follow(SlotId slot, const engine::CompanionPoint& point) noexcept override {
    held(slot).assign(point.tokens.begin(), point.tokens.end());
    return {.held = length_of(point.tokens)};
  }
  void advance(SlotId slot, TokenSpan kept, TokenPos) noexcept override {
    held(slot).insert(held(slot).end(), kept.begin(), kept.end());
  }
  void draft(std::span<engine::DraftWish> wishes) noexcept override {
    for (engine::DraftWish& wish : wishes) {
      Tokens tokens = held(wish.slot);
      tokens.push_back(wish.next);
      wish.draft = continuation(tokens, wish.most);
      for (Token& token : wish.draft) {
        if (chance() >= truth_) token = nonsense();
      }
      if (shorter_for_slot) wish.draft.resize(std::min(wish.draft.size(), slot_size(wish.slot)));
      if (chance() >= truth_ && chance() < 0.5) wish.draft.resize(wish.draft.size() / 2);
      if (chance() >= truth_ && chance() < 0.1) wish.draft.resize(1000, 'x');
    }
  }
  engine::CompanionSaved save(SlotId, std::span<const TokenRange>, TokenPos) noexcept override {
    return {};
  }

  bool shorter_for_slot = false;  // slot 0 gets one token, slot 1 two, ...

 private:
  static std::size_t slot_size(SlotId slot) { return static_cast<std::size_t>(slot.value) + 1; }
  Tokens& held(SlotId slot) { return held_[static_cast<std::size_t>(slot.value)]; }
  double chance() { return std::uniform_real_distribution<>()(random_); }
  Token nonsense() {
    constexpr std::array<Token, 5> kTokens{-1, 'q', engine::kFakeTurnEnd, 258, 1 << 30};
    return kTokens[random_() % kTokens.size()];
  }
  [[nodiscard]] Tokens continuation(const Tokens& tokens, TokenPos count) const {
    engine::FakeEngine engine(
        {.kind = kind_, .slots = 1, .context_tokens = 8192, .chunk_tokens_max = 8192});
    const auto sampler = engine::FakeText().make_sampler({}, nullptr);
    EXPECT_TRUE(engine.prefill(SlotId{0}, tokens, engine::LogitsOf::kLastToken).ok());
    Tokens out;
    while (length_of(out) < count) {
      out.push_back(engine.sample(SlotId{0}, **sampler, 0).value().token);
      const engine::DecodeStep step{SlotId{0}, TokenSpan(out).last(1)};
      EXPECT_TRUE(engine.decode({&step, 1}).ok());
    }
    return out;
  }

  engine::FakeKind kind_;
  double truth_;
  std::mt19937 random_;
  std::vector<Tokens> held_;
};

SchedulerOptions with_memory() {
  SchedulerOptions options;
  options.cache.memory.budget = kAmple;
  return options;
}

struct World {
  engine::FakeKind kind;
  TokenPos rollback;
  int slots;
};

class Speculation : public ::testing::TestWithParam<World> {
 protected:
  static engine::FakeOptions fake() {
    const World world = GetParam();
    return {.kind = world.kind,
            .slots = world.slots,
            .context_tokens = 600,
            .rollback_depth = world.rollback};
  }
  static Parrot parrot(double truth, unsigned seed = 1) {
    return {GetParam().kind, GetParam().slots, truth, seed};
  }
};

struct Seen {
  std::vector<std::string> texts;
  std::vector<TokenPos> restored;
  bool operator==(const Seen&) const = default;
};

// Some turns of two conversations, one after the other.
Seen converse(const engine::FakeOptions& fake, engine::Companion* companion,
              DraftCounts* drafts = nullptr) {
  Bench bench(fake, with_memory(), {.companion = companion});
  Seen seen;
  std::array<std::string, 2> history{"<s>system: one</s>", "<s>system: another</s>"};
  for (int turn = 0; turn < 8; ++turn) {
    std::string& prompt = history[static_cast<std::size_t>(turn / 2 % 2)];
    prompt += asking("turn " + std::to_string(turn));
    auto request = bench.request(prompt, 25);
    request.draft.adaptive = false;
    const auto recorder = bench.submit(std::move(request));
    bench.turn_until_ended(*recorder);
    if (!recorder->finished_) {
      seen.texts.push_back("failed: " + recorder->failed_->message);
      continue;
    }
    seen.texts.push_back(recorder->text_);
    seen.restored.push_back(recorder->finished_->receipt->restored);
    prompt += recorder->text_ + "</s>";
    const Timings& timings = recorder->finished_->timings;
    EXPECT_TRUE(companion == nullptr || timings.drafted_tokens > 0 || recorder->text_.size() < 20);
  }
  if (drafts != nullptr) *drafts = bench.scheduler.status().drafts;
  return seen;
}

TEST_P(Speculation, AnswersAndReuseAreThoseWithoutIt) {
  const Seen alone = converse(fake(), nullptr);
  for (const double truth : {1.0, 0.9, 0.5, 0.0}) {
    for (unsigned seed = 0; seed < 5; ++seed) {
      Parrot companion = parrot(truth, seed);
      DraftCounts drafts;
      const Seen seen = converse(fake(), &companion, &drafts);
      EXPECT_EQ(seen.texts, alone.texts) << "truth " << truth << " seed " << seed;
      EXPECT_EQ(seen.restored, alone.restored);
      if (truth == 0.0) {
        EXPECT_LT(drafts.accepted * 10, drafts.drafted);
      }
    }
  }
}

TEST_P(Speculation, ARightDraftIsAcceptedWhole) {
  Parrot companion = parrot(1.0);
  Bench bench(fake(), with_memory(), {.companion = &companion});
  auto request = bench.request(asking("hello"), 100);
  request.draft = {.max = 4, .adaptive = false};
  request.ignore_eos = true;
  const auto recorder = bench.submit(std::move(request));
  bench.turn_until_ended(*recorder);
  const DraftCounts drafts = bench.scheduler.status().drafts;
  EXPECT_EQ(drafts.accepted, drafts.drafted);
  EXPECT_EQ(recorder->finished_->timings.predicted_tokens, 100);
  // One from the prompt, then five a step, and no more than were asked for.
  EXPECT_EQ(bench.scheduler.status().decode_steps, 20U);
}

TEST_P(Speculation, SeveralSlotsEachWithTheirOwnDraft) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    Parrot companion = parrot(0.8, random());
    Bench bench(fake(), with_memory(), {.companion = &companion});
    std::vector<std::pair<std::string, std::shared_ptr<Recorder>>> running;
    for (int i = 0; i < 8; ++i) {
      const std::string prompt = asking("conversation " + std::to_string(random() % 5));
      auto request = bench.request(prompt, 30);
      request.draft = {.max = static_cast<TokenPos>(random() % 6), .adaptive = random() % 2 == 0};
      if (random() % 4 == 0) request.stops = {"e"};
      running.emplace_back(prompt, bench.submit(std::move(request)));
    }
    for (int i = 0; i < 3; ++i) bench.run_round();
    bench.scheduler.cancel("r3");
    for (const auto& [prompt, recorder] : running) {
      bench.turn_until_ended(*recorder);
      if (!recorder->finished_) continue;
      std::string expected = cold_answer(fake(), prompt, 30);
      if (recorder->finished_->reason == FinishReason::kStopString) {
        expected = expected.substr(0, expected.find('e'));
      }
      EXPECT_EQ(recorder->text_, expected);
    }
  }
}

// Batches of their own would cost a step each, so shorter drafts are filled up. Not where
// that has to be brought back: what fills up is always wrong.
TEST_P(Speculation, DraftsOfDifferentLengthShareABatch) {
  if (GetParam().slots < 3) GTEST_SKIP() << "needs several slots";
  const auto write = [](engine::Companion* companion, DraftCounts* drafts, bool* together) {
    Bench bench(fake(), with_memory(), {.companion = companion});
    std::vector<std::shared_ptr<Recorder>> running;
    for (int i = 0; i < 3; ++i) {
      auto request = bench.request(asking("conversation " + std::to_string(i)), 60);
      request.ignore_eos = true;
      request.draft = {.max = 4, .adaptive = false};
      running.push_back(bench.submit(std::move(request)));
    }
    while (bench.scheduler.status().slots[2].predicted == 0) bench.run_round();
    const std::uint64_t before = bench.scheduler.status().decode_steps;
    for (int i = 0; i < 5; ++i) bench.run_round();
    const std::uint64_t steps = bench.scheduler.status().decode_steps - before;
    EXPECT_TRUE(steps == 5 || steps == 15) << steps;
    *together = steps == 5;
    std::vector<std::string> texts;
    for (const auto& recorder : running) {
      bench.turn_until_ended(*recorder);
      texts.push_back(recorder->text_);
    }
    *drafts = bench.scheduler.status().drafts;
    return texts;
  };
  DraftCounts drafts;
  bool together = false;
  const auto alone = write(nullptr, &drafts, &together);
  Parrot companion = parrot(1.0);
  companion.shorter_for_slot = true;
  EXPECT_EQ(write(&companion, &drafts, &together), alone);
  EXPECT_EQ(together, engine::FakeEngine(fake()).can_take_back(4));
  EXPECT_GT(drafts.drafted, 0U);
  EXPECT_EQ(drafts.accepted, drafts.drafted) << "what fills a batch up is no draft";
}

// Drafts that are taken or not by given probabilities, whatever the model says.
Timings timed(const engine::FakeOptions& fake, Parrot companion, std::vector<float> rates,
              std::string* text = nullptr) {
  SchedulerOptions options = with_memory();
  options.synthetic_acceptance = std::move(rates);
  Bench bench(fake, options, {.companion = &companion});
  auto request = bench.request(asking("hello"), 40);
  request.draft = {.max = 4, .adaptive = false};
  request.ignore_eos = true;
  const auto recorder = bench.submit(std::move(request));
  bench.turn_until_ended(*recorder);
  EXPECT_TRUE(recorder->finished_);
  if (!recorder->finished_) return {};
  if (text != nullptr) *text = recorder->text_;
  return recorder->finished_->timings;
}

TEST_P(Speculation, ADraftThatIsNeverTakenChangesNoToken) {
  std::string alone;
  std::string never;
  (void)timed(fake(), parrot(0.0), {}, &alone);
  const Timings timings = timed(fake(), parrot(1.0), {0, 0, 0, 0}, &never);
  EXPECT_EQ(never, alone);
  EXPECT_GT(timings.drafted_tokens, 0);
  EXPECT_EQ(timings.accepted_tokens, 0) << "although every draft was right";
}

TEST_P(Speculation, ADraftThatIsAlwaysTakenIsTakenWhole) {
  const Timings timings = timed(fake(), parrot(1.0), {1, 1, 1, 1});
  EXPECT_GT(timings.drafted_tokens, 0);
  EXPECT_EQ(timings.accepted_tokens, timings.drafted_tokens);
  const auto nonsense_taken = [&](std::vector<float> rates) {
    return timed(fake(), parrot(0.0), std::move(rates)).accepted_tokens;
  };
  EXPECT_GT(nonsense_taken({1, 1, 1, 1}), nonsense_taken({}));
}

TEST_P(Speculation, PretendingIsTheSameForEveryRequest) {
  const auto accepted = [&] {
    return timed(fake(), parrot(1.0), {0.7F, 0.5F, 0.3F, 0.2F}).accepted_tokens;
  };
  EXPECT_EQ(accepted(), accepted());
  EXPECT_GT(accepted(), 0);
}

TEST_P(Speculation, EndsExactlyWhereTheContextDoes) {
  engine::FakeOptions options = fake();
  options.context_tokens = 80;
  std::string alone;
  for (const bool with : {false, true}) {
    Parrot companion = parrot(1.0);
    Bench bench(options, with_memory(), {.companion = with ? &companion : nullptr});
    auto request = bench.request(asking("hello"), -1);
    request.draft.adaptive = false;
    request.ignore_eos = true;
    const auto recorder = bench.submit(std::move(request));
    bench.turn_until_ended(*recorder);
    EXPECT_EQ(recorder->finished_->reason, FinishReason::kContextFull);
    if (!with) alone = recorder->text_;
    EXPECT_EQ(recorder->text_, alone);
  }
}

// Cuts that are refused, snapshots that cannot be taken or brought back: they cost
// time. Only a decode or a prefill that fails ends a request, with or without drafts.
TEST_P(Speculation, RefusalsOnTheWayChangeNoToken) {
  const Seen alone = converse(fake(), nullptr);
  std::mt19937 random(11);
  for (int round = 0; round < 40; ++round) {
    engine::FakeOptions options = fake();
    const unsigned every = 2 + random() % 5;
    options.faults = [&, every](engine::FakeOperation operation) {
      if (random() % every != 0) return engine::FakeFault::kNone;
      switch (operation) {
        case engine::FakeOperation::kTruncate: return engine::FakeFault::kRefuse;
        case engine::FakeOperation::kSave:
          return random() % 2 == 0 ? engine::FakeFault::kFail : engine::FakeFault::kCorrupt;
        case engine::FakeOperation::kLoad: return engine::FakeFault::kFail;
        default: return engine::FakeFault::kNone;
      }
    };
    Parrot companion = parrot(0.7, random());
    EXPECT_EQ(converse(options, &companion).texts, alone.texts) << "round " << round;
  }
}

// What is read again has other bits than what was written. A deterministic server says so rather
// than answer otherwise.
TEST_P(Speculation, ADeterministicAnswerIsTheColdOneOrNone) {
  engine::FakeOptions options = fake();
  options.chunk_sensitive = true;
  SchedulerOptions deterministic = with_memory();
  deterministic.exact = Exactness::kAll;
  deterministic.deterministic_draft = 3;
  for (unsigned seed = 0; seed < 10; ++seed) {
    std::mt19937 random(seed);
    options.faults = [&](engine::FakeOperation operation) {
      if (random() % 3 != 0) return engine::FakeFault::kNone;
      if (operation == engine::FakeOperation::kTruncate) return engine::FakeFault::kRefuse;
      if (operation == engine::FakeOperation::kLoad) return engine::FakeFault::kFail;
      return engine::FakeFault::kNone;
    };
    Parrot companion = parrot(0.6, seed);
    Bench bench(options, deterministic, {.companion = &companion});
    const auto recorder = bench.submit(asking("hello"), 40);
    bench.turn_until_ended(*recorder);
    const std::string cold = cold_answer(options, asking("hello"), 40);
    if (recorder->finished_) {
      EXPECT_EQ(recorder->text_, cold);
    } else {
      EXPECT_TRUE(cold.starts_with(recorder->text_)) << recorder->text_;
    }
  }
}

// There an answer may go on with other bits, and no prompt after it has them.
TEST_P(Speculation, WherePromptsAloneAreExactNoPromptIsSpoiltByADraft) {
  engine::FakeOptions options = fake();
  options.chunk_sensitive = true;
  SchedulerOptions exact = with_memory();
  exact.exact = Exactness::kPrompt;
  for (unsigned seed = 0; seed < 10; ++seed) {
    std::mt19937 random(seed);
    options.faults = [&](engine::FakeOperation operation) {
      if (random() % 3 != 0) return engine::FakeFault::kNone;
      if (operation == engine::FakeOperation::kTruncate) return engine::FakeFault::kRefuse;
      if (operation == engine::FakeOperation::kLoad) return engine::FakeFault::kFail;
      return engine::FakeFault::kNone;
    };
    Parrot companion = parrot(0.6, seed);
    Bench bench(options, exact, {.companion = &companion});
    std::string history = asking("hello");
    for (int turn = 0; turn < 5; ++turn) {
      const auto recorder = bench.submit(history, 30);
      bench.turn_until_ended(*recorder);
      ASSERT_TRUE(recorder->finished_.has_value()) << recorder->failed_->message;
      ASSERT_EQ(recorder->text_.substr(0, 1), cold_answer(options, history, 1))
          << "seed " << seed << ", turn " << turn;
      history += recorder->text_ + "</s>" + asking("and then");
    }
  }
}

// Every step has the same shape, whatever was drafted.
TEST_P(Speculation, DeterministicStepsAreAllAlike) {
  std::vector<std::uint64_t> steps;
  for (const double truth : {1.0, 0.0}) {
    Parrot companion = parrot(truth);
    SchedulerOptions options = with_memory();
    options.exact = Exactness::kAll;
    options.deterministic_draft = 3;
    Bench bench(fake(), options, {.companion = &companion});
    auto request = bench.request(asking("hello"), 61);
    request.ignore_eos = true;
    const auto recorder = bench.submit(std::move(request));
    bench.turn_until_ended(*recorder);
    EXPECT_EQ(recorder->finished_->timings.predicted_tokens, 61);
    EXPECT_EQ(bench.engine.decode_sizes(), (std::set<std::size_t>{4}));
    steps.push_back(bench.scheduler.status().decode_steps);
  }
  EXPECT_EQ(steps.front(), 15U);
  EXPECT_GT(steps.back(), 50U);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Speculation,
                         ::testing::Values(World{engine::FakeKind::kAttention, 0, 1},
                                           World{engine::FakeKind::kAttention, 0, 3},
                                           World{engine::FakeKind::kWindowed, 0, 1},
                                           World{engine::FakeKind::kRecurrent, 0, 1},
                                           World{engine::FakeKind::kHybrid, 0, 1},
                                           World{engine::FakeKind::kHybrid, 0, 3},
                                           World{engine::FakeKind::kHybrid, 3, 1},
                                           World{engine::FakeKind::kHybrid, 16, 3},
                                           World{engine::FakeKind::kRecurrent, 16, 3}));

}  // namespace
}  // namespace holdfast::serve
