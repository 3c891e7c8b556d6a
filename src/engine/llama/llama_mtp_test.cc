// The MTP block as a companion: what it drafts equals a cold computation, whatever
// way its state came back, and no failure is worse than an empty draft.
#include "engine/llama/llama_mtp.h"

#include <gtest/gtest.h>
#include <llama-ext.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <random>

#include "engine/llama/llama_engine.h"
#include "engine/llama/testing/tiny_models.h"

namespace holdfast::llama {
namespace {

using llama::make_tiny_model;
using llama::TinySpec;

constexpr SlotId kSlot{0};
constexpr SlotId kOther{1};
constexpr SlotId kThird{2};
constexpr TokenPos kChunk = 64;
constexpr TokenPos kDrafts = 3;

Tokens random_tokens(TokenPos count, unsigned seed) {
  std::mt19937 random(seed);
  Tokens tokens(static_cast<std::size_t>(count));
  for (Token& token : tokens) token = static_cast<Token>(random() % 256);
  return tokens;
}

Tokens joined(Tokens a, TokenSpan b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Token best_of(std::span<const float> row) {
  return static_cast<Token>(std::ranges::max_element(row) - row.begin());
}

LlamaConfig small_config() {
  LlamaConfig config;
  config.context_tokens = 512;
  config.slots = 3;
  config.threads = 1;  // tests share their cores
  config.ubatch = 128;
  config.draft_tokens_max = kDrafts;
  config.rollback_depth = kDrafts;
  config.mtp = true;
  return config;
}

// What memory holds of a slot at one place: of the primary and of its companion.
struct Kept {
  Tokens tokens;
  std::vector<engine::ExtentRows> rows;
  engine::SavedState snapshot;
  std::vector<TokenRange> blocks;
  engine::CompanionSaved companion;

  [[nodiscard]] std::vector<engine::RowsView> companion_views() const {
    std::vector<engine::RowsView> views;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (companion.rows[i].empty()) continue;
      engine::RowsView& view = views.emplace_back();
      view.begin = view.block_begin = blocks[i].begin;
      view.end = view.block_end = blocks[i].end;
      view.checksum = companion.rows[i].checksum;
      view.bytes = companion.rows[i].bytes;
    }
    return views;
  }
};

// Everything that a run drafted and how much of it came true.
struct Spoken {
  Tokens tokens;
  std::vector<Tokens> drafts;
  std::vector<int> offered = std::vector<int>(kDrafts);
  std::vector<int> accepted = std::vector<int>(kDrafts);
};

class Rig {
 public:
  explicit Rig(std::shared_ptr<llama_model> model, const LlamaConfig& config = small_config())
      : model_(std::move(model)) {
    auto shape = LlamaEngine::measure_shape(model_.get(), config);
    CHECK(shape.ok());
    auto engine = LlamaEngine::create(model_, config, *shape);
    CHECK(engine.ok());
    engine_ = std::move(*engine);
    auto mtp = LlamaMtp::create(model_, *engine_, config);
    EXPECT_TRUE(mtp.ok()) << mtp.error().message;
    mtp_ = std::move(*mtp);
  }

  [[nodiscard]] LlamaEngine& engine() { return *engine_; }
  [[nodiscard]] LlamaMtp& mtp() { return *mtp_; }
  [[nodiscard]] llama_model* model() { return model_.get(); }
  [[nodiscard]] const Tokens& tokens(SlotId slot) { return held_[slot.value]; }

  void prefill(SlotId slot, TokenSpan tokens, TokenPos chunk = kChunk) {
    while (!tokens.empty()) {
      const auto part = tokens.first(std::min<std::size_t>(chunk, tokens.size()));
      CHECK(engine_->prefill(slot, part, engine::LogitsOf::kLastToken).ok());
      next_[slot.value] = best_of(engine_->logits(slot, 0));
      mtp_->advance(slot, part, 0);
      held_[slot.value] = joined(held_[slot.value], part);
      tokens = tokens.subspan(part.size());
    }
    expect_sound();
  }

  // Empties both.
  void clear(SlotId slot) {
    engine_->clear(slot);
    held_[slot.value].clear();
    EXPECT_EQ(mtp_->follow(slot, {}).held, 0);
    expect_sound();
  }

  [[nodiscard]] engine::DraftWish wish(SlotId slot, TokenPos most = kDrafts) {
    return {.slot = slot, .next = next_[slot.value], .most = most};
  }

  [[nodiscard]] Tokens draft(SlotId slot, TokenPos most = kDrafts) {
    engine::DraftWish one = wish(slot, most);
    mtp_->draft({&one, 1});
    expect_sound();
    return one.draft;
  }

