#include "api/openai_sampling.h"

#include <charconv>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/openai_fields.h"

namespace holdfast::api {
namespace {

constexpr std::uint32_t kRandomSeed = 0xFFFFFFFF;  // llama.cpp's name for "choose one"
// llama.cpp walks the whole vocabulary for each breaker.
constexpr std::size_t kBreakersMax = 32;
constexpr std::size_t kBreakerBytesMax = 40;
constexpr std::size_t kSamplersMax = 32;
// llama.cpp allocates a penalty window at once, whether it will be used or not.
constexpr std::int64_t kWindowTokensMax = 1 << 20;
constexpr double kBiasMax = 1e6;
// Each is tokenised when the sampler is made.
constexpr std::size_t kBiasTextsMax = 1024;
constexpr std::size_t kBiasTextBytesMax = 256;
constexpr std::size_t kBudgetMessageBytesMax = 4096;

struct FloatField {
  const char* name;
  float engine::SamplingParams::*member;
  double min;
  double max;
};

constexpr FloatField kFloatFields[] = {
    {"temperature", &engine::SamplingParams::temperature, 0, 100},
    {"top_p", &engine::SamplingParams::top_p, 0, 1},
    {"min_p", &engine::SamplingParams::min_p, 0, 1},
    {"typical_p", &engine::SamplingParams::typical_p, 0, 1},
    {"top_n_sigma", &engine::SamplingParams::top_n_sigma, -100, 100},
    {"xtc_probability", &engine::SamplingParams::xtc_probability, 0, 1},
    {"xtc_threshold", &engine::SamplingParams::xtc_threshold, 0, 1},
    {"dynatemp_range", &engine::SamplingParams::dynatemp_range, 0, 100},
    {"dynatemp_exponent", &engine::SamplingParams::dynatemp_exponent, 0, 100},
    // A logit is divided by it, so zero is out.
    {"repetition_penalty", &engine::SamplingParams::repeat_penalty, 0.01, 100},
    {"repeat_penalty", &engine::SamplingParams::repeat_penalty, 0.01, 100},
    {"presence_penalty", &engine::SamplingParams::presence_penalty, -2, 2},
    {"frequency_penalty", &engine::SamplingParams::frequency_penalty, -2, 2},
    {"dry_multiplier", &engine::SamplingParams::dry_multiplier, 0, 100},
    {"dry_base", &engine::SamplingParams::dry_base, 0, 100},
    {"mirostat_tau", &engine::SamplingParams::mirostat_tau, 0, 100},
    {"mirostat_eta", &engine::SamplingParams::mirostat_eta, 0, 100},
};

struct IntField {
  const char* name;
  int engine::SamplingParams::*member;
  std::int64_t min;
  std::int64_t max;
};

constexpr IntField kIntFields[] = {
    {"top_k", &engine::SamplingParams::top_k, -1, kIntMax},
    {"repeat_last_n", &engine::SamplingParams::repeat_last_n, -1, kWindowTokensMax},
    {"dry_allowed_length", &engine::SamplingParams::dry_allowed_length, 0, kIntMax},
    {"dry_penalty_last_n", &engine::SamplingParams::dry_penalty_last_n, -1, kWindowTokensMax},
    {"mirostat", &engine::SamplingParams::mirostat, 0, 2},
    {"min_keep", &engine::SamplingParams::min_keep, 0, kIntMax},
    {"thinking_budget_tokens", &engine::SamplingParams::reasoning_budget_tokens, -1, kIntMax},
    {"reasoning_budget_tokens", &engine::SamplingParams::reasoning_budget_tokens, -1, kIntMax},
};

// The single letters by which llama-server also knows its samplers.
constexpr std::pair<char, const char*> kSamplerLetters[] = {
    {'d', "dry"},   {'k', "top_k"}, {'y', "typ_p"},       {'p', "top_p"},     {'s', "top_n_sigma"},
    {'m', "min_p"}, {'x', "xtc"},   {'t', "temperature"}, {'e', "penalties"},
};

void read_numbers(const JsonFields& body, engine::SamplingParams& sampling) {
  for (const FloatField& field : kFloatFields)
    if (const auto value = body.number(field.name, field.min, field.max))
      sampling.*field.member = static_cast<float>(*value);
  for (const IntField& field : kIntFields)
    if (const auto value = body.integer(field.name, field.min, field.max))
      sampling.*field.member = static_cast<int>(*value);
}

// Values with a meaning of their own: a window of -1 is the whole context, a
// budget of -1 and a dry_base below 1 are the server's.
void resolve_special_values(const engine::SamplingParams& defaults,
                            engine::SamplingParams& sampling) {
  for (int* window : {&sampling.repeat_last_n, &sampling.dry_penalty_last_n})
    if (*window < 0) *window = static_cast<int>(kWindowTokensMax);
  if (sampling.reasoning_budget_tokens < 0)
    sampling.reasoning_budget_tokens = defaults.reasoning_budget_tokens;
  if (sampling.dry_base < 1.0F) sampling.dry_base = defaults.dry_base;
}

// Seeds of OpenAI have 64 bits, llama.cpp's have 32; small ones stay as they are.
std::optional<std::uint32_t> seed_of(std::int64_t seed) {
  if (seed < 0 || seed == kRandomSeed) return std::nullopt;
  const auto folded = static_cast<std::uint32_t>(seed ^ (seed >> 32));
  return folded == kRandomSeed ? 0 : folded;
}

void read_seed(const JsonFields& body, engine::SamplingParams& sampling) {
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  if (const auto seed = body.integer("seed", kMin, kMax)) sampling.seed = seed_of(*seed);
}

const char* sampler_of(char letter) {
  for (const auto& [known, name] : kSamplerLetters)
    if (known == letter) return name;
  return nullptr;
}

std::vector<std::string> samplers_from_letters(const JsonFields& body, const std::string& letters) {
  std::vector<std::string> names;
  for (const char letter : std::string_view(letters).substr(0, kSamplersMax)) {
    const char* name = sampler_of(letter);
    if (name == nullptr)
      body.fail("samplers", "has a letter that is not one of: d k y p s m x t e");
    else
      names.emplace_back(name);
  }
  return names;
}

void read_samplers(const JsonFields& body, engine::SamplingParams& sampling) {
  const Json* value = body.find("samplers");
  if (value == nullptr) return;
  if (value->is_string())
    sampling.samplers = samplers_from_letters(body, value->get_ref<const std::string&>());
  else
    sampling.samplers = body.texts("samplers", kSamplersMax, 64).value_or(sampling.samplers);
}

std::optional<std::int64_t> integer_of(std::string_view digits) {
  std::int64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, problem] = std::from_chars(digits.data(), end, value);
  if (problem != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::optional<float> bias_of(const Json& value) {
  if (value.is_boolean() && !value.get<bool>()) return -std::numeric_limits<float>::infinity();
  if (!value.is_number()) return std::nullopt;
  const auto bias = value.get<double>();
  if (bias < -kBiasMax || bias > kBiasMax) return std::nullopt;
  return static_cast<float>(bias);
}

// A token's id, or a text whose tokens are meant.
struct BiasTarget {
  std::optional<std::int64_t> id;
  std::string_view text;
};

void add_bias(const JsonFields& body, const BiasTarget& target, const Json& value,
              const ChatDefaults& defaults, engine::SamplingParams& sampling) {
  const std::optional<float> bias = bias_of(value);
  const std::optional<Token> token = token_of(target.id, defaults);
  if (!bias)
    body.fail("logit_bias", "must give numbers from -1e6 to 1e6, or false, as biases");
  else if (token)
    sampling.logit_bias.emplace_back(*token, *bias);
  else if (target.id || target.text.empty() || target.text.size() > kBiasTextBytesMax)
    body.fail("logit_bias",
              "must name tokens by ids of the vocabulary, or by texts of 1 to 256 bytes");
  else if (sampling.text_bias.size() >= kBiasTextsMax)
    body.fail("logit_bias", "may hold at most 1024 texts; name tokens by their ids");
  else
    sampling.text_bias.emplace_back(target.text, *bias);
}

BiasTarget target_of(const Json& value) {
  if (value.is_string()) return {std::nullopt, value.get_ref<const std::string&>()};
  return {exact_integer(value), {}};
}

// {"15043": -100, "2": false, "Hello": 1}, or [[15043, -100], [2, false], ["Hello", 1]].
void read_logit_bias(const JsonFields& body, const ChatDefaults& defaults,
                     engine::SamplingParams& sampling) {
  const Json* bias = body.find("logit_bias");
  if (bias == nullptr) return;
  sampling.logit_bias.clear();
  sampling.text_bias.clear();
  if (bias->is_object()) {
    for (const auto& [key, value] : bias->items())
      add_bias(body, {integer_of(key), key}, value, defaults, sampling);
    return;
  }
  if (!bias->is_array()) return body.fail("logit_bias", "must be an object");
  for (const Json& pair : *bias) {
    if (!pair.is_array() || pair.size() != 2)
      return body.fail("logit_bias", "must hold pairs of token id and bias");
    add_bias(body, target_of(pair[0]), pair[1], defaults, sampling);
  }
}

// How thoughts may be cut off.
void read_thoughts(const JsonFields& body, engine::SamplingParams& sampling) {
  sampling.reasoning_control =
      body.boolean("reasoning_control").value_or(sampling.reasoning_control);
  auto message = body.text("reasoning_budget_message");
  if (!message) return;
  if (message->size() > kBudgetMessageBytesMax)
    body.fail("reasoning_budget_message", "may have at most 4096 bytes");
  sampling.reasoning_budget_message = std::move(*message);
}

}  // namespace

engine::SamplingParams read_sampling(const JsonFields& body, const ChatDefaults& defaults) {
  engine::SamplingParams sampling = defaults.sampling;
  read_numbers(body, sampling);
  resolve_special_values(defaults.sampling, sampling);
  read_seed(body, sampling);
  read_samplers(body, sampling);
  read_logit_bias(body, defaults, sampling);
  read_thoughts(body, sampling);
  sampling.ignore_eos = body.boolean("ignore_eos").value_or(sampling.ignore_eos);
  if (auto breakers = body.texts("dry_sequence_breakers", kBreakersMax, kBreakerBytesMax))
    sampling.dry_sequence_breakers = std::move(*breakers);
  return sampling;
}

}  // namespace holdfast::api
