#include "engine/llama/llama_sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/llama/llama_grammar.h"
#include "engine/llama/llama_reply.h"
#include "engine/llama/llama_schema.h"

namespace holdfast::llama {

namespace {

// Penalties look at most this many tokens back: the library allocates the whole window, several
// times.
constexpr int kPenaltyWindowMax = 16384;

int penalty_window(int requested) {
  return requested < 0 ? kPenaltyWindowMax : std::min(requested, kPenaltyWindowMax);
}

void copy_numbers(const engine::SamplingParams& from, common_params_sampling& to) {
  to.seed = from.seed.value_or(LLAMA_DEFAULT_SEED);
  to.n_prev = std::max(64, penalty_window(from.repeat_last_n));
  to.temp = from.temperature;
  to.top_k = from.top_k;
  to.top_p = from.top_p;
  to.min_p = from.min_p;
  to.typ_p = from.typical_p;
  to.top_n_sigma = from.top_n_sigma;
  to.xtc_probability = from.xtc_probability;
  to.xtc_threshold = from.xtc_threshold;
  to.dynatemp_range = from.dynatemp_range;
  to.dynatemp_exponent = from.dynatemp_exponent;
  to.penalty_last_n = penalty_window(from.repeat_last_n);
  to.penalty_repeat = from.repeat_penalty;
  to.penalty_present = from.presence_penalty;
  to.penalty_freq = from.frequency_penalty;
  to.dry_multiplier = from.dry_multiplier;
  to.dry_base = from.dry_base;
  to.dry_allowed_length = from.dry_allowed_length;
  to.dry_penalty_last_n = penalty_window(from.dry_penalty_last_n);
  to.dry_sequence_breakers = from.dry_sequence_breakers;
  to.mirostat = std::clamp(from.mirostat, 0, 2);
  to.mirostat_tau = from.mirostat_tau;
  to.mirostat_eta = from.mirostat_eta;
  to.min_keep = from.min_keep;
  to.no_perf = true;
}

void copy_biases(const llama_vocab* vocab, const engine::SamplingParams& from,
                 common_params_sampling& to) {
  const int vocabulary = llama_vocab_n_tokens(vocab);
  for (const auto& [token, bias] : from.logit_bias) {
    if (token >= 0 && token < vocabulary) to.logit_bias.push_back({token, bias});
  }
  for (const auto& [text, bias] : from.text_bias) {
    for (const Token token : common_tokenize(vocab, text, false, false)) {
      to.logit_bias.push_back({token, bias});
    }
  }
  to.ignore_eos = from.ignore_eos;
  if (!from.ignore_eos) return;
  for (Token token = 0; token < vocabulary; ++token) {
    if (llama_vocab_is_eog(vocab, token)) to.logit_bias.push_back({token, -INFINITY});
  }
}

// Of a plain completion; a chat's grammar comes with its format.
Result<void> set_grammar(const engine::SamplingParams& from, const engine::GrammarLimits& limits,
                         common_params_sampling& to) {
  if (!from.json_schema.empty()) {
    auto grammar = grammar_of_schema(from.json_schema, limits);
    if (!grammar) return grammar.error();
    to.grammar = {COMMON_GRAMMAR_TYPE_OUTPUT_FORMAT, std::move(*grammar)};
  } else if (!from.grammar.empty()) {
    to.grammar = {COMMON_GRAMMAR_TYPE_USER, from.grammar};
  }
  return {};
}

const char* field_of(const common_params_sampling& params, const LlamaReplyFormat* format) {
  if (params.grammar.type == COMMON_GRAMMAR_TYPE_USER) return "grammar";
  return format != nullptr ? format->constraint_field() : "response_format";
}

// The grammar leaves the library's parameters: the library does not bound its work.
Result<std::unique_ptr<LlamaGrammar>> take_grammar(const GrammarContext& context,
                                                   common_params_sampling& params,
                                                   const LlamaReplyFormat* format) {
  if (params.grammar.empty()) return std::unique_ptr<LlamaGrammar>();
  if (params.ignore_eos && !params.grammar_lazy) {
    return invalid_argument("ignore_eos", std::string("'ignore_eos' cannot be combined with '") +
                                              field_of(params, format) +
                                              "': an answer that matches it has an end.");
  }
  auto grammar = LlamaGrammar::create(context, params, field_of(params, format));
  params.grammar = {};
  return grammar;
}

Result<void> set_sampler_order(const engine::SamplingParams& from, common_params_sampling& to) {
  if (from.samplers.empty()) return {};
  to.samplers = common_sampler_types_from_names(from.samplers);
  if (to.samplers.size() == from.samplers.size()) return {};
  return invalid_argument("samplers", "'samplers' names a sampler that does not exist.");
}

bool picks_largest(const common_params_sampling& params) {
  return params.temp <= 0.0F && params.dynatemp_range <= 0.0F && params.mirostat == 0 &&
         params.penalty_repeat == 1.0F && params.penalty_freq == 0.0F &&
         params.penalty_present == 0.0F && params.dry_multiplier == 0.0F &&
         params.xtc_probability == 0.0F && params.typ_p >= 1.0F && params.logit_bias.empty() &&
         params.grammar.empty() && params.reasoning_budget_tokens < 0 && !params.reasoning_control;
}

bool suppresses_tokens(const llama_vocab* vocab) {
  std::int32_t count = 0;
  llama_vocab_get_suppress_tokens(vocab, &count);
  return count > 0;
}

float log_of_sum_of_exponentials(std::span<const float> logits, float largest) {
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit - largest));
  return largest + static_cast<float>(std::log(sum));
}