  // Appends the next token and the draft, and keeps what the model agrees with.
  // Returns how many drafted tokens that were.
  int verify(SlotId slot, const Tokens& draft) {
    const Tokens batch = joined({next_[slot.value]}, draft);
    const bool by_cut = engine_->can_take_back(length_of(draft));
    engine::SavedState before;
    if (!by_cut) before = engine_->save(slot, engine::SaveScope::kSnapshot).value();
    decode(slot, batch);
    std::size_t accepted = 0;
    Token next = best_of(engine_->logits(slot, 0));
    while (accepted < draft.size() && next == draft[accepted]) {
      next = best_of(engine_->logits(slot, static_cast<TokenPos>(++accepted)));
    }
    const TokenSpan kept = TokenSpan(batch).first(accepted + 1);
    held_[slot.value] = joined(held_[slot.value], kept);
    if (by_cut) {
      CHECK(engine_->truncate(slot, length_of(held_[slot.value])) == engine::TruncateAnswer::kDone);
    } else if (kept.size() < batch.size()) {
      CHECK(engine_->load(slot, before).ok());
      decode(slot, kept);
    }
    mtp_->advance(slot, kept, 0);
    next_[slot.value] = next;
    expect_sound();
    return static_cast<int>(accepted);
  }

  Spoken speak(SlotId slot, int steps) {
    Spoken spoken;
    const std::size_t before = tokens(slot).size();
    for (int i = 0; i < steps; ++i) {
      spoken.drafts.push_back(draft(slot));
      const int accepted = verify(slot, spoken.drafts.back());
      for (int k = 0; k < static_cast<int>(spoken.drafts.back().size()) && k <= accepted; ++k) {
        ++spoken.offered[k];
        if (k < accepted) ++spoken.accepted[k];
      }
    }
    const Tokens& all = tokens(slot);
    spoken.tokens.assign(all.begin() + static_cast<std::ptrdiff_t>(before), all.end());
    return spoken;
  }

  [[nodiscard]] Kept keep(SlotId slot) {
    Kept kept;
    kept.tokens = tokens(slot);
    for (TokenPos at = 0; at < length_of(kept.tokens); at += kChunk) {
      kept.blocks.push_back({at, std::min(at + kChunk, length_of(kept.tokens))});
    }
    kept.rows = engine_->save_rows(slot, kept.blocks).value();
    kept.snapshot = engine_->save(slot, engine::SaveScope::kSnapshot).value();
    kept.companion = mtp_->save(slot, kept.blocks, engine_->length(slot));
    expect_sound();
    return kept;
  }

  // The primary comes back; the companion has yet to follow.
  void restore_primary(SlotId slot, const Kept& kept, SlotId source) {
    const std::vector<engine::RowsView> rows(kept.rows.begin(), kept.rows.end());
    CHECK(engine_->restore(slot, {kept.tokens, rows, kept.snapshot}).ok());
    held_[slot.value] = kept.tokens;
    next_[slot.value] = next_[source.value];
  }

  engine::Followed restore(SlotId slot, const Kept& kept, SlotId source) {
    restore_primary(slot, kept, source);
    const auto views = kept.companion_views();
    const auto followed = mtp_->follow(slot, {kept.tokens, views, kept.companion.place});
    expect_sound();
    return followed;
  }

  // The primary goes back to a snapshot of its own slot.
  void go_back(SlotId slot, const Kept& kept, Token next) {
    CHECK(engine_->load(slot, kept.snapshot).ok());
    held_[slot.value] = kept.tokens;
    next_[slot.value] = next;
  }

  void say_next(SlotId slot, Token next) { next_[slot.value] = next; }
  [[nodiscard]] Token next(SlotId slot) { return next_[slot.value]; }

  void expect_sound() const {
    for (const auto& violation : mtp_->check()) ADD_FAILURE() << violation;
    for (const auto& violation : engine_->check()) ADD_FAILURE() << violation;
  }

 private:
  void decode(SlotId slot, TokenSpan tokens) {
    const engine::DecodeStep step{slot, tokens};
    CHECK(engine_->decode({&step, 1}).ok());
  }

