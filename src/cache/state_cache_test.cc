// The cache by itself; serve/reuse_test.cc has what requests see of it.
#include "cache/state_cache.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/testing/fake.h"

namespace holdfast::cache {
namespace {

class StillClock final : public env::Clock {
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
    cache_.begin(prompt, cache_.admission().plan(prompt, {&kSlot, 1}), receipt);
    const auto rest = TokenSpan(tokens).subspan(static_cast<std::size_t>(receipt.restored));
    EXPECT_TRUE(engine_.prefill(kSlot, rest, engine::LogitsOf::kLastToken).ok());
    cache_.growth().prefilled(kSlot, rest, receipt);
    for (const Token token : {7, 8}) {
      const engine::DecodeStep step{kSlot, {&token, 1}};
      EXPECT_TRUE(engine_.decode({&step, 1}).ok());
      cache_.growth().decoded(kSlot, {&token, 1});
    }
    const std::uint64_t run = cache_.slots()[kSlot].run;
    cache_.end(kSlot);
    EXPECT_EQ(cache_.check(), std::vector<std::string>{});
    return run;
  }

  Hints marks_at_the_end_of(Tokens tokens) {
    tokens.insert(tokens.end(), {7, 8});
    const tree::Match match = cache_.memory().tree().match(kSpace, tokens);
    EXPECT_EQ(match.matched, length_of(tokens));
    return match.stops.empty() ? Hints() : match.stops.back().marks;
  }

  static constexpr SlotId kSlot{0};
  static constexpr SpaceKey kSpace{1, 2};
  engine::FakeEngine engine_{{.slots = 1}};
  StillClock clock_;
  StateCache cache_{{.engine = &engine_, .clock = &clock_}, with_memory()};
};

TEST_F(CacheOnOneSlot, AnAnswerThatCalledAToolIsMarkedSoWhenItsSlotIsTaken) {
  const Tokens calls(30, 1);
  const Tokens talks(30, 2);
  cache_.live().called_tool(kSlot, serve(calls));
  serve(talks);
  serve(Tokens(30, 3));
  EXPECT_TRUE(marks_at_the_end_of(calls).has(Hint::kToolCall));
  EXPECT_TRUE(marks_at_the_end_of(calls).has(Hint::kOffGrid));
  EXPECT_FALSE(marks_at_the_end_of(talks).has(Hint::kToolCall));
}

TEST_F(CacheOnOneSlot, AnotherRunsToolCallIsNotThisOnes) {
  const Tokens tokens(30, 1);
  const std::uint64_t run = serve(tokens);
  cache_.live().called_tool(kSlot, run - 1);
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
    cache_.begin(prompt, cache_.admission().plan(prompt, {&kSlot, 1}), receipt);
    while (engine_.length(kSlot) < length_of(tokens)) read_chunk(tokens, receipt);
    cache_.end(kSlot);
    EXPECT_EQ(cache_.check(), std::vector<std::string>{});
    return receipt.restored;
  }

  void read_chunk(const Tokens& tokens, Receipt& receipt) {
    const TokenPos begin = engine_.length(kSlot);
    const auto chunk = TokenSpan(tokens).subspan(
        static_cast<std::size_t>(begin),
        static_cast<std::size_t>(cache_.growth().chunk_end(kSlot) - begin));
    EXPECT_TRUE(engine_.prefill(kSlot, chunk, engine::LogitsOf::kLastToken).ok());
    const bool last = engine_.length(kSlot) == length_of(tokens);
    cache_.growth().prefilled(kSlot, chunk, receipt,
                              last ? engine::LogitsOf::kLastToken : engine::LogitsOf::kNone);
  }

  static constexpr SlotId kSlot{0};
  static constexpr SpaceKey kSpace{1, 2};
  engine::FakeEngine engine_{{.slots = 1}};
  StillClock clock_;
  StateCache cache_{{.engine = &engine_, .clock = &clock_}, with_little_memory()};
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

// --- chunks in pieces, and checkpoints that are taken later ------------------------------

// Reads one prompt of 400 tokens with checkpoints at 160 and 320, in whatever way.
class CacheThatPostpones : public ::testing::TestWithParam<engine::FakeKind> {
 protected:
  static constexpr SlotId kSlot{0};
  static constexpr SlotId kOther{1};
  static constexpr SpaceKey kSpace{1, 2};
  static constexpr TokenPos kLength = 400;

