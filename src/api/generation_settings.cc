#include "api/generation_settings.h"

#include <cmath>
#include <limits>

#include "api/json_fields.h"

namespace holdfast::api {
namespace {

constexpr std::int64_t kRandomSeed = 0xFFFFFFFF;  // llama.cpp's name for "choose one"

// llama-server's names of the chain that is used where a request names none.
const std::vector<std::string> kDefaultSamplers = {
    "penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature"};

void append_texts(std::string& out, const std::vector<std::string>& texts) {
  append_array(out, texts, [&](const std::string& text) { append_json_string(out, text); });
}

void append_bias(std::string& out, Token token, float bias) {
  ObjectWriter object(out);
  object.integer("token", token);
  object.real("bias", static_cast<double>(bias));  // minus infinity is null
}

void append_biases(std::string& out, const engine::SamplingParams& sampling,
                   const std::vector<Token>& end_tokens) {
  auto biases = sampling.logit_bias;
  if (sampling.ignore_eos) {
    for (const Token token : end_tokens)
      biases.emplace_back(token, -std::numeric_limits<float>::infinity());
  }
  append_array(out, biases, [&](const auto& bias) { append_bias(out, bias.first, bias.second); });
}

void append_numbers(ObjectWriter& object, const engine::SamplingParams& sampling) {
  object.integer("seed", sampling.seed ? std::int64_t{*sampling.seed} : kRandomSeed);
  object.real("temperature", sampling.temperature);
  object.real("dynatemp_range", sampling.dynatemp_range);
  object.real("dynatemp_exponent", sampling.dynatemp_exponent);
  object.integer("top_k", sampling.top_k);
  object.real("top_p", sampling.top_p);
  object.real("min_p", sampling.min_p);
  object.real("top_n_sigma", sampling.top_n_sigma);
  object.real("xtc_probability", sampling.xtc_probability);
  object.real("xtc_threshold", sampling.xtc_threshold);
  object.real("typical_p", sampling.typical_p);
  object.integer("repeat_last_n", sampling.repeat_last_n);
  object.real("repeat_penalty", sampling.repeat_penalty);
  object.real("presence_penalty", sampling.presence_penalty);
  object.real("frequency_penalty", sampling.frequency_penalty);
  object.real("dry_multiplier", sampling.dry_multiplier);
  object.real("dry_base", sampling.dry_base);
  object.integer("dry_allowed_length", sampling.dry_allowed_length);
  object.integer("dry_penalty_last_n", sampling.dry_penalty_last_n);
  object.integer("mirostat", sampling.mirostat);
  object.real("mirostat_tau", sampling.mirostat_tau);
  object.real("mirostat_eta", sampling.mirostat_eta);
  object.real("adaptive_target", -1.0);  // off
  object.real("adaptive_decay", 0.9);
  object.integer("min_keep", sampling.min_keep);
  object.integer("n_probs", sampling.top_logprobs.value_or(0));
}

// What this server has in one way only.
void append_constants(ObjectWriter& object) {
  object.integer("n_keep", 0);
  object.integer("n_discard", 0);
  object.raw("grammar_lazy", "false");
  object.raw("grammar_triggers", "[]");
  object.raw("preserved_tokens", "[]");
  object.text("chat_format", "Content-only");
  object.text("reasoning_format", "none");
  object.raw("reasoning_in_content", "false");
  object.text("generation_prompt", "");
  object.raw("backend_sampling", "false");
  object.raw("lora", "[]");
}

}  // namespace

void append_generation_settings(std::string& out, const CompletionOptions& options,
                                const std::string& companion,
                                const std::vector<Token>& end_tokens) {
  const engine::SamplingParams& sampling = options.sampling;
  ObjectWriter object(out);
  append_numbers(object, sampling);
  append_texts(object.key("dry_sequence_breakers"), sampling.dry_sequence_breakers);
  append_texts(object.key("stop"), options.stops);
  object.integer("max_tokens", options.max_tokens);
  object.integer("n_predict", options.max_tokens);
  object.raw("ignore_eos", sampling.ignore_eos ? "true" : "false");
  object.raw("stream", options.stream ? "true" : "false");
  append_biases(object.key("logit_bias"), sampling, end_tokens);
  object.text("grammar", sampling.grammar);
  append_texts(object.key("samplers"),
               sampling.samplers.empty() ? kDefaultSamplers : sampling.samplers);
  object.text("speculative.types",
              options.draft.max > 0 && !companion.empty() ? companion : "none");
  object.raw("timings_per_token", options.timings_per_token ? "true" : "false");
  object.raw("post_sampling_probs", sampling.post_sampling_probs ? "true" : "false");
  append_constants(object);
}

}  // namespace holdfast::api
