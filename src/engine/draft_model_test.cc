#include "engine/draft_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <stdexcept>

#include "engine/testing/fake.h"

namespace holdfast::engine {
namespace {

using enum FakeKind;

FakeOptions engine_options(FakeKind kind, TokenPos rollback_depth = 0) {
  return {.kind = kind,
          .slots = 3,
          .context_tokens = 300,
          .chunk_tokens_max = 64,
          .window = 32,
          .rollback_depth = rollback_depth,
          .decode_tokens_max = 4};
}

Tokens tokens_of(std::string_view text) { return {text.begin(), text.end()}; }

// What the model itself would write after these tokens, computed from the first token on.
Tokens greedy(FakeOptions options, const Tokens& told, const DraftWish& wish) {
  options.faults = nullptr;
  FakeEngine engine(options);
  const SlotId slot{0};
  Tokens draft;
  Tokens read = told;
  read.push_back(wish.next);
  for (std::size_t at = 0; at < read.size(); ++at) {
    if (engine.length(slot) == engine.context_tokens()) return draft;
    EXPECT_TRUE(engine.decode(std::vector{DecodeStep{slot, {&read[at], 1}}}).ok());
    if (at + 1 < read.size() || length_of(draft) >= wish.most) continue;
    const auto logits = engine.logits(slot, 0);
    const auto likeliest = std::ranges::max_element(logits) - logits.begin();
    // One logit of 1 among zeros.
    const double probability = 1.0 / (1.0 + (kFakeVocabulary - 1) * std::exp(-1.0));
    if (probability < static_cast<double>(wish.least_probability)) return draft;
    draft.push_back(static_cast<Token>(likeliest));
    read.push_back(draft.back());
  }
  return draft;
}

void expect_sound(const DraftModel& model) {
  const auto violations = model.check();
  ASSERT_TRUE(violations.empty()) << violations.front();
}

Tokens draft_one(DraftModel& model, SlotId slot, Token next, TokenPos most) {
  std::vector<DraftWish> wishes(1);
  wishes[0].slot = slot;
  wishes[0].next = next;
  wishes[0].most = most;
  model.draft(wishes);
  return wishes[0].draft;
}

// --- by hand -----------------------------------------------------------------------

TEST(DraftModel, SlotsShareABatch) {
  int decodes = 0;
  FakeOptions options = engine_options(kAttention);
  options.faults = [&](FakeOperation operation) {
    decodes += operation == FakeOperation::kDecode ? 1 : 0;
    return FakeFault::kNone;
  };
  FakeEngine engine(options);
  DraftModel model(engine);
  std::vector<DraftWish> wishes(3);
  for (int i = 0; i < 3; ++i) {
    model.advance(SlotId{i}, tokens_of("abc"), 0);
    wishes[static_cast<std::size_t>(i)].slot = SlotId{2 - i};  // in any order
    wishes[static_cast<std::size_t>(i)].next = 'd';
    wishes[static_cast<std::size_t>(i)].most = 4;
  }
  model.draft(wishes);
  EXPECT_EQ(decodes, 4) << "the prompt with its next token, and three guesses";
  EXPECT_EQ(engine.tokens_prefilled(), 0U);
  for (const DraftWish& wish : wishes) EXPECT_EQ(wish.draft.size(), 4U);
  expect_sound(model);
}

TEST(DraftModel, WhatWasAcceptedIsNotComputedAgain) {
  for (const FakeKind kind : {kAttention, kHybrid, kRecurrent, kWindowed}) {
    FakeEngine engine(engine_options(kind));
    DraftModel model(engine);
    const SlotId slot{0};
    model.advance(slot, tokens_of("some words to begin with"), 0);
    Tokens kept = {'x'};
    const Tokens draft = draft_one(model, slot, 'x', 4);
    ASSERT_EQ(draft.size(), 4U);
    kept.insert(kept.end(), draft.begin(), draft.end());
    model.advance(slot, kept, 0);
    const auto before = engine.tokens_prefilled();
    ASSERT_EQ(draft_one(model, slot, 'y', 4).size(), 4U);
    EXPECT_EQ(engine.tokens_prefilled() - before, 2U) << "the last guess and the next token";
    expect_sound(model);
  }
}

TEST(DraftModel, AfterARejectionTheWayBackIsShort) {
  for (const FakeKind kind : {kAttention, kHybrid, kRecurrent, kWindowed}) {
    FakeEngine engine(engine_options(kind));
    DraftModel model(engine);
    const SlotId slot{0};
    const Tokens prompt(200, 'p');
    model.advance(slot, prompt, 0);
    ASSERT_EQ(draft_one(model, slot, 'x', 4).size(), 4U);
    model.advance(slot, tokens_of("x"), 0);  // nothing of the draft
    const auto before = engine.tokens_prefilled();
    ASSERT_EQ(draft_one(model, slot, 'y', 4).size(), 4U);
    EXPECT_LE(engine.tokens_prefilled() - before, 1U);
    expect_sound(model);
  }
}

TEST(DraftModel, ReadsAPromptAlongInWholeChunks) {
  FakeEngine engine(engine_options(kHybrid));
  DraftModel model(engine);
  model.advance(SlotId{0}, Tokens(50, 'a'), 0);
  EXPECT_EQ(engine.length(SlotId{0}), 0);
  model.advance(SlotId{0}, Tokens(50, 'a'), 0);
  EXPECT_EQ(engine.length(SlotId{0}), 64);
  model.advance(SlotId{0}, Tokens(100, 'a'), 0);
  EXPECT_EQ(engine.length(SlotId{0}), 192);
}

TEST(DraftModel, OneThatIsFarBehindDoesNotDraftYet) {
  FakeEngine engine(engine_options(kHybrid));
  DraftModel model(engine, {.catch_up_tokens = 80});
  const Tokens prompt(200, 'a');
  EXPECT_EQ(model.follow(SlotId{0}, {.tokens = prompt}).held, 0);
  EXPECT_TRUE(draft_one(model, SlotId{0}, 'b', 2).empty());
  EXPECT_EQ(engine.length(SlotId{0}), 80);
  EXPECT_TRUE(draft_one(model, SlotId{0}, 'b', 2).empty());
  EXPECT_EQ(draft_one(model, SlotId{0}, 'b', 2).size(), 2U);
}

TEST(DraftModel, AnUnlikelyTokenEndsTheDraft) {
  FakeEngine engine(engine_options(kAttention));
  DraftModel model(engine);
  std::vector<DraftWish> wishes(1);
  wishes[0].next = 'a';
  wishes[0].most = 4;
  wishes[0].least_probability = 0.5F;
  model.draft(wishes);
  EXPECT_TRUE(wishes[0].draft.empty());
  expect_sound(model);
}

TEST(DraftModel, ItsShapeIsThatOfItsEngine) {
  FakeEngine attention(engine_options(kAttention));
  EXPECT_EQ(DraftModel(attention).shape().bytes_per_token, 8U);
  EXPECT_EQ(DraftModel(attention).shape().bytes_per_place, 0U);
  FakeEngine hybrid(engine_options(kHybrid));
  EXPECT_EQ(DraftModel(hybrid).shape().bytes_per_place, 8U);
  FakeEngine windowed(engine_options(kWindowed));
  EXPECT_EQ(DraftModel(windowed).shape().bytes_per_place, 8U * 32U);
}

TEST(DraftModel, AfterAFailureItRestsUntilItFollowsAgain) {
  int operations = 0;
  bool broken = true;
  FakeOptions options = engine_options(kHybrid);
  options.faults = [&](FakeOperation) {
    ++operations;
    return broken ? FakeFault::kFail : FakeFault::kNone;
  };
  FakeEngine engine(options);
  DraftModel model(engine);
  const Tokens prompt = tokens_of("abc");
  model.advance(SlotId{0}, prompt, 0);
  EXPECT_TRUE(draft_one(model, SlotId{0}, 'd', 2).empty());
  EXPECT_EQ(model.failures(), 1U);
  const int before = operations;
  model.advance(SlotId{0}, Tokens(100, 'a'), 0);
  EXPECT_TRUE(draft_one(model, SlotId{0}, 'd', 2).empty());
  EXPECT_EQ(operations, before);
  broken = false;
  EXPECT_EQ(model.follow(SlotId{0}, {.tokens = prompt}).held, 0);
  EXPECT_EQ(draft_one(model, SlotId{0}, 'd', 2).size(), 2U);
}

// --- any history ---------------------------------------------------------------------

// What memory keeps of one sequence.
struct Kept {
  Tokens tokens;
  std::vector<TokenRange> blocks;
  CompanionSaved saved;
};

class History {
 public:
  History(FakeOptions options, DraftModelOptions model_options, unsigned seed)
      : options_(options),
        engine_(std::move(options)),
        model_(engine_, model_options),
        slots_(static_cast<std::size_t>(options_.slots)),
        random_(seed) {}