  struct World {
    explicit World(engine::FakeKind kind)
        : engine({.kind = kind, .slots = 2, .chunk_tokens_max = 160}) {}
    static CacheOptions options() {
      CacheOptions made;
      made.memory.budget = 1 << 20;
      return made;
    }
    // What it writes next, after these tokens were brought back to the other slot.
    float next_after_restoring(TokenSpan tokens) {
      const auto parts = cache.memory().held.parts_of(kSpace, tokens);
      if (!parts || !cache.memory().copier.restore(kOther, tokens, *parts).ok()) return -1.0F;
      const Token more = 65;
      EXPECT_TRUE(engine.prefill(kOther, {&more, 1}, engine::LogitsOf::kLastToken).ok());
      const auto logits = engine.logits(kOther, 0);
      const auto next = static_cast<float>(std::ranges::max_element(logits) - logits.begin());
      engine.clear(kOther);
      return next;
    }
    engine::FakeEngine engine;
    StillClock clock;
    StateCache cache{{.engine = &engine, .clock = &clock}, options()};
    Receipt receipt;
  };

  CacheThatPostpones() {
    for (TokenPos i = 0; i < kLength; ++i) tokens_.push_back(i * i % 251);
  }
  [[nodiscard]] Prompt prompt() const {
    return {
        kSpace, tokens_, tokens_, cuts_, {}, true, std::nullopt, {}, EndKey::of(kSpace, tokens_)};
  }
  [[nodiscard]] TokenSpan first(TokenPos count) const {
    return TokenSpan(tokens_).first(static_cast<std::size_t>(count));
  }
  void begin(World& world) {
    world.cache.begin(prompt(), world.cache.admission().plan(prompt(), {&kSlot, 1}), world.receipt);
  }
  void read(World& world, TokenPos end, Copies copies) {
    const TokenPos at = world.cache.slots()[kSlot].length();
    const auto chunk = first(end).subspan(static_cast<std::size_t>(at));
    const engine::LogitsOf logits =
        end == kLength ? engine::LogitsOf::kLastToken : engine::LogitsOf::kNone;
    ASSERT_TRUE(world.engine.prefill(kSlot, chunk, logits).ok());
    world.cache.growth().prefilled(kSlot, chunk, world.receipt, logits, copies);
    ASSERT_EQ(world.cache.check(), std::vector<std::string>{});
  }
  // Another decodes meanwhile.
  void other_step(World& world) {
    const Token token = 7;
    const engine::DecodeStep step{kOther, {&token, 1}};
    ASSERT_TRUE(world.engine.decode({&step, 1}).ok());
    world.engine.clear(kOther);  // the cache knows nothing of it
  }
  void expect_same(World& one, World& other) {
    for (const TokenPos place : {160, 320}) {
      EXPECT_EQ(one.next_after_restoring(first(place)), other.next_after_restoring(first(place)));
      EXPECT_GE(one.next_after_restoring(first(place)), 0.0F) << "kept at " << place;
    }
    EXPECT_EQ(one.receipt.checkpoints, other.receipt.checkpoints);
    EXPECT_EQ(one.receipt.bytes_out, other.receipt.bytes_out);
    EXPECT_EQ(one.cache.status().resident, other.cache.status().resident);
    EXPECT_EQ(one.cache.status().snapshot_count, other.cache.status().snapshot_count);
  }

