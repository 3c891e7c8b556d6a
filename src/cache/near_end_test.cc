// The guarantee near a prompt's end (plan/placement.h, PLACE-4), as a client sees it: whatever a
// snapshot and a row weigh, however the prompt is made up and however slow copying is, a second
// prompt that parts from a known one d tokens before its end reads at most factor x d + step of the
// known tokens again. Two prompts on a cache that has just begun, many times over.
#include <gtest/gtest.h>

#include <random>

#include "cache/state_cache.h"
#include "engine/testing/fake.h"
#include "plan/cuts.h"

namespace holdfast::cache {
namespace {

constexpr TokenPos kStep = 64;
constexpr ByteCount kRowBytes = 8;     // of FakeEngine
constexpr ByteCount kFrameBytes = 64;  // what a snapshot may weigh beyond its state

class TurnedClock final : public env::Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return TimePoint{} + passed; }
  std::chrono::milliseconds passed{0};
};

// A prompt, how much memory there is for it, and how long a copy takes.
struct Case {
  Tokens tokens;
  std::vector<TokenPos> cuts;
  std::vector<MessageSpan> spans;
  ByteCount snapshot = 0;
  ByteCount budget = 0;
  int slots = 1;
  std::chrono::milliseconds copy{0};

  [[nodiscard]] TokenPos length() const { return length_of(tokens); }
  [[nodiscard]] ByteCount rows() const { return static_cast<ByteCount>(length()) * kRowBytes; }
};

class NearEndCase {
 public:
  explicit NearEndCase(const Case& made)
      : case_(made),
        engine_({.slots = made.slots,
                 .context_tokens = 32'768,
                 .chunk_tokens_max = kStep,
                 .snapshot_bytes = made.snapshot,
                 .faults =
                     [this](engine::FakeOperation operation) {
                       if (operation == engine::FakeOperation::kSave) clock_.passed += case_.copy;
                       return engine::FakeFault::kNone;
                     }}),
        cache_({.engine = &engine_, .clock = &clock_}, options()) {
    for (int i = 0; i < made.slots; ++i) slots_.push_back(SlotId{i});
  }

  // Other prompts of the same length, until something has to go; then half a day passes.
  void fill(std::mt19937& random) {
    for (int i = 0; i < 500 && cache_.status().evicted_snapshots == 0; ++i) {
      Tokens other;
      for (TokenPos t = 0; t < case_.length(); ++t)
        other.push_back(static_cast<Token>(random() % 256));
      serve(other, case_.cuts, case_.spans);
      clock_.passed += std::chrono::minutes(1);
    }
    ASSERT_GT(cache_.status().evicted_snapshots, 0U);
    clock_.passed += std::chrono::hours(12);
  }

  // Tokens of the first prompt that a second one reads again, if it parts from it at `parting` and
  // goes on with others.
  TokenPos read_again(TokenPos parting) {
    serve(case_.tokens, case_.cuts, case_.spans);
    Tokens other(case_.tokens.begin(), case_.tokens.begin() + parting);
    for (TokenPos i = 0; i < kStep / 2; ++i) other.push_back(engine::kFakeTurnStart);
    std::vector<TokenPos> cuts;
    for (const TokenPos cut : case_.cuts) {
      if (cut <= parting) cuts.push_back(cut);
    }
    return parting - serve(other, cuts, {});
  }

 private:
  [[nodiscard]] CacheOptions options() const {
    CacheOptions options;
    options.memory.budget = case_.budget;
    options.merged_chunk = kStep;
    options.slot_snapshots = 0;  // what memory keeps is looked at, not what slots do
    return options;
  }

  // Returns how much of it was there.
  TokenPos serve(const Tokens& tokens, const std::vector<TokenPos>& cuts,
                 const std::vector<MessageSpan>& spans) {
    const Prompt prompt{.space = {1, 2},
                        .tokens = tokens,
                        .keys = tokens,
                        .cuts = cuts,
                        .spans = spans,
                        .header_end = length_of(tokens) - 1};
    Receipt receipt;
    const StartChoice outlook = cache_.admission().plan(prompt, slots_);
    const SlotId slot{outlook.plan.slot};
    cache_.begin(prompt, outlook, receipt);
    while (engine_.length(slot) < length_of(tokens)) {
      const TokenPos begin = engine_.length(slot);
      const auto chunk = TokenSpan(tokens).subspan(
          static_cast<std::size_t>(begin),
          static_cast<std::size_t>(cache_.growth().chunk_end(slot) - begin));
      clock_.passed += std::chrono::milliseconds(1);
      EXPECT_TRUE(engine_.prefill(slot, chunk, engine::LogitsOf::kNone).ok());
      cache_.growth().prefilled(slot, chunk, receipt);
    }
    cache_.end(slot);
    EXPECT_EQ(cache_.check(), std::vector<std::string>{});
    return receipt.restored;
  }