  // Whether every draft must be there, or may be shorter than it should be.
  bool complete = true;

  void step() {
    switch (below(8)) {
      case 0: return follow(slot());
      case 1: return follow_memory(slot());
      case 2: return advance(slot());
      case 3: return save(slot());
      default: return draft();
    }
  }
  // When nothing fails any more, every slot drafts again.
  void expect_whole() {
    complete = true;
    for (int i = 0; i < options_.slots; ++i) {
      static_cast<void>(model_.follow(SlotId{i}, {.tokens = held(SlotId{i})}));
    }
    draft();
  }
  void expect_sound() const { engine::expect_sound(model_); }
  [[nodiscard]] std::uint64_t drafted() const { return drafted_; }
  [[nodiscard]] std::uint64_t from_memory() const { return from_memory_; }
  [[nodiscard]] std::uint64_t failures() const { return model_.failures(); }

 private:
  unsigned below(std::size_t limit) { return static_cast<unsigned>(random_() % limit); }
  SlotId slot() { return SlotId{static_cast<int>(below(slots_.size()))}; }
  Tokens& held(SlotId slot) { return slots_[static_cast<std::size_t>(slot.value)]; }
  Tokens some_tokens(std::size_t count) {
    Tokens tokens(count);
    for (Token& token : tokens) token = static_cast<Token>('a' + below(3));
    return tokens;
  }
  void append(SlotId slot, const Tokens& more) {
    held(slot).insert(held(slot).end(), more.begin(), more.end());
  }

