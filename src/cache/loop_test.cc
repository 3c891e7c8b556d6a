// More conversations by turns than memory has room for (plan/return_ages.h). Whatever drops the
// least recently used reads all of them again in every turn. Some are kept instead, and how many
// follows from the requests alone, not from the time that passes between them.
#include <gtest/gtest.h>

#include <random>

#include "cache/state_cache.h"
#include "engine/testing/fake.h"

namespace holdfast::cache {
namespace {

constexpr TokenPos kStep = 64;
constexpr TokenPos kOpening = 320;
constexpr TokenPos kTurn = 64;
constexpr ByteCount kRowBytes = 8;
constexpr ByteCount kSnapshotBytes = 1000;

class TurnedClock final : public env::Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return TimePoint{} + passed; }
  std::chrono::milliseconds passed{0};
};

struct Round {
  int conversations = 6;
  int turns = 12;
  int slots = 1;
  double memory = 0.25;  // of what all of them need in the end
  std::chrono::milliseconds pause{1000};
  bool shuffled = false;  // another order in each turn

  [[nodiscard]] ByteCount budget() const {
    const ByteCount rows = static_cast<ByteCount>(kOpening + turns * kTurn) * kRowBytes;
    return static_cast<ByteCount>(memory * conversations *
                                  static_cast<double>(rows + kSnapshotBytes));
  }
};

// Plays a round. Returns the share of known tokens that was not read again.
class Talks {
 public:
  explicit Talks(const Round& round)
      : round_(round),
        engine_({.slots = round.slots,
                 .context_tokens = 4096,
                 .chunk_tokens_max = kStep,
                 .snapshot_bytes = kSnapshotBytes}),
        cache_({.engine = &engine_, .clock = &clock_}, options()),
        talks_(static_cast<std::size_t>(round.conversations)) {
    for (int i = 0; i < round.slots; ++i) slots_.push_back(SlotId{i});
  }

  double reused() {
    std::mt19937 random(3);
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < talks_.size(); ++i) order.push_back(i);
    for (int turn = 0; turn < round_.turns; ++turn) {
      for (std::size_t i = order.size(); round_.shuffled && i > 1; --i) {
        std::swap(order[i - 1], order[random() % i]);
      }
      for (const std::size_t who : order) say(talks_[who], turn == 0 ? kOpening : kTurn, random);
    }
    return known_ > 0 ? restored_ / known_ : 0;
  }

 private:
  [[nodiscard]] CacheOptions options() const {
    CacheOptions options;
    options.memory.budget = round_.budget();
    options.merged_chunk = kStep;
    return options;
  }

  void say(Tokens& talk, TokenPos more, std::mt19937& random) {
    known_ += length_of(talk);
    for (TokenPos i = 0; i < more; ++i) talk.push_back(static_cast<Token>(random() % 256));
    std::vector<TokenPos> cuts;
    for (TokenPos at = kStep; at < length_of(talk); at += kStep) cuts.push_back(at);
    const Prompt prompt{.space = {1, 2},
                        .tokens = talk,
                        .keys = talk,
                        .cuts = cuts,
                        .header_end = length_of(talk) - 1};
    Receipt receipt;
    const StartChoice outlook = cache_.admission().plan(prompt, slots_);
    const SlotId slot{outlook.plan.slot};
    cache_.begin(prompt, outlook, receipt);
    restored_ += receipt.restored;
    while (engine_.length(slot) < length_of(talk)) {
      const TokenPos begin = engine_.length(slot);
      const auto chunk = TokenSpan(talk).subspan(
          static_cast<std::size_t>(begin),
          static_cast<std::size_t>(cache_.growth().chunk_end(slot) - begin));
      ASSERT_TRUE(engine_.prefill(slot, chunk, engine::LogitsOf::kNone).ok());
      cache_.growth().prefilled(slot, chunk, receipt);
    }
    cache_.end(slot);
    ASSERT_EQ(cache_.check(), std::vector<std::string>{});
    clock_.passed += round_.pause;
  }

  const Round round_;
  TurnedClock clock_;
  engine::FakeEngine engine_;
  StateCache cache_;
  std::vector<SlotId> slots_;
  std::vector<Tokens> talks_;
  double known_ = 0;
  double restored_ = 0;
};

double reused(const Round& round) { return Talks(round).reused(); }

TEST(Loop, SomeConversationsAreKeptWhereAllDoNotFit) {
  for (const int conversations : {6, 16}) {
    EXPECT_GT(reused({.conversations = conversations, .memory = 0.25}), 0.20) << conversations;
    EXPECT_GT(reused({.conversations = conversations, .memory = 0.5}), 0.50) << conversations;
    EXPECT_GT(reused({.conversations = conversations, .memory = 0.75}), 0.70) << conversations;
  }
  EXPECT_GT(reused({.conversations = 16, .memory = 0.1}), 0.10);
  EXPECT_GT(reused({.memory = 0.1}), 0.07) << "not even one has room in the end";
  EXPECT_GT(reused({.memory = 1.6}), 0.98) << "and all where they do";
}

TEST(Loop, AnotherOrderInEachTurnIsALoopToo) {
  EXPECT_GT(reused({.memory = 0.25, .shuffled = true}), 0.20);
  EXPECT_GT(reused({.memory = 0.5, .shuffled = true}), 0.45);
  EXPECT_GT(reused({.conversations = 16, .memory = 0.5, .shuffled = true}), 0.45);
}

TEST(Loop, SeveralSlotsKeepTheirOwnBeside) {
  EXPECT_GT(reused({.conversations = 16, .turns = 4, .slots = 4, .memory = 0.1}), 0.08);
  EXPECT_GT(reused({.conversations = 16, .slots = 4, .memory = 0.25}), 0.20);
}

// Before the first of them is back nobody knows that it is a loop, and time counts: that is the
// rest.
TEST(Loop, WhatIsKeptHardlyDependsOnTheTimeBetweenRequests) {
  using std::chrono::milliseconds;
  for (const double memory : {0.1, 0.25, 0.5, 0.75}) {
    for (const bool shuffled : {false, true}) {
      const double tolerance = shuffled ? 0.05 : memory < 0.3 ? 0 : 0.02;
      const double fast =
          reused({.memory = memory, .pause = milliseconds(1), .shuffled = shuffled});
      for (const milliseconds pause : {milliseconds(1000), milliseconds(60'000)}) {
        const double other = reused({.memory = memory, .pause = pause, .shuffled = shuffled});
        EXPECT_NEAR(other, fast, tolerance)
            << memory << " of the memory, a request each " << pause.count() << " ms";
      }
    }
  }
}

}  // namespace
}  // namespace holdfast::cache
