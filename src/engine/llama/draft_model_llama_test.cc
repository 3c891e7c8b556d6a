// A draft model on the real engine: on tiny models of each kind of state its drafts are
// what the model itself goes on with, after accepted and rejected drafts, with slots
// side by side, and after its state came back from memory.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <random>

#include "engine/draft_model.h"
#include "engine/llama/llama_config.h"
#include "engine/llama/testing/tiny_models.h"

namespace holdfast::llama {
namespace {

constexpr unsigned kSeed = 3;
constexpr int kSlots = 2;

std::unique_ptr<engine::Engine> tiny_engine(const std::string& arch) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("holdfast-draft-" + std::to_string(::getpid()) + "-" + arch + ".gguf");
  const auto written = llama::write_tiny_model({.arch = arch}, 42, path.string());
  EXPECT_TRUE(written.ok()) << written.error().message;
  LlamaConfig config;
  config.model_path = path.string();
  config.context_tokens = 1024;
  config.slots = kSlots;
  config.threads = 1;
  config.ubatch = 64;
  config.draft_tokens_max = 7;
  config.use_mmap = false;
  config.warm_up = false;
  auto loaded = load_llama_model(config, nullptr);
  std::filesystem::remove(path);
  EXPECT_TRUE(loaded.ok()) << loaded.error().message;
  return loaded.ok() ? std::move(loaded->engine) : nullptr;
}

Tokens some_tokens(std::mt19937& random, std::size_t count) {
  Tokens tokens(count);
  for (Token& token : tokens) token = static_cast<Token>('a' + random() % 20);
  return tokens;
}

class DraftModelOnLlama : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    engine_ = tiny_engine(GetParam());
    reference_ = tiny_engine(GetParam());
    ASSERT_TRUE(engine_ && reference_);
  }

  // What the model goes on with, read from the first token.
  Tokens greedy(const Tokens& told, Token next, TokenPos most) {
    const SlotId slot{0};
    reference_->clear(slot);
    Tokens read = told;
    read.push_back(next);
    for (std::size_t at = 0; at < read.size(); at += 64) {
      const auto chunk = TokenSpan(read).subspan(at, std::min<std::size_t>(64, read.size() - at));
      EXPECT_TRUE(reference_->prefill(slot, chunk, engine::LogitsOf::kLastToken).ok());
    }
    Tokens draft;
    while (length_of(draft) < most) {
      const auto logits = reference_->logits(slot, 0);
      draft.push_back(static_cast<Token>(std::ranges::max_element(logits) - logits.begin()));
      EXPECT_TRUE(
          reference_->decode(std::vector{engine::DecodeStep{slot, {&draft.back(), 1}}}).ok());
    }
    return draft;
  }

  void compare(const engine::DraftWish& wish, const Tokens& told) {
    const Tokens expected = greedy(told, wish.next, wish.most);
    compared_ += length_of(expected);
    same_ += common_prefix(wish.draft, expected);
  }

  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<engine::Engine> reference_;
  TokenPos compared_ = 0;
  TokenPos same_ = 0;
};

TEST_P(DraftModelOnLlama, DraftsWhatTheModelGoesOnWith) {
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  engine::DraftModel model(*engine_);
  std::vector<Tokens> told(kSlots);
  for (int i = 0; i < kSlots; ++i) {
    told[static_cast<std::size_t>(i)] = some_tokens(random, 150);
    model.advance(SlotId{i}, told[static_cast<std::size_t>(i)], 0);
  }
  for (int step = 0; step < 24; ++step) {
    std::vector<engine::DraftWish> wishes(kSlots);
    for (int i = 0; i < kSlots; ++i) {
      wishes[static_cast<std::size_t>(i)].slot = SlotId{i};
      wishes[static_cast<std::size_t>(i)].next = static_cast<Token>('a' + random() % 20);
      wishes[static_cast<std::size_t>(i)].most = 1 + static_cast<TokenPos>(random() % 5);
    }
    model.draft(wishes);
    for (const engine::DraftWish& wish : wishes) {
      Tokens& mine = told[static_cast<std::size_t>(wish.slot.value)];
      compare(wish, mine);
      Tokens kept = {wish.next};
      const auto accepted = static_cast<std::ptrdiff_t>(random() % (wish.draft.size() + 1));
      kept.insert(kept.end(), wish.draft.begin(), wish.draft.begin() + accepted);
      mine.insert(mine.end(), kept.begin(), kept.end());
      model.advance(wish.slot, kept, 0);
    }
    const auto violations = model.check();
    ASSERT_TRUE(violations.empty()) << violations.front();
  }
  std::printf("%s: %d of %d drafted tokens are the same\n", GetParam(), same_, compared_);
  EXPECT_GE(same_, compared_ * 95 / 100) << "but for ties in the last bits";
  EXPECT_EQ(model.failures(), 0U);
}

TEST_P(DraftModelOnLlama, ComesBackFromMemory) {
  std::mt19937 random(kSeed);
  engine::DraftModel model(*engine_);
  const Tokens told = some_tokens(random, 200);
  model.advance(SlotId{0}, told, 0);
  const std::vector<TokenRange> blocks = {{0, 64}, {64, 128}, {128, 192}, {192, 200}};
  const engine::CompanionSaved saved = model.save(SlotId{0}, blocks, length_of(told));
  std::vector<engine::RowsView> rows;
  for (std::size_t i = 0; i < saved.rows.size(); ++i) {
    if (saved.rows[i].empty()) continue;
    EXPECT_LE(saved.rows[i].bytes.size(),
              model.shape().bytes_per_token * static_cast<ByteCount>(blocks[i].length()));
    engine::RowsView view;
    view.begin = view.block_begin = blocks[i].begin;
    view.end = view.block_end = blocks[i].end;
    view.checksum = saved.rows[i].checksum;
    view.bytes = saved.rows[i].bytes;
    rows.push_back(view);
  }
  const Tokens other = some_tokens(random, 90);
  static_cast<void>(model.follow(SlotId{0}, {.tokens = other}));
  std::vector<engine::DraftWish> wishes(1);
  wishes[0].next = 'q';
  wishes[0].most = 5;
  model.draft(wishes);
  compare(wishes[0], other);

  engine::CompanionPoint point{.tokens = told, .rows = rows, .place = saved.place};
  const engine::Followed followed = model.follow(SlotId{0}, point);
  EXPECT_EQ(followed.held, 200) << followed.missing;
  EXPECT_EQ(followed.from_memory, 200);
  model.draft(wishes);
  compare(wishes[0], told);
  EXPECT_EQ(same_, compared_);
  EXPECT_EQ(model.failures(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Architectures, DraftModelOnLlama,
                         ::testing::Values("llama", "gemma3", "qwen35", "mamba2", "lfm2", "jamba"),
                         [](const auto& arch) { return std::string(arch.param); });

}  // namespace
}  // namespace holdfast::llama