  void follow(SlotId slot) {
    if (below(6) == 0) held(slot) = slots_[below(slots_.size())];
    if (below(4) != 0) held(slot).resize(below(held(slot).size() + 1));
    append(slot, some_tokens(below(3) == 0 ? below(150) : 0));
    const Followed followed = model_.follow(slot, {.tokens = held(slot)});
    EXPECT_LE(followed.held, length_of(held(slot)));
    EXPECT_EQ(followed.from_memory, 0);
    EXPECT_TRUE(followed.missing != nullptr || followed.held == length_of(held(slot)));
  }

  void follow_memory(SlotId slot) {
    if (memory_.empty()) return;
    const Kept& kept = memory_[below(memory_.size())];
    const bool whole = below(3) != 0;
    held(slot) = kept.tokens;
    if (!whole) held(slot).resize(below(held(slot).size() + 1));
    std::vector<RowsView> rows;
    const std::size_t gap = below(3) == 0 ? below(kept.blocks.size() + 1) : kept.blocks.size();
    for (std::size_t i = 0; i < kept.blocks.size(); ++i) {
      const TokenRange block = kept.blocks[i];
      const CheckedBytes& saved = kept.saved.rows[i];
      if (i == gap || saved.empty() || block.begin >= length_of(held(slot))) continue;
      RowsView view;
      view.begin = view.block_begin = block.begin;
      view.block_end = block.end;
      view.end = std::min(block.end, length_of(held(slot)));
      view.checksum = saved.checksum;
      view.bytes = saved.bytes;
      rows.push_back(view);
    }
    CompanionPoint point{.tokens = held(slot), .rows = rows, .place = {}};
    if (whole) point.place = kept.saved.place;
    const Followed followed = model_.follow(slot, point);
    EXPECT_LE(followed.held, length_of(held(slot)));
    EXPECT_LE(followed.from_memory, followed.held);
    from_memory_ += static_cast<std::uint64_t>(followed.from_memory);
  }

