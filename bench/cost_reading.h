// Reads prompts into one slot with a cache over it, as the scheduler does, and takes the time.
#pragma once

#include <random>
#include <string>

#include "cache/state_cache.h"
#include "cost_state.h"
#include "engine/llama/llama_config.h"
#include "env/clock.h"
#include "state/grid.h"

namespace holdfast::bench {

// A budget that holds every state of any of the measurements.
inline constexpr ByteCount kAmpleBudget = ByteCount{12} << 30;

// Prompts of random tokens that are cut where a conversation would be.
class PromptMaker {
 public:
  PromptMaker(const engine::TextModel& text, unsigned seed);

  // A message of `count` tokens, its end included.
  [[nodiscard]] Tokens turn(TokenPos count);
  // Messages of `count` tokens in all.
  [[nodiscard]] Tokens turns(TokenPos count);
  // The three tokens that open an answer.
  [[nodiscard]] Tokens header() { return noise(kHeaderTokens); }
  static constexpr TokenPos kHeaderTokens = 3;

 private:
  [[nodiscard]] Tokens noise(TokenPos count);

  std::mt19937 random_;
  Tokens turn_end_;
};

[[nodiscard]] Tokens operator+(Tokens a, const Tokens& b);

struct ReadTimes {
  double plan_ms = 0;
  double begin_ms = 0;    // what the plan says: storing, truncating, restoring
  double prefill_ms = 0;  // in the engine
  double note_ms = 0;     // around it: checkpoints
  cache::Receipt receipt;

  [[nodiscard]] double all_ms() const { return plan_ms + begin_ms + prefill_ms + note_ms; }
};

class CachedReader {
 public:
  // REQUIRES: the model outlives it.
  CachedReader(llama::LoadedModel& model, SlotId slot, ByteCount budget,
               const StateSetting& setting);

  // Reads the prompt as far as its last token's logits.
  [[nodiscard]] Result<ReadTimes> read(const Tokens& prompt);

  [[nodiscard]] const cache::StateCache& cache() const { return cache_; }
  [[nodiscard]] const env::Clock& clock() const { return clock_; }

 private:
  [[nodiscard]] Result<void> prefill(const Tokens& prompt, ReadTimes& times);

  engine::Engine& engine_;
  SlotId slot_;
  const env::Clock& clock_;
  Grid grid_;
  cache::StateCache cache_;
};

[[nodiscard]] Result<llama::LoadedModel> load_model(const StateSetting& setting, int slots,
                                                    TokenPos context);

// The model and the setting, for the report.
[[nodiscard]] std::string described(const StateSetting& setting, const llama::LoadedModel& model);

}  // namespace holdfast::bench