  std::shared_ptr<llama_model> model_;
  std::unique_ptr<LlamaEngine> engine_;
  std::unique_ptr<LlamaMtp> mtp_;
  std::array<Tokens, 3> held_;
  std::array<Token, 3> next_{};
};

void expect_same_bytes(const engine::CompanionSaved& a, const engine::CompanionSaved& b) {
  ASSERT_EQ(a.rows.size(), b.rows.size());
  for (std::size_t i = 0; i < a.rows.size(); ++i) {
    EXPECT_TRUE(a.rows[i].bytes == b.rows[i].bytes) << "block " << i;
  }
  EXPECT_TRUE(a.place.bytes == b.place.bytes) << "place";
}

// --- a cold reference --------------------------------------------------------------

LlamaContextPtr plain_context(llama_model* model, llama_context_type type) {
  llama_context_params params = llama_context_default_params();
  params.n_ctx = 1024;
  params.n_batch = params.n_ubatch = 1024;
  params.n_threads = params.n_threads_batch = 1;
  params.ctx_type = type;
  LlamaContextPtr context(llama_init_from_model(model, params));
  llama_set_embeddings_nextn(context.get(), true, type == LLAMA_CONTEXT_TYPE_MTP);
  return context;
}

// Drafts after `tokens` and `next`, with everything computed from the first token on
// and each drafted token in a batch of its own. `unknown_at` is read with zeros.
Tokens cold_draft(llama_model* model, Tokens tokens, Token next, TokenPos most,
                  TokenPos unknown_at = -1) {
  const auto trunk = plain_context(model, LLAMA_CONTEXT_TYPE_DEFAULT);
  const auto head = plain_context(model, LLAMA_CONTEXT_TYPE_MTP);
  const auto count = static_cast<std::int32_t>(tokens.size());
  const auto width = static_cast<std::size_t>(llama_model_n_embd_out(model));
  CHECK(llama_decode(trunk.get(), llama_batch_get_one(tokens.data(), count)) == 0);
  std::vector<float> hidden(width, 0.0F);
  for (std::int32_t i = 0; i < count; ++i) {
    const float* row = llama_get_embeddings_nextn_ith(trunk.get(), i);
    if (i + 1 == unknown_at) {
      hidden.resize(hidden.size() + width, 0.0F);
    } else {
      hidden.insert(hidden.end(), row, row + width);
    }
  }
  std::vector<std::int8_t> outputs(tokens.size(), 0);
  llama_batch prompt = llama_batch_get_one(tokens.data(), count);
  prompt.embd = hidden.data();
  prompt.logits = outputs.data();
  CHECK(llama_decode(head.get(), prompt) == 0);

  std::vector<float> row(hidden.end() - static_cast<std::ptrdiff_t>(width), hidden.end());
  Tokens drafts;
  while (length_of(drafts) < most) {
    llama_batch one = llama_batch_get_one(&next, 1);
    one.embd = row.data();
    CHECK(llama_decode(head.get(), one) == 0);
    const float* logits = llama_get_logits_ith(head.get(), 0);
    const float* own = llama_get_embeddings_nextn_ith(head.get(), 0);
    row.assign(own, own + width);
    const auto size = static_cast<std::size_t>(llama_vocab_n_tokens(llama_model_get_vocab(model)));
    next = best_of({logits, size});
    drafts.push_back(next);
  }
  return drafts;
}

// --- every architecture with an MTP block ------------------------------------------

std::shared_ptr<llama_model> tiny_model(std::string_view arch, bool mtp = true) {
  (void)llama_library_info();  // starts the library
  auto model = make_tiny_model(TinySpec{.arch = arch, .mtp = mtp}, 42);
  CHECK(model.ok());
  return std::shared_ptr<llama_model>(std::move(*model));
}

class EveryMtp : public ::testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] std::unique_ptr<Rig> rig() { return std::make_unique<Rig>(model_); }

  std::shared_ptr<llama_model> model_ = tiny_model(GetParam());
  const Tokens head_ = random_tokens(2 * kChunk, 1);
  const Tokens tail_ = random_tokens(kChunk, 2);
  const Tokens other_tail_ = random_tokens(kChunk, 3);
};

TEST_P(EveryMtp, DraftsAfterAPromptAreThoseOfAColdComputation) {
  const auto it = rig();
  for (const TokenPos length : {1, 2, 4, 5, 64, 100, 128}) {
    it->clear(kSlot);
    it->prefill(kSlot, TokenSpan(head_).first(static_cast<std::size_t>(length)));
    EXPECT_EQ(it->draft(kSlot, 6), cold_draft(model_.get(), it->tokens(kSlot), it->next(kSlot), 6))
        << length;
  }
}

TEST_P(EveryMtp, DraftsWhileSpeakingAreThoseOfAColdComputation) {
  const auto it = rig();
  it->prefill(kSlot, head_);
  for (int i = 0; i < 12; ++i) {
    const auto expected = cold_draft(model_.get(), it->tokens(kSlot), it->next(kSlot), kDrafts);
    const auto draft = it->draft(kSlot);
    EXPECT_EQ(draft, expected) << "step " << i;
    // Every so often all of it is accepted, so that several pairs are pending.
    const Tokens told = i % 3 == 0 ? draft : Tokens(draft.begin(), draft.begin() + i % 3);
    it->verify(kSlot, told);
  }
}

// The model rarely agrees with the drafts of random weights, so here it is told to.
TEST_P(EveryMtp, SeveralPendingPairsAreReadInTheSameBatch) {
  const auto it = rig();
  it->prefill(kSlot, head_);
  int batches = 0;
  it->mtp().set_fault([&](MtpOperation operation) {
    batches += operation == MtpOperation::kDecode ? 1 : 0;
    return false;
  });
  const auto few = TokenSpan(tail_).first(kDrafts + 1);
  it->prefill(kSlot, few);
  EXPECT_EQ(batches, 0) << "they wait for the next draft";
  const auto expected = cold_draft(model_.get(), it->tokens(kSlot), it->next(kSlot), kDrafts);
  EXPECT_EQ(it->draft(kSlot), expected);
  EXPECT_EQ(batches, kDrafts);
}