  void advance(SlotId slot) {
    const Tokens more = some_tokens(1 + below(below(3) == 0 ? 100 : 5));
    if (held(slot).size() + more.size() > 400) return;  // more than the draft model's context
    append(slot, more);
    model_.advance(slot, more, 0);
  }

  void save(SlotId slot) {
    Kept kept{.tokens = held(slot), .blocks = {}, .saved = {}};
    for (TokenPos at = 0; at < length_of(held(slot));) {
      const TokenPos multiple = (at / kBlockTokens + 1) * kBlockTokens;
      TokenPos end = std::min(multiple, length_of(held(slot)));
      if (below(4) == 0)
        end = at + 1 + static_cast<TokenPos>(below(static_cast<std::size_t>(end - at)));
      kept.blocks.push_back({at, end});
      at = end;
    }
    kept.saved = model_.save(slot, kept.blocks, length_of(held(slot)));
    if (kept.saved.rows.size() != kept.blocks.size()) kept.blocks.clear();  // it threw
    if (memory_.size() < 6) memory_.emplace_back();
    memory_[below(memory_.size())] = std::move(kept);
  }

  void draft() {
    std::vector<DraftWish> wishes;
    for (int i = 0; i < options_.slots; ++i) {
      if (below(3) == 0) continue;
      DraftWish& wish = wishes.emplace_back();
      wish.slot = SlotId{i};
      wish.next = static_cast<Token>('a' + below(3));
      wish.most = 1 + static_cast<TokenPos>(below(6));
      if (below(8) == 0) wish.least_probability = below(2) == 0 ? 0.001F : 0.3F;
    }
    std::ranges::shuffle(wishes, random_);
    model_.draft(wishes);
    for (const DraftWish& wish : wishes) {
      const Tokens whole = greedy(options_, held(wish.slot), wish);
      if (complete) {
        EXPECT_EQ(wish.draft, whole);
      } else {
        ASSERT_LE(wish.draft.size(), whole.size());
        EXPECT_TRUE(std::equal(wish.draft.begin(), wish.draft.end(), whole.begin()));
      }
      drafted_ += wish.draft.size();
      verify(wish);
    }
  }

  // What the primary makes of a draft: it keeps `next` and some of the guesses, unless
  // the request ended there.
  void verify(const DraftWish& wish) {
    if (below(10) == 0 || held(wish.slot).size() > 390) return;
    Tokens kept = {wish.next};
    const auto accepted = static_cast<std::ptrdiff_t>(below(wish.draft.size() + 1));
    kept.insert(kept.end(), wish.draft.begin(), wish.draft.begin() + accepted);
    append(wish.slot, kept);
    model_.advance(wish.slot, kept, 0);
  }

