// A slot of the real engine with a cache over it, driven as the scheduler does. Its
// clock stands still, so that nothing depends on how fast the machine is.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "cache/disk_tier.h"
#include "cache/state_cache.h"
#include "engine/llama/llama_config.h"
#include "engine/llama/testing/tiny_models.h"
#include "state/grid.h"

namespace holdfast {

inline constexpr TokenPos kStep = 64;
inline constexpr int kDecoded = 30;
inline constexpr Token kTurnEnd = llama::kTinyImEnd;
inline constexpr SlotId kSlot{0};
inline constexpr ByteCount kAmple = 1ULL << 30;
inline constexpr SpaceKey kSpace{1, 1};

// Writes a tiny model, with its MTP block where drafts come from it, loads it and
// removes the file.
inline Result<llama::LoadedModel> load_tiny(const std::string& arch, llama::LlamaConfig config) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("holdfast-" + std::to_string(::getpid()) + "-" + arch + ".gguf");
  config.model_path = path.string();
  config.use_mmap = false;
  const bool mtp = config.draft_source == DraftSource::kMtp;
  const auto written = llama::write_tiny_model({.arch = arch, .mtp = mtp}, 42, path);
  auto loaded = written ? llama::load_llama_model(config, nullptr)
                        : Result<llama::LoadedModel>(written.error());
  std::filesystem::remove(path);
  return loaded;
}

// One slot, and one thread: tests share their cores.
inline llama::LlamaConfig small_config() {
  llama::LlamaConfig config;
  config.context_tokens = 2048;
  config.slots = 1;
  config.threads = 1;
  config.ubatch = 128;
  config.warm_up = false;
  return config;
}

struct Answer {
  std::vector<float> logits;  // of every step
  Tokens tokens;
};

inline bool same_bits(const Answer& a, const Answer& b) {
  return a.logits.size() == b.logits.size() &&
         std::memcmp(a.logits.data(), b.logits.data(), a.logits.size() * sizeof(float)) == 0;
}

// A slot of an engine with a cache over it, driven as the scheduler does it.
class CachedServer {
 public:
  CachedServer(engine::Engine& engine, ByteCount budget, cache::CacheOptions options = {},
               engine::Companion* companion = nullptr, cache::DiskTier* lower = nullptr)
      : engine_(engine), lower_(lower) {
    options.exact = Exactness::kAll;
    options.memory.budget = budget;
    cache_ = std::make_unique<cache::StateCache>(
        cache::CacheWorld{
            .engine = &engine, .clock = &clock_, .companion = companion, .lower = lower},
        options);
    cache_->growth().note_prefill_speed(1000,
                                        1e6);  // so slow that whatever is there is brought back
  }

  Answer run(const Tokens& prompt, TokenPos stop_reading_at = 1 << 30) {
    const auto cuts = grid_.cuts(prompt);
    const std::vector<MessageSpan> spans;
    const Tokens filed_under = keys(prompt);
    const auto names = cache_->cold().names_for(kSpace, filed_under);
    const cache::Prompt asked{kSpace,       prompt, filed_under,
                              cuts,         spans,  true,
                              std::nullopt, names,  cache::EndKey::of(kSpace, filed_under)};
    receipt = {};
    fetch(asked);
    const cache::LogitsPtr kept =
        cache_->begin(asked, cache_->admission().plan(asked, {&kSlot, 1}), receipt);
    Answer answer;
    for (TokenPos at = receipt.restored; at < length_of(prompt);) {
      if (at >= stop_reading_at) break;
      const TokenPos end = cache_->growth().chunk_end(kSlot);
      const auto chunk = TokenSpan(prompt).subspan(static_cast<std::size_t>(at),
                                                   static_cast<std::size_t>(end - at));
      EXPECT_TRUE(cache_->growth().before_chunk(kSlot).ok());
      const auto read = engine_.prefill(kSlot, chunk, engine::LogitsOf::kLastToken);
      EXPECT_TRUE(read.ok()) << read.error().message;
      const bool last = end == length_of(prompt);
      cache_->growth().prefilled(kSlot, chunk, receipt,
                                 last ? engine::LogitsOf::kLastToken : engine::LogitsOf::kNone);
      at = end;
    }
    if (cache_->slots()[kSlot].length() == length_of(prompt)) decode(answer, kept);
    cache_->end(kSlot);
    EXPECT_EQ(cache_->check(), std::vector<std::string>{});
    EXPECT_EQ(engine_.check(), std::vector<std::string>{});
    return answer;
  }

  cache::StateCache& cache() { return *cache_; }
  [[nodiscard]] Tokens keys(const Tokens& prompt) const {
    return cache::filing_keys(prompt, grid_.cuts(prompt), true);
  }
  cache::Receipt receipt;  // of the last run
  int decoded = kDecoded;  // tokens of each answer

  // As a server that stops: everything is written.
  void end() {
    cache_->live().keep_idle();
    while (lower_ != nullptr && lower_->work()) {
    }
  }

 private:
  void fetch(const cache::Prompt& asked) {
    if (lower_ == nullptr) return;
    cache::ColdFetch fetch =
        cache_->cold().look_up(asked, cache_->admission().plan(asked, {&kSlot, 1}));
    while (!fetch.over()) {
      while (!cache_->cold().ready(fetch)) ASSERT_TRUE(lower_->work());
      cache_->cold().advance(fetch, asked, cache_->admission().plan(asked, {&kSlot, 1}), receipt);
    }
  }

  void decode(Answer& answer, const cache::LogitsPtr& kept) {
    for (int i = 0; i <= decoded; ++i) {
      const auto row = i == 0 && kept ? cache::logits_in(*kept) : engine_.logits(kSlot);
      answer.logits.insert(answer.logits.end(), row.begin(), row.end());
      if (i == decoded) break;
      const auto best = static_cast<Token>(std::ranges::max_element(row) - row.begin());
      answer.tokens.push_back(best);
      const engine::DecodeStep step{kSlot, {&best, 1}};
      EXPECT_TRUE(engine_.decode({&step, 1}).ok());
      cache_->growth().decoded(kSlot, {&best, 1});
    }
  }

  engine::Engine& engine_;
  cache::DiskTier* const lower_;
  class StillClock final : public env::Clock {
   public:
    [[nodiscard]] TimePoint now() const override { return {}; }
  };
  StillClock clock_;
  Grid grid_{GridRule{kStep, {{kTurnEnd}}}};
  std::unique_ptr<cache::StateCache> cache_;
};

inline Tokens random_tokens(TokenPos count, unsigned seed) {
  std::mt19937 random(seed);
  Tokens tokens(static_cast<std::size_t>(count));
  for (Token& token : tokens) token = static_cast<Token>(random() % 256);
  return tokens;
}

inline Tokens turn(TokenPos count, unsigned seed) {
  Tokens tokens = random_tokens(count, seed);
  tokens.push_back(kTurnEnd);
  return tokens;
}

inline Tokens operator+(Tokens a, const Tokens& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace holdfast