TEST_P(EveryMtp, ComesBackElsewhereBitForBit) {
  const auto it = rig();
  it->prefill(kSlot, head_);
  it->speak(kSlot, 5);
  const auto kept = it->keep(kSlot);
  for (const auto& rows : kept.companion.rows) EXPECT_FALSE(rows.empty());
  it->prefill(kOther, other_tail_);  // what was there must not matter
  const auto followed = it->restore(kOther, kept, kSlot);
  EXPECT_EQ(followed.held, length_of(kept.tokens));
  EXPECT_EQ(followed.from_memory, followed.held);
  EXPECT_EQ(followed.missing, nullptr);

  expect_same_bytes(it->mtp().save(kOther, kept.blocks, it->engine().length(kOther)),
                    kept.companion);
  const auto uninterrupted = it->speak(kSlot, 10);
  const auto restored = it->speak(kOther, 10);
  EXPECT_EQ(restored.drafts, uninterrupted.drafts);
  EXPECT_EQ(restored.tokens, uninterrupted.tokens);
  expect_same_bytes(it->keep(kOther).companion, it->keep(kSlot).companion);
}

TEST_P(EveryMtp, ComesBackFromBlocksThatReachFurther) {
  const auto it = rig();
  it->prefill(kSlot, joined(head_, TokenSpan(tail_).first(40)));
  auto there = it->keep(kSlot);
  const Token next = it->next(kSlot);
  it->prefill(kSlot, TokenSpan(tail_).subspan(40));
  const auto further = it->keep(kSlot);
  there.rows = further.rows;
  const auto place = std::exchange(there.companion, further.companion).place;
  there.companion.place = place;
  there.blocks = further.blocks;
  const auto followed = it->restore(kOther, there, kSlot);
  it->say_next(kOther, next);
  EXPECT_EQ(followed.held, length_of(there.tokens));
  EXPECT_EQ(it->draft(kOther), cold_draft(model_.get(), there.tokens, next, kDrafts));
}

TEST_P(EveryMtp, AfterABranchItGoesOnBitForBit) {
  const auto it = rig();
  it->prefill(kSlot, head_);
  const auto fork = it->keep(kSlot);
  const Token next = it->next(kSlot);
  it->prefill(kSlot, tail_);
  it->speak(kSlot, 4);

  it->go_back(kSlot, fork, next);
  const auto followed = it->mtp().follow(kSlot, {fork.tokens, {}, fork.companion.place});
  EXPECT_EQ(followed.held, length_of(head_));
  EXPECT_EQ(followed.from_memory, 0) << "its own rows are still there";
  it->prefill(kSlot, other_tail_);

  it->prefill(kOther, joined(head_, other_tail_));
  expect_same_bytes(it->keep(kSlot).companion, it->keep(kOther).companion);
  EXPECT_EQ(it->speak(kSlot, 8).drafts, it->speak(kOther, 8).drafts);
}

TEST_P(EveryMtp, GoesBackWithinWhatIsPending) {
  const auto it = rig();
  it->prefill(kSlot, head_);
  it->prefill(kSlot, TokenSpan(tail_).first(3), 3);
  if (!it->engine().can_take_back(1)) GTEST_SKIP() << "the primary cannot";
  ASSERT_EQ(it->engine().truncate(kSlot, length_of(head_) + 2), engine::TruncateAnswer::kDone);
  const Tokens there = joined(head_, TokenSpan(tail_).first(2));
  EXPECT_EQ(it->mtp().follow(kSlot, {there, {}, {}}).held, length_of(there));
  it->expect_sound();
  EXPECT_EQ(it->draft(kSlot), cold_draft(model_.get(), there, it->next(kSlot), kDrafts));
  EXPECT_FALSE(it->mtp().save(kSlot, {}, it->engine().length(kSlot)).place.empty())
      << "the pending pair had it";
}

TEST_P(EveryMtp, SeveralSlotsDraftAsIfAlone) {
  const auto alone = rig();
  const auto together = rig();
  const std::array<SlotId, 3> slots{kSlot, kOther, kThird};
  for (const auto& it : {alone.get(), together.get()}) {
    it->prefill(kSlot, head_);
    it->prefill(kOther, random_tokens(70, 5));
    it->prefill(kThird, random_tokens(100, 6));
    it->prefill(kOther, TokenSpan(tail_).first(4), 4);  // four pending
    it->prefill(kThird, TokenSpan(tail_).first(2), 2);  // two
  }
  for (int round = 0; round < 6; ++round) {
    std::vector<Tokens> expected;
    for (const SlotId slot : slots) expected.push_back(alone->draft(slot));
    // All, in another order; then two that are not neighbours.
    std::vector<engine::DraftWish> wishes;
    for (const int i : round % 2 == 0 ? std::vector{2, 0, 1} : std::vector{2, 0}) {
      wishes.push_back(together->wish(slots[static_cast<std::size_t>(i)], 1 + (i + round) % 3));
    }
    together->mtp().draft(wishes);
    together->expect_sound();
    for (const engine::DraftWish& wish : wishes) {
      Tokens same = expected[static_cast<std::size_t>(wish.slot.value)];
      same.resize(static_cast<std::size_t>(wish.most));
      EXPECT_EQ(wish.draft, same) << "slot " << wish.slot.value << " round " << round;
    }
    for (const SlotId slot : slots) {
      Tokens told = expected[static_cast<std::size_t>(slot.value)];
      told.resize(static_cast<std::size_t>((slot.value + round) % 3));
      alone->verify(slot, told);
      together->verify(slot, told);
    }
  }
}

