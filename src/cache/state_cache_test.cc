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

}  // namespace
}  // namespace holdfast