  const Case& case_;
  TurnedClock clock_;
  engine::FakeEngine engine_;
  StateCache cache_;
  std::vector<SlotId> slots_;
};

Case random_case(std::mt19937& random) {
  const auto below = [&](unsigned limit) { return static_cast<TokenPos>(random() % limit); };
  Case made;
  TokenPos at = 0;
  for (TokenPos messages = 1 + below(6); messages > 0; --messages) {
    const TokenPos end = at + 1 + (below(3) == 0 ? below(3000) : below(300));
    made.spans.push_back(
        {made.spans.empty() && below(2) == 0 ? Role::kSystem : Role::kUser, at, end});
    while (at + kStep < end) made.cuts.push_back(at += kStep);
    made.cuts.push_back(at = end);
  }
  for (TokenPos i = 0; i < at + 1; ++i) made.tokens.push_back(below(256));
  // From less than the rows of a step to more than those of the whole prompt.
  constexpr std::array<ByteCount, 6> kWeights = {8, 200, 1500, 8000, 40'000, 200'000};
  made.snapshot = kWeights[random() % kWeights.size()];
  made.slots = 1 + below(2);
  made.copy = std::chrono::milliseconds(below(2) * 200);
  return made;
}

TokenPos random_parting(const Case& made, std::mt19937& random) {
  // Near the end as often as far from it.
  TokenPos reach = made.length() - 1;
  for (unsigned halvings = random() % 8; halvings > 0 && reach > 1; --halvings) reach /= 2;
  return made.length() - 1 - static_cast<TokenPos>(random() % static_cast<unsigned>(reach));
}

std::string describe(const Case& made, TokenPos parting) {
  return std::to_string(made.length()) + " tokens, parting at " + std::to_string(parting) +
         ", a snapshot of " + std::to_string(made.snapshot) + " bytes, a budget of " +
         std::to_string(made.budget) + ", " + std::to_string(made.slots) + " slots, copies of " +
         std::to_string(made.copy.count()) + " ms";
}

class NearEndSeeds : public ::testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Seeds, NearEndSeeds, ::testing::Range(1U, 9U));

// A budget in which the places near the end take a quarter of what the rows leave.
TEST_P(NearEndSeeds, ReadsAtMostFactorTimesTheDistanceAndAStepAgain) {
  SCOPED_TRACE(::testing::Message() << "seed " << GetParam());
  std::mt19937 random(GetParam());
  for (int round = 0; round < 60; ++round) {
    Case made = random_case(random);
    for (const TokenPos factor : {2, 4, 8, 16}) {
      const auto places =
          static_cast<ByteCount>(plan::near_end_places(made.length(), {kStep, factor}));
      made.budget = 2 * made.rows() + 4 * places * (made.snapshot + kFrameBytes);
      const TokenPos parting = random_parting(made, random);
      const TokenPos distance = made.length() - parting;
      const TokenPos again = NearEndCase(made).read_again(parting);
      ASSERT_LE(again, factor * distance + kStep)
          << "round " << round << ", factor " << factor << ": " << describe(made, parting);
    }
  }
}

// The rows and a handful of snapshots: whoever parts near the end never begins with nothing.
TEST_P(NearEndSeeds, AHandfulOfSnapshotsIsEnoughForSomething) {
  SCOPED_TRACE(::testing::Message() << "seed " << GetParam());
  std::mt19937 random(GetParam());
  for (int round = 0; round < 120; ++round) {
    Case made = random_case(random);
    made.budget = 2 * made.rows() + 8 * (made.snapshot + kFrameBytes);
    const TokenPos parting = random_parting(made, random);
    const TokenPos distance = made.length() - parting;
    const TokenPos again = NearEndCase(made).read_again(parting);
    ASSERT_LE(again, 16 * distance + kStep) << "round " << round << ": " << describe(made, parting);
  }
}

// Memory is full of what nobody came back to. The fewest places are a sixteenth of it.
TEST_P(NearEndSeeds, AFullMemoryHasRoomForTheFewestPlaces) {
  SCOPED_TRACE(::testing::Message() << "seed " << GetParam());
  std::mt19937 random(GetParam());
  for (int round = 0; round < 15; ++round) {
    Case made = random_case(random);
    const auto places = static_cast<ByteCount>(plan::near_end_places(made.length(), {kStep, 16}));
    made.budget = 2 * made.rows() + 16 * places * (made.snapshot + kFrameBytes);
    const TokenPos parting = random_parting(made, random);
    const TokenPos distance = made.length() - parting;
    NearEndCase full(made);
    full.fill(random);
    const TokenPos again = full.read_again(parting);
    ASSERT_LE(again, 16 * distance + kStep) << "round " << round << ": " << describe(made, parting);
  }
}

}  // namespace
}  // namespace holdfast::cache