TEST_P(EveryMtp, DraftsLeaveNoTrace) {
  const auto it = rig();
  it->prefill(kSlot, head_);
  const auto before = it->keep(kSlot);
  const auto expected = it->draft(kSlot);
  for (Token next = 0; next < 40; next += 3) {
    engine::DraftWish wish{.slot = kSlot, .next = next, .most = 1 + next % 7};
    it->mtp().draft({&wish, 1});
    it->expect_sound();
  }
  expect_same_bytes(it->keep(kSlot).companion, before.companion);
  EXPECT_EQ(it->draft(kSlot), expected);
}

TEST_P(EveryMtp, StopsAtATokenThatIsTooUnlikely) {
  const auto it = rig();
  it->prefill(kSlot, head_);
  auto wish = it->wish(kSlot, 8);
  wish.least_probability = 1.0F;
  it->mtp().draft({&wish, 1});
  EXPECT_TRUE(wish.draft.empty());
  wish.least_probability = 1e-6F;
  it->mtp().draft({&wish, 1});
  EXPECT_EQ(wish.draft, it->draft(kSlot, 8));
}

// --- what is missing ---------------------------------------------------------------

TEST_P(EveryMtp, WithoutACarriedRowItReadsZerosOnce) {
  const auto it = rig();
  it->prefill(kSlot, head_);
  auto kept = it->keep(kSlot);
  const auto place = std::exchange(kept.companion.place, {});
  EXPECT_EQ(it->restore(kOther, kept, kSlot).held, length_of(head_));
  EXPECT_TRUE(it->mtp().save(kOther, kept.blocks, it->engine().length(kOther)).place.empty());
  const TokenPos unknown = length_of(head_);
  EXPECT_EQ(it->draft(kOther), cold_draft(model_.get(), head_, it->next(kOther), kDrafts, unknown));
  it->verify(kOther, {});
  EXPECT_FALSE(it->mtp().save(kOther, kept.blocks, it->engine().length(kOther)).place.empty());
  EXPECT_EQ(it->draft(kOther),
            cold_draft(model_.get(), it->tokens(kOther), it->next(kOther), kDrafts, unknown));
  // With the row in hand it is known again.
  kept.companion.place = place;
  it->restore(kOther, kept, kSlot);
  EXPECT_TRUE(it->mtp().save(kOther, {}, it->engine().length(kOther)).place.bytes == place.bytes);
  EXPECT_EQ(it->draft(kOther), it->draft(kSlot));
}

TEST_P(EveryMtp, WithoutRowsItBeginsWhereThePrimaryStands) {
  const auto it = rig();
  it->prefill(kSlot, head_);
  auto kept = it->keep(kSlot);
  const auto place = kept.companion.place;
  kept.companion.rows.assign(kept.blocks.size(), {});
  const auto followed = it->restore(kOther, kept, kSlot);
  EXPECT_EQ(followed.held, 0);
  EXPECT_EQ(followed.from_memory, 0);
  EXPECT_NE(followed.missing, nullptr);
  EXPECT_EQ(it->draft(kOther).size(), static_cast<std::size_t>(kDrafts));

  // The rows since then are those of the whole run, and no others are claimed.
  it->prefill(kSlot, tail_);
  it->prefill(kOther, tail_);
  const auto whole = it->keep(kSlot);
  const auto part = it->keep(kOther);
  ASSERT_EQ(part.companion.rows.size(), 3U);
  EXPECT_TRUE(part.companion.rows[0].empty());
  EXPECT_TRUE(part.companion.rows[1].empty());
  EXPECT_TRUE(part.companion.rows[2].bytes == whole.companion.rows[2].bytes);
  it->speak(kOther, 3);
  EXPECT_TRUE(it->mtp()
                  .save(kOther, std::vector<TokenRange>{{120, 130}}, it->engine().length(kOther))
                  .rows[0]
                  .empty());

  // Where it already is, it stays as it is; memory can make it whole again.
  const Tokens there = it->tokens(kOther);
  const auto again = it->mtp().follow(kOther, {there, {}, {}});
  EXPECT_EQ(again.held, 0);
  it->expect_sound();
  EXPECT_FALSE(it->draft(kOther).empty());
  EXPECT_EQ(it->restore(kOther, whole, kSlot).held, length_of(whole.tokens));
  EXPECT_EQ(it->draft(kOther), it->draft(kSlot));
}

