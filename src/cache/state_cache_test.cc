// The cache by itself; serve/reuse_test.cc has what requests see of it.
#include "cache/state_cache.h"

#include <gtest/gtest.h>

#include "engine/fake.h"

namespace holdfast {
namespace {

class StillClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return {}; }
};

class CacheOnOneSlot : public ::testing::Test {
 protected:
  static CacheOptions with_memory() {
    CacheOptions options;
    options.memory.budget = 1 << 20;
    return options;
  }

  // Reads the prompt and generates two tokens. Returns the run.
  std::uint64_t serve(const Tokens& tokens) {
    const Prompt prompt{kSpace, tokens, tokens, {}, {}, true, std::nullopt};
    Receipt receipt;
    cache_.begin(prompt, cache_.plan(prompt, {&kSlot, 1}), receipt);
    const auto rest = TokenSpan(tokens).subspan(static_cast<std::size_t>(receipt.restored));
    EXPECT_TRUE(engine_.prefill(kSlot, rest, LogitsOf::kLastToken).ok());
    cache_.prefilled(kSlot, rest, receipt);
    for (const Token token : {7, 8}) {
      const DecodeStep step{kSlot, {&token, 1}};
      EXPECT_TRUE(engine_.decode({&step, 1}).ok());
      cache_.decoded(kSlot, {&token, 1});
    }
    const std::uint64_t run = cache_.run(kSlot);
    cache_.end(kSlot);
    EXPECT_EQ(cache_.check(), std::vector<std::string>{});
    return run;
  }

  Hints marks_at_the_end_of(Tokens tokens) {
    tokens.insert(tokens.end(), {7, 8});
    const Match match = cache_.memory().match(kSpace, tokens);
    EXPECT_EQ(match.matched, length_of(tokens));
    return match.stops.empty() ? Hints() : match.stops.back().marks;
  }

  static constexpr SlotId kSlot{0};
  static constexpr SpaceKey kSpace{1, 2};
  FakeEngine engine_{{.slots = 1}};
  StillClock clock_;
  StateCache cache_{engine_, with_memory(), clock_};
};

TEST_F(CacheOnOneSlot, AnAnswerThatCalledAToolIsMarkedSoWhenItsSlotIsTaken) {
  const Tokens calls(30, 1);
  const Tokens talks(30, 2);
  cache_.called_tool(kSlot, serve(calls));
  serve(talks);
  serve(Tokens(30, 3));
  EXPECT_TRUE(marks_at_the_end_of(calls).has(Hint::kToolCall));
  EXPECT_TRUE(marks_at_the_end_of(calls).has(Hint::kOffGrid));
  EXPECT_FALSE(marks_at_the_end_of(talks).has(Hint::kToolCall));
}

TEST_F(CacheOnOneSlot, AnotherRunsToolCallIsNotThisOnes) {
  const Tokens tokens(30, 1);
  const std::uint64_t run = serve(tokens);
  cache_.called_tool(kSlot, run - 1);
  serve(Tokens(30, 3));
  EXPECT_FALSE(marks_at_the_end_of(tokens).has(Hint::kToolCall));
}

// --- a budget smaller than one state ---------------------------------------------------

// A conversation parts from its own slot at the end of each prompt, where the answer's
// header begins, as templates do that leave a thought out of the history.
class CacheTooSmallForAState : public ::testing::Test {
 protected:
  static constexpr TokenPos kHeader = 30;

  // Room for a snapshot with its frame, and for no more than 12 rows of 8 bytes.
  CacheOptions with_little_memory() const {
    CacheOptions options;
    options.memory.budget = engine_.shape().bytes_per_snapshot() + 100;
    return options;
  }

  // Reads kHeader equal tokens and ten others, and says how many were restored.
  TokenPos serve(Token history, Token rest) {
    Tokens tokens(kHeader, history);
    tokens.insert(tokens.end(), 10, rest);
    const std::vector<TokenPos> cuts = {kHeader};
    const Prompt prompt{
        kSpace, tokens, tokens, cuts, {}, true, kHeader, {}, EndKey::of(kSpace, tokens)};
    Receipt receipt;
    cache_.begin(prompt, cache_.plan(prompt, {&kSlot, 1}), receipt);
    while (engine_.length(kSlot) < length_of(tokens)) read_chunk(tokens, receipt);
    cache_.end(kSlot);
    EXPECT_EQ(cache_.check(), std::vector<std::string>{});
    return receipt.restored;
  }

  void read_chunk(const Tokens& tokens, Receipt& receipt) {
    const TokenPos begin = engine_.length(kSlot);
    const auto chunk = TokenSpan(tokens).subspan(
        static_cast<std::size_t>(begin), static_cast<std::size_t>(cache_.chunk_end(kSlot) - begin));
    EXPECT_TRUE(engine_.prefill(kSlot, chunk, LogitsOf::kLastToken).ok());
    const bool last = engine_.length(kSlot) == length_of(tokens);
    cache_.prefilled(kSlot, chunk, receipt, last ? LogitsOf::kLastToken : LogitsOf::kNone);
  }

  static constexpr SlotId kSlot{0};
  static constexpr SpaceKey kSpace{1, 2};
  FakeEngine engine_{{.slots = 1}};
  StillClock clock_;
  StateCache cache_{engine_, with_little_memory(), clock_};
};

TEST_F(CacheTooSmallForAState, ASnapshotAloneServesTheSlotThatHasItsRows) {
  EXPECT_EQ(serve(1, 2), 0);
  EXPECT_EQ(serve(1, 3), kHeader);
  EXPECT_EQ(serve(1, 4), kHeader);
}

TEST_F(CacheTooSmallForAState, ASnapshotAloneIsNothingWithoutItsRows) {
  EXPECT_EQ(serve(1, 2), 0);
  EXPECT_EQ(serve(5, 2), 0);  // takes the slot
  EXPECT_EQ(serve(1, 3), 0);
}

}  // namespace
}  // namespace holdfast
