// How the next token is chosen: parameters, the sampler, and what it answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "state/tokens.h"

namespace holdfast::engine {

// Defaults are llama-server's, so that a client moves over without surprise.
struct SamplingParams {
  std::optional<std::uint32_t> seed;  // nullopt: a random one
  float temperature = 0.8F;
  int top_k = 40;
  float top_p = 0.95F;
  float min_p = 0.05F;
  float typical_p = 1.0F;
  float top_n_sigma = -1.0F;
  float xtc_probability = 0.0F;
  float xtc_threshold = 0.1F;
  float dynatemp_range = 0.0F;
  float dynatemp_exponent = 1.0F;
  int repeat_last_n = 64;
  float repeat_penalty = 1.0F;
  float presence_penalty = 0.0F;
  float frequency_penalty = 0.0F;
  float dry_multiplier = 0.0F;
  float dry_base = 1.75F;
  int dry_allowed_length = 2;
  int dry_penalty_last_n = 64;
  std::vector<std::string> dry_sequence_breakers = {"\n", ":", "\"", "*"};
  int mirostat = 0;
  float mirostat_tau = 5.0F;
  float mirostat_eta = 0.1F;
  int min_keep = 0;
  bool ignore_eos = false;
  std::vector<std::pair<Token, float>> logit_bias;
  // Of every token that the text is made of.
  std::vector<std::pair<std::string, float>> text_bias;
  std::vector<std::string> samplers;  // order by name; empty: the default chain
  std::string grammar;                // GBNF given by the client
  std::string json_schema;            // JSON text; for plain completions
  // How many alternatives to report with each token; nullopt: no logprobs at all.
  std::optional<int> top_logprobs;
  // They are those after sampling: of the tokens that could have been chosen, and no others.
  bool post_sampling_probs = false;
  int reasoning_budget_tokens = -1;      // -1: no limit
  std::string reasoning_budget_message;  // written before the end of thoughts that are cut off
  bool reasoning_control = false;        // thoughts may be ended while they are written
};

struct TokenLogprob {
  Token token = 0;
  float logprob = 0.0F;
};

struct Sampled {
  Token token = 0;
  // Filled when SamplingParams::top_logprobs was set.
  float logprob = 0.0F;
  std::vector<TokenLogprob> top;
};

// Carries the state of one generation: penalties, grammar, random numbers.
// Made by TextModel::make_sampler, used by the engine's owning thread.
class Sampler {
 public:
  virtual ~Sampler() = default;
  // The prompt counts for penalties, not for the grammar.
  virtual void accept_prompt(TokenSpan prompt) = 0;
  // Takes a token that was sampled (and is kept) into account. An Error means
  // that a grammar cannot go on; the generation ends there.
  [[nodiscard]] virtual Result<void> accept(Token token) = 0;
  [[nodiscard]] virtual std::uint32_t seed() const = 0;
  // From the next token on the model is made to end its thoughts. False: it writes none now, or the
  // parameters did not ask for reasoning_control.
  virtual bool end_thoughts() { return false; }
};

}  // namespace holdfast::engine