TEST_P(EveryMtp, BadBytesAreRefused) {
  const auto it = rig();
  it->prefill(kSlot, joined(head_, tail_));
  const auto kept = it->keep(kSlot);
  const auto good = kept.companion_views();
  ASSERT_EQ(good.size(), 3U);
  it->restore(kOther, kept, kSlot);
  const auto held = [&](std::vector<engine::RowsView> views) {
    // From another slot's point of view: nothing live helps.
    it->clear(kOther);
    it->restore_primary(kOther, kept, kSlot);
    const auto followed = it->mtp().follow(kOther, {kept.tokens, views, kept.companion.place});
    it->expect_sound();
    EXPECT_EQ(followed.missing == nullptr, followed.held == length_of(kept.tokens));
    EXPECT_EQ(it->draft(kOther).size(), static_cast<std::size_t>(kDrafts));
    return followed.held;
  };
  EXPECT_EQ(held(good), length_of(kept.tokens));
  std::vector<std::vector<engine::RowsView>> bad(8, good);
  StateBytes damaged = kept.companion.rows[1].bytes;
  damaged[damaged.size() / 2] ^= std::byte{1};
  bad[0][1].bytes = damaged;
  bad[1][1].bytes = good[1].bytes.first(good[1].bytes.size() - 1);  // short, checksum made to fit
  bad[1][1].checksum = hash_bytes(bad[1][1].bytes);
  bad[2].erase(bad[2].begin());                                 // a gap in front,
  bad[3].erase(bad[3].begin() + 1);                             // in the middle,
  bad[4].pop_back();                                            // at the end
  bad[5][1].begin += 1;                                         // one too late: a gap
  bad[6][1].end -= 1;                                           // one too early
  bad[7][2].begin = bad[7][2].block_begin = good[2].begin - 1;  // one row of the block before
  bad[7][2].block_end = good[2].end - 1;
  for (std::size_t i = 0; i < bad.size(); ++i) EXPECT_EQ(held(bad[i]), 0) << "case " << i;

  // The carried row, too.
  const auto place_taken = [&](const CheckedView& place) {
    it->clear(kOther);
    it->restore_primary(kOther, kept, kSlot);
    EXPECT_EQ(it->mtp().follow(kOther, {kept.tokens, good, place}).held, length_of(kept.tokens));
    return !it->mtp().save(kOther, {}, it->engine().length(kOther)).place.empty();
  };
  CheckedBytes place = kept.companion.place;
  EXPECT_TRUE(place_taken(place));
  place.bytes[3] ^= std::byte{1};
  EXPECT_FALSE(place_taken(place)) << "damaged";
  place = kept.companion.place;
  place.bytes.resize(place.bytes.size() - sizeof(float));
  EXPECT_FALSE(place_taken(CheckedBytes::of(place.bytes))) << "short";
  place = kept.companion.place;
  place.bytes.resize(place.bytes.size() + sizeof(float));
  EXPECT_FALSE(place_taken(CheckedBytes::of(place.bytes))) << "long";
}

// --- failures ----------------------------------------------------------------------

// Drives everything once; every answer is checked where it is given.
void drive(Rig& it, const Tokens& head, const Tokens& tail) {
  it.prefill(kSlot, head);
  it.speak(kSlot, 2);
  const auto kept = it.keep(kSlot);
  it.restore(kOther, kept, kSlot);
  std::vector<engine::DraftWish> both{it.wish(kSlot), it.wish(kOther)};
  it.mtp().draft(both);
  it.expect_sound();
  it.verify(kOther, both[1].draft);
  it.prefill(kOther, tail);
  const Tokens back = kept.tokens;
  it.go_back(kOther, kept, it.next(kSlot));
  (void)it.mtp().follow(kOther, {back, {}, {}});
  it.speak(kOther, 2);
  it.clear(kSlot);
  it.clear(kOther);
}

TEST_P(EveryMtp, EachFailureCostsItsSlotsRowsAtMost) {
  const auto it = rig();
  it->prefill(kThird, tail_);
  const auto untouched = it->keep(kThird);
  for (int nth = 0; nth < 200; ++nth) {
    int asked = 0;
    it->mtp().set_fault([&](MtpOperation) { return asked++ == nth; });
    drive(*it, head_, tail_);
    it->mtp().set_fault(nullptr);
    expect_same_bytes(it->mtp().save(kThird, untouched.blocks, it->engine().length(kThird)),
                      untouched.companion);
    if (asked <= nth) break;
    ASSERT_LT(nth, 199) << "the fault is still reached";
  }
  it->mtp().set_fault([](MtpOperation) { return true; });
  drive(*it, head_, tail_);
  it->mtp().set_fault(nullptr);
  it->prefill(kSlot, head_);
  EXPECT_EQ(it->draft(kSlot), cold_draft(model_.get(), head_, it->next(kSlot), kDrafts));
}

TEST_P(EveryMtp, OutOfStepItIsSilentUntilItFollows) {
  const auto it = rig();
  it->prefill(kSlot, head_);
  // A chunk that it is not told of, and then one that it is.
  ASSERT_TRUE(it->engine().prefill(kSlot, tail_, engine::LogitsOf::kLastToken).ok());
  ASSERT_TRUE(it->engine().prefill(kSlot, other_tail_, engine::LogitsOf::kLastToken).ok());
  auto wish = it->wish(kSlot);
  it->mtp().draft({&wish, 1});
  EXPECT_TRUE(wish.draft.empty()) << "the primary is elsewhere";
  it->mtp().advance(kSlot, other_tail_, 0);
  it->expect_sound();
  it->mtp().draft({&wish, 1});
  EXPECT_TRUE(wish.draft.empty());
  const auto saved = it->mtp().save(kSlot, std::vector<TokenRange>{{0, 64}, {128, 192}},
                                    it->engine().length(kSlot));
  for (const auto& rows : saved.rows) EXPECT_TRUE(rows.empty());
  EXPECT_TRUE(saved.place.empty());
  const Tokens all = joined(joined(head_, tail_), other_tail_);
  EXPECT_EQ(it->mtp().follow(kSlot, {all, {}, {}}).held, 0);
  it->expect_sound();
  it->mtp().draft({&wish, 1});
  EXPECT_FALSE(wish.draft.empty());
}