// Log-probabilities of the model itself, before any sampler changed them.
void report_logprobs(engine::Sampled& sampled, std::span<const float> logits, int top) {
  const float largest = *std::ranges::max_element(logits);
  const float normaliser = log_of_sum_of_exponentials(logits, largest);
  const auto logprob = [&](Token token) {
    return logits[static_cast<std::size_t>(token)] - normaliser;
  };
  sampled.logprob = logprob(sampled.token);
  std::vector<Token> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto count = std::min<std::size_t>(static_cast<std::size_t>(top), order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](Token a, Token b) { return logprob(a) > logprob(b); });
  for (std::size_t i = 0; i < count; ++i) sampled.top.push_back({order[i], logprob(order[i])});
}

}  // namespace

LlamaSampler::LlamaSampler(common_sampler_ptr chain, std::unique_ptr<LlamaGrammar> grammar,
                           bool only_largest, const engine::SamplingParams& params)
    : chain_(std::move(chain)),
      grammar_(std::move(grammar)),
      only_largest_(only_largest),
      top_logprobs_(params.top_logprobs),
      post_sampling_probs_(params.post_sampling_probs),
      reasoning_control_(params.reasoning_control) {}

LlamaSampler::~LlamaSampler() = default;

Result<std::unique_ptr<LlamaSampler>> LlamaSampler::create(const llama_model* model,
                                                           const GrammarContext& context,
                                                           const engine::SamplingParams& params,
                                                           const LlamaReplyFormat* format) {
  const llama_vocab* vocab = llama_model_get_vocab(model);
  common_params_sampling chain_params;
  copy_numbers(params, chain_params);
  copy_biases(vocab, params, chain_params);
  if (auto order = set_sampler_order(params, chain_params); !order) return order.error();
  if (auto set = set_grammar(params, context.limits, chain_params); !set) return set.error();
  if (format != nullptr) {
    format->constrain(vocab, params, chain_params);
  }
  const bool largest =
      picks_largest(chain_params) && !suppresses_tokens(vocab) && !params.post_sampling_probs;
  try {
    auto grammar = take_grammar(context, chain_params, format);
    if (!grammar) return grammar.error();
    common_sampler_ptr chain(common_sampler_init(model, chain_params));
    return std::unique_ptr<LlamaSampler>(
        new LlamaSampler(std::move(chain), std::move(*grammar), largest, params));
  } catch (const std::exception& failure) {
    return invalid_argument("grammar", std::string("Sampling cannot start: ") + failure.what());
  }
}