  Tokens tokens_;
  std::vector<TokenPos> cuts_ = {160, 320};
};

TEST_P(CacheThatPostpones, AChunkInPiecesEndsWhereItsCheckpointLies) {
  World whole(GetParam());
  World pieces(GetParam());
  for (World* world : {&whole, &pieces}) begin(*world);
  for (const TokenPos end : {160, 320, 400}) read(whole, end, Copies::kNow);
  for (const TokenPos end : {64, 128, 160, 230, 320, 384, 400}) {
    EXPECT_GE(pieces.cache.growth().chunk_end(kSlot), end);
    read(pieces, end, Copies::kNow);
  }
  expect_same(whole, pieces);
}

TEST_P(CacheThatPostpones, ACheckpointThatIsTakenLaterIsTheSame) {
  for (const ByteCount at_once : {ByteCount{1}, ByteCount{700}, ByteCount{1} << 40}) {
    World now(GetParam());
    World later(GetParam());
    for (World* world : {&now, &later}) begin(*world);
    int copies = 0;
    for (const TokenPos end : {160, 320, 400}) {
      EXPECT_EQ(later.cache.growth().bytes_due(kSlot, end) > 0,
                now.cache.growth().bytes_due(kSlot, end) > 0);
      EXPECT_EQ(later.cache.growth().bytes_due(kSlot, end - 1), 0U);
      read(now, end, Copies::kNow);
      read(later, end, Copies::kLater);
      while (later.cache.growth().postponed(kSlot)) {
        other_step(later);
        const ByteCount before = later.cache.growth().postponed_bytes(kSlot);
        later.cache.growth().copy_postponed(kSlot, at_once, later.receipt);
        ASSERT_EQ(later.cache.check(), std::vector<std::string>{});
        EXPECT_LT(later.cache.growth().postponed_bytes(kSlot), before);
        ++copies;
      }
    }
    const bool has_rows = later.engine.shape().find(PartKind::kExtent) != nullptr;
    EXPECT_EQ(copies > 3, has_rows && at_once < 1000) << copies << " copies";
    expect_same(now, later);
  }
}

TEST_P(CacheThatPostpones, WhoWaitsForAPlaceWaitsUntilItIsKept) {
  World world(GetParam());
  begin(world);
  Tokens others(first(320).begin(), first(320).end());
  others.insert(others.end(), 80, 3);
  const Prompt waiting{kSpace, others, others, cuts_, {}, true, std::nullopt};
  const auto plan = [&] { return world.cache.admission().plan(waiting, {&kOther, 1}); };
  read(world, 160, Copies::kLater);
  const auto awaited = world.cache.admission().find_peer(waiting, plan());
  ASSERT_TRUE(awaited.has_value());
  EXPECT_EQ(awaited->position, 320);
  world.cache.growth().copy_postponed(kSlot, 1 << 20, world.receipt);
  read(world, 320, Copies::kLater);
  EXPECT_TRUE(world.cache.admission().still_coming(*awaited));
  const auto again = world.cache.admission().find_peer(waiting, plan());
  ASSERT_TRUE(again.has_value()) << "who comes now waits too";
  EXPECT_EQ(again->position, 320);
  world.cache.growth().copy_postponed(kSlot, 1 << 20, world.receipt);
  EXPECT_FALSE(world.cache.admission().still_coming(*awaited));
  EXPECT_EQ(plan().plan.reused, 320);
}

TEST_P(CacheThatPostpones, ARequestThatEndsTakesNothingWithIt) {
  World world(GetParam());
  begin(world);
  read(world, 160, Copies::kLater);
  world.cache.end(kSlot);
  EXPECT_FALSE(world.cache.growth().postponed(kSlot));
  EXPECT_EQ(world.cache.check(), std::vector<std::string>{});
  EXPECT_EQ(world.cache.admission().plan(prompt(), {&kSlot, 1}).plan.reused, 160)
      << "the slot holds it";

  World emptied(GetParam());
  begin(emptied);
  read(emptied, 160, Copies::kLater);
  emptied.engine.clear(kSlot);
  emptied.cache.growth().emptied(kSlot);
  EXPECT_FALSE(emptied.cache.growth().postponed(kSlot));
  EXPECT_EQ(emptied.cache.check(), std::vector<std::string>{});
}

INSTANTIATE_TEST_SUITE_P(Kinds, CacheThatPostpones,
                         ::testing::Values(engine::FakeKind::kAttention,
                                           engine::FakeKind::kWindowed,
                                           engine::FakeKind::kRecurrent,
                                           engine::FakeKind::kHybrid));

}  // namespace
}  // namespace holdfast::cache