TEST_P(EveryMtp, ProposesNoMoreThanFits) {
  const auto it = rig();
  const TokenPos all = it->engine().context_tokens();
  it->prefill(kOther, tail_);
  for (const TokenPos left : {6, 3, 2, 1, 0}) {
    it->clear(kSlot);
    const Tokens prompt = random_tokens(all - left, 8);
    const auto body = static_cast<std::size_t>(all - left - 2);
    it->prefill(kSlot, TokenSpan(prompt).first(body));
    it->prefill(kSlot, TokenSpan(prompt).subspan(body), 2);  // pending
    it->verify(kOther, {});
    std::vector<engine::DraftWish> wishes{it->wish(kSlot, 5), it->wish(kOther, 5)};
    it->mtp().draft(wishes);
    it->expect_sound();
    EXPECT_EQ(length_of(wishes[0].draft), std::clamp(left - 1, 0, 5)) << left;
    EXPECT_EQ(length_of(wishes[1].draft), 5);
  }
}

INSTANTIATE_TEST_SUITE_P(Tiny, EveryMtp, ::testing::Values("qwen35", "qwen35moe", "qwen3next"),
                         [](const auto& test) { return test.param; });

TEST(LlamaMtp, OneSlotAlone) {
  LlamaConfig config = small_config();
  config.slots = 1;
  const auto model = tiny_model("qwen35");
  Rig it(model, config);
  it.prefill(kSlot, random_tokens(100, 4));
  EXPECT_EQ(it.draft(kSlot), cold_draft(model.get(), it.tokens(kSlot), it.next(kSlot), kDrafts));
  it.speak(kSlot, 3);
}

TEST(LlamaMtp, OtherKindsOfRowsComeBackToo) {
  for (const auto& [type, flash] : {std::pair{"q8_0", FlashAttention::kOn},
                                    {"f32", FlashAttention::kOff},
                                    {"f16", FlashAttention::kOff}}) {
    LlamaConfig config = small_config();
    config.cache_type_k = config.cache_type_v = type;
    config.flash_attention = flash;
    Rig it(tiny_model("qwen35"), config);
    it.prefill(kSlot, random_tokens(100, 4));
    it.speak(kSlot, 3);
    const auto kept = it.keep(kSlot);
    EXPECT_EQ(it.restore(kOther, kept, kSlot).held, length_of(kept.tokens));
    EXPECT_EQ(it.speak(kOther, 6).drafts, it.speak(kSlot, 6).drafts) << type;
    expect_same_bytes(it.keep(kOther).companion, it.keep(kSlot).companion);
  }
}

TEST(LlamaMtp, IsUnsupportedWhereThereIsNoBlock) {
  const auto code = [](std::shared_ptr<llama_model> model, bool mtp) {
    LlamaConfig config = small_config();
    config.mtp = false;
    auto shape = LlamaEngine::measure_shape(model.get(), config);
    auto engine = LlamaEngine::create(model, config, *shape);
    config.mtp = mtp;
    const auto made = LlamaMtp::create(model, **engine, config);
    return made.ok() ? ErrorCode::kCancelled : made.error().code;
  };
  EXPECT_EQ(code(tiny_model("llama", false), true), ErrorCode::kUnsupported);
  EXPECT_EQ(code(tiny_model("qwen35", false), true), ErrorCode::kUnsupported);
  EXPECT_EQ(code(tiny_model("qwen35", true), false), ErrorCode::kUnsupported);
}

// --- a model that was trained ------------------------------------------------------

std::shared_ptr<llama_model> pocket_model() {
  (void)llama_library_info();
  llama_model_params params = llama_model_default_params();
  params.load_mtp = true;
  return {llama_model_load_from_file(HOLDFAST_POCKET_MODEL_PATH, params), LlamaModelFree{}};
}

Tokens tokenize(const llama_model* model, const std::string& text) {
  Tokens tokens(text.size());
  const int count =
      llama_tokenize(llama_model_get_vocab(model), text.data(), static_cast<int>(text.size()),
                     tokens.data(), static_cast<int>(tokens.size()), true, true);
  tokens.resize(static_cast<std::size_t>(std::max(count, 0)));
  return tokens;
}

const std::vector<std::string> kQuestions = {
    "The secret code of Lisbon is 48213. My dog is called Bruno. I live in Oslo.",
    "Please repeat this text: The quick brown fox jumps over the lazy dog near the river bank.",
    "Count from 1 to 30.",
    "What is the capital of France?",
    "Write a short story about a ship and a storm.",
    "Tell me about the sea.",
};