void LlamaSampler::accept_prompt(TokenSpan prompt) {
  if (only_largest_) return;
  for (const Token token : prompt) common_sampler_accept(chain_.get(), token, false);
}

Result<void> LlamaSampler::accept(Token token) {
  if (only_largest_) return {};
  if (grammar_) {
    if (auto taken = grammar_->accept(token); !taken) return taken;
  }
  common_sampler_accept(chain_.get(), token, true);
  return {};
}

std::uint32_t LlamaSampler::seed() const { return common_sampler_get_seed(chain_.get()); }

bool LlamaSampler::end_thoughts() {
  return reasoning_control_ && common_sampler_reasoning_budget_force(chain_.get());
}

Result<engine::Sampled> LlamaSampler::sample(llama_context* context, int row,
                                             std::span<const float> logits) {
  engine::Sampled sampled;
  if (only_largest_) {
    sampled.token = static_cast<Token>(std::ranges::max_element(logits) - logits.begin());
  } else {
    try {
      auto token = sample_constrained(context, row);
      if (!token) return token.error();
      sampled.token = *token;
    } catch (const std::exception& failure) {
      return Error{ErrorCode::kEngine, std::string("Sampling failed: ") + failure.what(), ""};
    }
  }
  if (post_sampling_probs_) {
    report_candidates(sampled);
  } else if (top_logprobs_) {
    report_logprobs(sampled, logits, *top_logprobs_);
  }
  return sampled;
}

// Of what the chain has left to choose from.
void LlamaSampler::report_candidates(engine::Sampled& sampled) const {
  const llama_token_data_array* left = common_sampler_get_candidates(chain_.get(), true);
  const auto most = static_cast<std::size_t>(top_logprobs_.value_or(0));
  for (const llama_token_data& candidate : std::span(left->data, left->size)) {
    if (candidate.id == sampled.token) sampled.logprob = std::log(candidate.p);
    if (candidate.p > 0.0F && sampled.top.size() < most) {
      sampled.top.push_back({candidate.id, std::log(candidate.p)});
    }
  }
}

// As the library does it: most tokens match, so one is chosen first and judged then. Only if it
// does not match, all are judged, and one is chosen among those that do.
Result<Token> LlamaSampler::sample_constrained(llama_context* context, int row) {
  const Token free = common_sampler_sample(chain_.get(), context, row);
  if (!grammar_ || !grammar_->applies()) return free;
  const auto matches = grammar_->allows(free);
  if (!matches) return matches.error();
  if (*matches) return free;
  std::vector<bool> allowed;
  const auto any = grammar_->mask(allowed);
  if (!any) return any.error();
  const Token token = sample_among(context, row, allowed);
  if (*any && allowed[static_cast<std::size_t>(token)]) return token;
  return sample_without_match(free);
}

// The chain reads the context's logits, so the others are minus infinity there for a moment.
Token LlamaSampler::sample_among(llama_context* context, int row,
                                 const std::vector<bool>& allowed) {
  float* logits = llama_get_logits_ith(context, row);
  const std::vector<float> kept(logits, logits + allowed.size());
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    if (!allowed[i]) logits[i] = -INFINITY;
  }
  const Token token = common_sampler_sample(chain_.get(), context, row);
  std::ranges::copy(kept, logits);
  return token;
}

// Where 'ignore_eos' or a bias forbids all that would match. After a tool call that is complete,
// the answer goes on as if there were no grammar.
Result<Token> LlamaSampler::sample_without_match(Token free) {
  if (grammar_->lazy() && grammar_->matcher().complete()) {
    grammar_->give_up();
    return free;
  }
  return invalid_argument("logit_bias",
                          "No token can follow: the grammar takes only tokens that 'logit_bias' or "
                          "the model forbids.");
}

}  // namespace holdfast::llama