  const FakeOptions options_;
  FakeEngine engine_;
  DraftModel model_;
  std::vector<Tokens> slots_;
  std::vector<Kept> memory_;
  std::mt19937 random_;
  std::uint64_t drafted_ = 0;
  std::uint64_t from_memory_ = 0;
};

struct Kind {
  const char* name;
  FakeKind kind;
  TokenPos rollback_depth;
};
void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

class DraftModelHistory : public ::testing::TestWithParam<Kind> {
 protected:
  [[nodiscard]] FakeOptions options() const {
    return engine_options(GetParam().kind, GetParam().rollback_depth);
  }
};

constexpr unsigned kSeed = 41;

TEST_P(DraftModelHistory, DraftsAreThoseOfAFreshModel) {
  std::uint64_t drafted = 0;
  std::uint64_t from_memory = 0;
  for (unsigned round = 0; round < 200; ++round) {
    SCOPED_TRACE(::testing::Message() << "seed " << kSeed + round);
    History history(options(), {}, kSeed + round);
    for (int step = 0; step < 40; ++step) {
      history.step();
      history.expect_sound();
      if (HasFailure()) return;
    }
    EXPECT_EQ(history.failures(), 0U);
    drafted += history.drafted();
    from_memory += history.from_memory();
  }
  std::printf("seeds %u .. %u: %llu tokens drafted, %llu brought back from memory\n", kSeed,
              kSeed + 199, static_cast<unsigned long long>(drafted),
              static_cast<unsigned long long>(from_memory));
  EXPECT_GT(drafted, 20'000U);
  EXPECT_GT(from_memory, 1'000U);
}

TEST_P(DraftModelHistory, OneThatIsBehindDraftsNothingOrTheSame) {
  std::uint64_t drafted = 0;
  for (unsigned round = 0; round < 100; ++round) {
    SCOPED_TRACE(::testing::Message() << "seed " << kSeed + round);
    History history(options(), {.catch_up_tokens = 20}, kSeed + round);
    history.complete = false;
    for (int step = 0; step < 40; ++step) {
      history.step();
      history.expect_sound();
      if (HasFailure()) return;
    }
    drafted += history.drafted();
  }
  EXPECT_GT(drafted, 1'000U);
}

enum class Mishap { kFail, kRefuse, kCorrupt, kThrow };

FakeFault happen(Mishap mishap) {
  switch (mishap) {
    case Mishap::kFail: return FakeFault::kFail;
    case Mishap::kRefuse: return FakeFault::kRefuse;
    case Mishap::kCorrupt: return FakeFault::kCorrupt;
    case Mishap::kThrow: throw std::runtime_error("the engine was told to throw");
  }
  return FakeFault::kNone;
}

// The first, second, third ... operation of the engine goes wrong, each in each way.
TEST_P(DraftModelHistory, AnyOneOperationMayGoWrong) {
  std::uint64_t failures = 0;
  for (const Mishap mishap : {Mishap::kFail, Mishap::kRefuse, Mishap::kCorrupt, Mishap::kThrow}) {
    for (int wrong = 1, done = wrong; done >= wrong; wrong += 1 + wrong / 16) {
      SCOPED_TRACE(::testing::Message() << "seed " << kSeed << ", operation " << wrong
                                        << ", mishap " << static_cast<int>(mishap));
      int at = 0;
      FakeOptions faulty = options();
      faulty.faults = [&](FakeOperation) {
        return ++at == wrong ? happen(mishap) : FakeFault::kNone;
      };
      History history(faulty, {}, kSeed);
      history.complete = false;
      for (int step = 0; step < 40; ++step) {
        history.step();
        history.expect_sound();
      }
      done = at;
      at = wrong;  // nothing goes wrong from here on
      history.expect_whole();
      history.expect_sound();
      failures += history.failures();
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(failures, 10U);
}

TEST_P(DraftModelHistory, ManyOperationsMayGoWrong) {
  std::uint64_t drafted = 0;
  for (unsigned round = 0; round < 200; ++round) {
    SCOPED_TRACE(::testing::Message() << "seed " << kSeed + round);
    std::mt19937 random(round);
    bool over = false;
    FakeOptions faulty = options();
    faulty.faults = [&](FakeOperation) {
      return over || random() % 12 != 0 ? FakeFault::kNone
                                        : happen(static_cast<Mishap>(random() % 4));
    };
    History history(faulty, {}, kSeed + round);
    history.complete = false;
    for (int step = 0; step < 40; ++step) {
      history.step();
      history.expect_sound();
      if (HasFailure()) return;
    }
    over = true;
    history.expect_whole();
    history.expect_sound();
    drafted += history.drafted();
  }
  EXPECT_GT(drafted, 2'000U);
}

INSTANTIATE_TEST_SUITE_P(Kinds, DraftModelHistory,
                         ::testing::Values(Kind{"attention", kAttention, 0},
                                           Kind{"windowed", kWindowed, 0},
                                           Kind{"recurrent", kRecurrent, 0},
                                           Kind{"recurrent3", kRecurrent, 3},
                                           Kind{"hybrid", kHybrid, 0}, Kind{"hybrid3", kHybrid, 3}),
                         [](const auto& kind) { return std::string(kind.param.name); });

}  // namespace
}  // namespace holdfast::engine