std::string chat(const std::string& question) {
  return "<|im_start|>user\n" + question +
         "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n";
}

void print_rates(const char* what, const Spoken& all) {
  std::printf("%-8s accepted by position:", what);
  for (std::size_t i = 0; i < all.offered.size(); ++i) {
    std::printf("  %d/%d = %.3f", all.accepted[i], all.offered[i],
                static_cast<double>(all.accepted[i]) / std::max(1, all.offered[i]));
  }
  std::printf("\n");
}

TEST(PocketModel, AcceptsWhatItsBlockDrafts) {
  const auto model = pocket_model();
  ASSERT_NE(model, nullptr);
  LlamaConfig config = small_config();
  config.context_tokens = 2048;
  Rig it(model, config);
  Spoken cold;
  Spoken warm;
  const auto add = [](Spoken& sum, const Spoken& one) {
    for (std::size_t i = 0; i < sum.offered.size(); ++i) {
      sum.offered[i] += one.offered[i];
      sum.accepted[i] += one.accepted[i];
    }
  };
  for (const std::string& question : kQuestions) {
    it.clear(kSlot);
    it.prefill(kSlot, tokenize(model.get(), chat(question)));
    const auto kept = it.keep(kSlot);
    EXPECT_EQ(it.restore(kOther, kept, kSlot).held, length_of(kept.tokens));
    const auto one = it.speak(kSlot, 30);
    const auto other = it.speak(kOther, 30);
    EXPECT_EQ(one.drafts, other.drafts);
    EXPECT_EQ(one.tokens, other.tokens);
    add(cold, one);
    add(warm, other);
  }
  print_rates("cold", cold);
  print_rates("restored", warm);
  EXPECT_GT(static_cast<double>(cold.accepted[0]), 0.6 * cold.offered[0]);
  EXPECT_EQ(cold.accepted, warm.accepted);
  EXPECT_EQ(cold.offered, warm.offered);
}

double milliseconds(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

// Prints what drafts cost; nothing depends on it.
TEST(PocketModel, CostOfADraft) {
  const auto model = pocket_model();
  ASSERT_NE(model, nullptr);
  LlamaConfig config = small_config();
  config.context_tokens = 2048;
  Rig it(model, config);
  it.prefill(kSlot, tokenize(model.get(), chat(kQuestions[4])));
  constexpr int kRounds = 100;
  constexpr TokenPos kMost = kDrafts + 1;
  std::array<double, kMost + 1> draft_of{};      // by tokens drafted, none pending
  std::array<double, kMost + 1> with_pending{};  // one token drafted, by pairs pending
  std::array<double, kMost + 1> primary{};       // by tokens decoded
  double advance = 0.0;
  for (int i = 0; i < kRounds * kMost; ++i) {
    const TokenPos count = 1 + i % kMost;
    const Tokens tokens(static_cast<std::size_t>(count), it.next(kSlot));
    const engine::DecodeStep step{kSlot, tokens};
    const auto draft = [&](TokenPos most) {
      engine::DraftWish wish = it.wish(kSlot, most);
      return milliseconds([&] { it.mtp().draft({&wish, 1}); });
    };
    primary[static_cast<std::size_t>(count)] += milliseconds([&] {
      CHECK(it.engine().decode({&step, 1}).ok());
      it.say_next(kSlot, best_of(it.engine().logits(kSlot, count - 1)));
    });
    advance += milliseconds([&] { it.mtp().advance(kSlot, tokens, 0); });
    with_pending[static_cast<std::size_t>(count)] += draft(1);
    with_pending[0] += draft(1) / kMost;
    draft_of[static_cast<std::size_t>(count)] += draft(count);
  }
  std::printf("ms by tokens: primary decode");
  for (TokenPos n = 1; n <= kMost; ++n) std::printf(" %.3f", primary[n] / kRounds);
  std::printf("; draft");
  for (TokenPos n = 1; n <= kMost; ++n) std::printf(" %.3f", draft_of[n] / kRounds);
  std::printf("; draft of one by pending pairs");
  for (TokenPos n = 0; n <= kMost; ++n) std::printf(" %.3f", with_pending[n] / kRounds);
  std::printf("; advance %.4f\n", advance / kRounds / kMost);

  const Tokens chunk = random_tokens(it.engine().chunk_tokens_max(), 3);
  double prefill = 0.0;
  double following = 0.0;
  for (int i = 0; i < 20; ++i) {
    if (i % 5 == 0) it.clear(kOther);
    prefill += milliseconds([&] {
      CHECK(it.engine().prefill(kOther, chunk, engine::LogitsOf::kLastToken).ok());
      it.engine().wait();
    });
    // Its own computation need not be finished; save() waits for it.
    following += milliseconds([&] {
      it.mtp().advance(kOther, chunk, 0);
      (void)it.mtp().save(kOther, {}, it.engine().length(kOther));
    });
  }
  std::printf("ms for a chunk of %zu: primary %.2f, companion %.2f\n", chunk.size(), prefill / 20,
              following / 20);
}

}  // namespace
}  // namespace holdfast::llama
