#include "api/openai_request.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/json_fields.h"

namespace holdfast {
namespace {

constexpr std::int64_t kIntMax = std::numeric_limits<std::int32_t>::max();
constexpr std::uint32_t kRandomSeed = 0xFFFFFFFF;  // llama.cpp's name for "choose one"
// Every generated character is compared with every stop string.
constexpr std::size_t kStopsMax = 32;
constexpr std::size_t kStopBytesMax = 1024;
// llama.cpp walks the whole vocabulary for each breaker.
constexpr std::size_t kBreakersMax = 32;
constexpr std::size_t kBreakerBytesMax = 40;
constexpr std::size_t kSamplersMax = 32;
// llama.cpp allocates a penalty window at once, whether it will be used or not.
constexpr std::int64_t kWindowTokensMax = 1 << 20;
constexpr std::int64_t kTopLogprobsMax = 20;
constexpr double kBiasMax = 1e6;
constexpr std::int64_t kTimeoutMsMax = 24LL * 3600 * 1000;
// llama.cpp's grammar parser recurses per group and per chain of rules.
constexpr std::size_t kGrammarBytesMax = 128 * 1024;
constexpr int kGrammarDepthMax = 256;

// --- Sampling ---------------------------------------------------------------

struct FloatField {
  const char* name;
  float SamplingParams::*member;
  double min;
  double max;
};

constexpr FloatField kFloatFields[] = {
    {"temperature", &SamplingParams::temperature, 0, 100},
    {"top_p", &SamplingParams::top_p, 0, 1},
    {"min_p", &SamplingParams::min_p, 0, 1},
    {"typical_p", &SamplingParams::typical_p, 0, 1},
    {"top_n_sigma", &SamplingParams::top_n_sigma, -100, 100},
    {"xtc_probability", &SamplingParams::xtc_probability, 0, 1},
    {"xtc_threshold", &SamplingParams::xtc_threshold, 0, 1},
    {"dynatemp_range", &SamplingParams::dynatemp_range, 0, 100},
    {"dynatemp_exponent", &SamplingParams::dynatemp_exponent, 0, 100},
    // A logit is divided by it, so zero is out.
    {"repetition_penalty", &SamplingParams::repeat_penalty, 0.01, 100},
    {"repeat_penalty", &SamplingParams::repeat_penalty, 0.01, 100},
    {"presence_penalty", &SamplingParams::presence_penalty, -2, 2},
    {"frequency_penalty", &SamplingParams::frequency_penalty, -2, 2},
    {"dry_multiplier", &SamplingParams::dry_multiplier, 0, 100},
    {"dry_base", &SamplingParams::dry_base, 0, 100},
    {"mirostat_tau", &SamplingParams::mirostat_tau, 0, 100},
    {"mirostat_eta", &SamplingParams::mirostat_eta, 0, 100},
};

struct IntField {
  const char* name;
  int SamplingParams::*member;
  std::int64_t min;
  std::int64_t max;
};

constexpr IntField kIntFields[] = {
    {"top_k", &SamplingParams::top_k, -1, kIntMax},
    {"repeat_last_n", &SamplingParams::repeat_last_n, -1, kWindowTokensMax},
    {"dry_allowed_length", &SamplingParams::dry_allowed_length, 0, kIntMax},
    {"dry_penalty_last_n", &SamplingParams::dry_penalty_last_n, -1, kWindowTokensMax},
    {"mirostat", &SamplingParams::mirostat, 0, 2},
    {"min_keep", &SamplingParams::min_keep, 0, kIntMax},
    {"thinking_budget_tokens", &SamplingParams::reasoning_budget_tokens, -1, kIntMax},
    {"reasoning_budget_tokens", &SamplingParams::reasoning_budget_tokens, -1, kIntMax},
};

// The single letters by which llama-server also knows its samplers.
constexpr std::pair<char, const char*> kSamplerLetters[] = {
    {'d', "dry"},   {'k', "top_k"}, {'y', "typ_p"},       {'p', "top_p"},     {'s', "top_n_sigma"},
    {'m', "min_p"}, {'x', "xtc"},   {'t', "temperature"}, {'e', "penalties"},
};

void read_numbers(const JsonFields& body, SamplingParams& sampling) {
  for (const FloatField& field : kFloatFields)
    if (const auto value = body.number(field.name, field.min, field.max))
      sampling.*field.member = static_cast<float>(*value);
  for (const IntField& field : kIntFields)
    if (const auto value = body.integer(field.name, field.min, field.max))
      sampling.*field.member = static_cast<int>(*value);
}

// Values with a meaning of their own: a window of -1 is the whole context, a
// budget of -1 and a dry_base below 1 are the server's.
void resolve_special_values(const SamplingParams& defaults, SamplingParams& sampling) {
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

void read_seed(const JsonFields& body, SamplingParams& sampling) {
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

void read_samplers(const JsonFields& body, SamplingParams& sampling) {
  const Json* value = body.find("samplers");
  if (value == nullptr) return;
  if (value->is_string())
    sampling.samplers = samplers_from_letters(body, value->get_ref<const std::string&>());
  else
    sampling.samplers = body.texts("samplers", kSamplersMax, 64).value_or(sampling.samplers);
}

// nullopt when `id` is no token of the vocabulary.
std::optional<Token> token_of(std::optional<std::int64_t> id, const ChatDefaults& defaults) {
  const std::int64_t end = defaults.vocabulary > 0 ? defaults.vocabulary : kIntMax;
  if (!id || *id < 0 || *id >= end) return std::nullopt;
  return static_cast<Token>(*id);
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

void add_bias(const JsonFields& body, std::optional<Token> token, const Json& value,
              SamplingParams& sampling) {
  const std::optional<float> bias = bias_of(value);
  if (!token)
    body.fail("logit_bias", "must name tokens by ids of the vocabulary");
  else if (!bias)
    body.fail("logit_bias", "must give numbers from -1e6 to 1e6, or false, as biases");
  else
    sampling.logit_bias.emplace_back(*token, *bias);
}

// {"15043": -100, "2": false}, or [[15043, -100], [2, false]].
void read_logit_bias(const JsonFields& body, const ChatDefaults& defaults,
                     SamplingParams& sampling) {
  const Json* bias = body.find("logit_bias");
  if (bias == nullptr) return;
  sampling.logit_bias.clear();
  if (bias->is_object()) {
    for (const auto& [key, value] : bias->items())
      add_bias(body, token_of(integer_of(key), defaults), value, sampling);
    return;
  }
  if (!bias->is_array()) return body.fail("logit_bias", "must be an object");
  for (const Json& pair : *bias) {
    if (!pair.is_array() || pair.size() != 2)
      return body.fail("logit_bias", "must hold pairs of token id and bias");
    add_bias(body, token_of(exact_integer(pair[0]), defaults), pair[1], sampling);
  }
}

SamplingParams read_sampling(const JsonFields& body, const ChatDefaults& defaults) {
  SamplingParams sampling = defaults.sampling;
  read_numbers(body, sampling);
  resolve_special_values(defaults.sampling, sampling);
  read_seed(body, sampling);
  read_samplers(body, sampling);
  read_logit_bias(body, defaults, sampling);
  sampling.ignore_eos = body.boolean("ignore_eos").value_or(sampling.ignore_eos);
  if (auto breakers = body.texts("dry_sequence_breakers", kBreakersMax, kBreakerBytesMax))
    sampling.dry_sequence_breakers = std::move(*breakers);
  return sampling;
}

// --- Options ----------------------------------------------------------------

TokenPos read_max_tokens(const JsonFields& body, const ChatDefaults& defaults) {
  std::int64_t limit = defaults.max_tokens;
  for (const char* name : {"max_tokens", "max_completion_tokens", "n_predict"})
    limit = body.integer(name, -1, std::int64_t{1} << 53).value_or(limit);
  return static_cast<TokenPos>(std::min(limit, kIntMax));
}

std::vector<std::string> read_stops(const JsonFields& body) {
  const Json* stop = body.find("stop");
  if (stop == nullptr) return {};
  if (!stop->is_string())
    return body.texts("stop", kStopsMax, kStopBytesMax).value_or(std::vector<std::string>{});
  const auto& text = stop->get_ref<const std::string&>();
  if (text.empty() || text.size() > kStopBytesMax) body.fail("stop", "must have 1 to 1024 bytes");
  return {text};
}

int read_n(const JsonFields& body, const ChatDefaults& defaults) {
  const char* name = body.has("n") ? "n" : "n_cmpl";
  const std::int64_t n = body.integer(name, 1, defaults.n_max).value_or(1);
  const std::int64_t best_of = body.integer("best_of", 1, kIntMax).value_or(1);
  if (best_of != 1 && best_of != n) body.fail("best_of", "must be 1 or equal to n");
  return static_cast<int>(n);
}

std::chrono::milliseconds read_timeout(const JsonFields& body, const ChatDefaults& defaults) {
  const std::chrono::milliseconds asked(body.integer("timeout_ms", 0, kTimeoutMsMax).value_or(0));
  if (asked.count() == 0 || defaults.timeout.count() == 0) return std::max(asked, defaults.timeout);
  return std::min(asked, defaults.timeout);
}

std::optional<int> read_id_slot(const JsonFields& body) {
  const auto slot = body.integer("id_slot", -1, kIntMax);
  if (!slot || *slot < 0) return std::nullopt;
  return static_cast<int>(*slot);
}

bool read_include_usage(const JsonFields& body) {
  const auto options = body.object("stream_options");
  return options && options->boolean("include_usage").value_or(false);
}

CompletionOptions read_options(const JsonFields& body, const ChatDefaults& defaults) {
  CompletionOptions options;
  options.model = body.text("model").value_or("");
  options.sampling = read_sampling(body, defaults);
  options.n = read_n(body, defaults);
  options.max_tokens = read_max_tokens(body, defaults);
  options.stops = read_stops(body);
  options.stream = body.boolean("stream").value_or(false);
  options.include_usage = read_include_usage(body);
  options.return_progress = body.boolean("return_progress").value_or(false);
  options.timings_per_token = body.boolean("timings_per_token").value_or(false);
  options.reuse = body.boolean("cache_prompt").value_or(true);
  options.id_slot = read_id_slot(body);
  options.timeout = read_timeout(body, defaults);
  return options;
}

std::optional<int> read_chat_logprobs(const JsonFields& body) {
  const bool wanted = body.boolean("logprobs").value_or(false);
  const auto top = body.integer("top_logprobs", 0, kTopLogprobsMax).value_or(0);
  if (wanted) return static_cast<int>(top);
  if (top > 0) body.fail("top_logprobs", "needs 'logprobs' to be true");
  return std::nullopt;
}

// Plain completions count the alternatives; some clients send a bool all the same.
std::optional<int> read_text_logprobs(const JsonFields& body) {
  const Json* value = body.find("logprobs");
  if (value != nullptr && value->is_boolean())
    return value->get<bool>() ? std::optional<int>(0) : std::nullopt;
  auto top = body.integer("logprobs", 0, kTopLogprobsMax);
  if (const auto probs = body.integer("n_probs", 0, kTopLogprobsMax); probs && !top)
    top = *probs > 0 ? probs : std::nullopt;
  if (!top) return std::nullopt;
  return static_cast<int>(*top);
}

// --- Grammar and schema -----------------------------------------------------

// Text that the reply must match. At most one of the two is set.
struct Constraint {
  std::string grammar;
  std::string json_schema;
};

int deepest_group(std::string_view grammar) {
  int depth = 0;
  int deepest = 0;
  for (const char c : grammar) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    deepest = std::max(deepest, depth);
  }
  return deepest;
}

std::string read_grammar(const JsonFields& body) {
  std::string grammar = body.text("grammar").value_or("");
  if (grammar.size() > kGrammarBytesMax)
    body.fail("grammar", "may have at most 131072 bytes");
  else if (deepest_group(grammar) > kGrammarDepthMax)
    body.fail("grammar", "may nest groups at most 256 deep");
  return grammar;
}

// Schema text; empty when the field is absent. A schema without any rule means
// "an object", as in llama-server.
std::string read_schema(const JsonFields& fields, std::string_view name) {
  const Json* schema = fields.find(name);
  if (schema == nullptr || !fields.object(name)) return "";
  return schema->empty() ? R"({"type":"object"})" : json_text(*schema);
}

std::string read_wrapped_schema(const JsonFields& format) {
  const auto wrapper = format.object("json_schema");
  return wrapper ? read_schema(*wrapper, "schema") : "";
}

// The schema that `response_format` asks for; `fallback` is the field json_schema.
std::string read_response_format(const JsonFields& body, std::string fallback) {
  constexpr std::string_view kTypes[] = {"text", "json_object", "json_schema"};
  const auto format = body.object("response_format");
  if (!format) return fallback;
  if (!format->has("type")) format->fail("type", "is required");
  const std::string type = format->choice("type", kTypes).value_or("text");
  if (type == "text") return fallback;
  std::string schema =
      type == "json_schema" ? read_wrapped_schema(*format) : read_schema(*format, "schema");
  if (!schema.empty()) return schema;
  return fallback.empty() ? R"({"type":"object"})" : fallback;
}

Constraint read_constraint(const JsonFields& body) {
  Constraint constraint;
  constraint.grammar = read_grammar(body);
  constraint.json_schema = read_response_format(body, read_schema(body, "json_schema"));
  if (!constraint.grammar.empty() && !constraint.json_schema.empty())
    body.fail("grammar", "cannot be combined with a JSON schema");
  return constraint;
}

// --- Tools ------------------------------------------------------------------

struct Tool {
  std::string name;
  std::string json;
};

struct ToolChoice {
  std::string mode = "auto";
  // Only these may be called, when set.
  std::optional<std::vector<std::string>> names;
};

std::string required_name(const JsonFields& fields) {
  const std::optional<std::string> name = fields.text("name");
  if (!name || name->empty()) fields.fail("name", "must be a non-empty string");
  return name.value_or("");
}

// OpenAI: without parameters a function takes none. Templates want to see that.
std::string read_parameters(const JsonFields& function) {
  const Json* parameters = function.find("parameters");
  if (parameters == nullptr || !function.object("parameters"))
    return R"({"type":"object","properties":{}})";
  return json_text(*parameters);
}

Tool read_function(const JsonFields& function) {
  Tool tool{.name = required_name(function), .json = {}};
  const auto description = function.text("description");
  const std::string parameters = read_parameters(function);
  ObjectWriter outer(tool.json);
  outer.text("type", "function");
  ObjectWriter inner(outer.key("function"));
  inner.text("name", tool.name);
  if (description) inner.text("description", *description);
  inner.raw("parameters", parameters);
  return tool;
}

// nullopt for the kinds that only OpenAI's own servers run (web_search, ...).
std::optional<Tool> read_tool(const JsonFields& tool) {
  const std::optional<std::string> type = tool.text("type");
  if (!type) tool.fail("type", "is required");
  if (type != "function") return std::nullopt;
  const auto function = tool.object("function");
  if (function) return read_function(*function);
  tool.fail("function", "is required");
  return std::nullopt;
}

std::vector<Tool> read_tools(const JsonFields& body) {
  std::vector<Tool> tools;
  const Json* array = body.array("tools");
  const std::size_t count = array == nullptr ? 0 : array->size();
  for (std::size_t i = 0; i < count && body.error().empty(); ++i) {
    const auto fields = body.element(*array, "tools", i);
    auto tool = fields ? read_tool(*fields) : std::nullopt;
    if (tool) tools.push_back(std::move(*tool));
  }
  return tools;
}

// {"type":"function","function":{"name":...}}
void read_chosen_name(const JsonFields& chosen, ToolChoice& choice) {
  const auto function = chosen.object("function");
  if (!function) return chosen.fail("function", "is required");
  choice.names.value().push_back(required_name(*function));
}

// {"type":"allowed_tools","allowed_tools":{"mode":...,"tools":[...]}}
void read_allowed_tools(const JsonFields& chosen, ToolChoice& choice) {
  constexpr std::string_view kModes[] = {"auto", "required"};
  const auto allowed = chosen.object("allowed_tools");
  if (!allowed) return chosen.fail("allowed_tools", "is required");
  choice.mode = allowed->choice("mode", kModes).value_or("auto");
  const Json* tools = allowed->array("tools");
  if (tools == nullptr) return allowed->fail("tools", "is required");
  for (std::size_t i = 0; i < tools->size() && chosen.error().empty(); ++i)
    if (const auto tool = allowed->element(*tools, "tools", i)) read_chosen_name(*tool, choice);
}

ToolChoice read_chosen_tools(const JsonFields& chosen) {
  constexpr std::string_view kTypes[] = {"function", "allowed_tools"};
  ToolChoice choice{.mode = "required", .names = std::vector<std::string>{}};
  if (!chosen.has("type")) chosen.fail("type", "is required");
  const std::string type = chosen.choice("type", kTypes).value_or("");
  if (type == "function") read_chosen_name(chosen, choice);
  if (type == "allowed_tools") read_allowed_tools(chosen, choice);
  return choice;
}

ToolChoice read_tool_choice(const JsonFields& body) {
  constexpr std::string_view kModes[] = {"auto", "none", "required"};
  const Json* value = body.find("tool_choice");
  if (value == nullptr) return {};
  if (value->is_object()) return read_chosen_tools(*body.object("tool_choice"));
  return {.mode = body.choice("tool_choice", kModes).value_or("auto"), .names = std::nullopt};
}

// Leaves the tools that were chosen; each chosen name has to be a tool.
void keep_chosen(const JsonFields& body, const ToolChoice& choice, std::vector<Tool>& tools) {
  if (!choice.names) return;
  const auto& names = *choice.names;
  for (const std::string& name : names)
    if (std::ranges::find(tools, name, &Tool::name) == tools.end())
      body.fail("tool_choice", "names a function that is not in 'tools'");
  std::erase_if(
      tools, [&](const Tool& tool) { return std::ranges::find(names, tool.name) == names.end(); });
}

void append_list(std::string& out, const std::vector<Tool>& tools) {
  for (const Tool& tool : tools) {
    out += out.empty() ? "[" : ",";
    out += tool.json;
  }
  if (!out.empty()) out += ']';
}

// The predecessors of tools answer in another shape, which we do not write.
void refuse_legacy_functions(const JsonFields& body) {
  const Json* functions = body.find("functions");
  if (functions != nullptr && !functions->empty())
    body.fail("functions", "is no longer supported; use 'tools'");
  const Json* call = body.find("function_call");
  if (call != nullptr && *call != "auto" && *call != "none")
    body.fail("function_call", "is no longer supported; use 'tool_choice'");
}

void read_tool_fields(const JsonFields& body, ChatInput& input) {
  refuse_legacy_functions(body);
  std::vector<Tool> tools = read_tools(body);
  const ToolChoice choice = read_tool_choice(body);
  keep_chosen(body, choice, tools);
  if (choice.mode == "required" && tools.empty()) body.fail("tool_choice", "needs 'tools'");
  append_list(input.tools_json, tools);
  input.tool_choice = choice.mode;
  input.parallel_tool_calls = body.boolean("parallel_tool_calls");
}

// --- Messages ---------------------------------------------------------------

// What the rules about the end of a conversation need to know of a message.
struct MessageTrait {
  bool assistant = false;
  bool tool_calls = false;
};

// Content as it was given: a string is one text.
struct Content {
  bool present = false;
  std::vector<std::string> texts;
  std::string thinking;
};

std::string required_text(const JsonFields& fields, std::string_view name) {
  if (!fields.has(name)) fields.fail(name, "is required");
  return fields.text(name).value_or("");
}

void read_part(const JsonFields& part, Content& content) {
  const std::string type = required_text(part, "type");
  if (type == "text" || type == "input_text" || type == "output_text")
    content.texts.push_back(required_text(part, "text"));
  else if (type == "refusal")
    content.texts.push_back(required_text(part, "refusal"));
  else if (type == "thinking")
    content.thinking += required_text(part, "thinking");
  else
    part.fail("type", "is not a text type; this server reads text only");
}

Content read_parts(const JsonFields& message, const Json& parts) {
  Content content{.present = true, .texts = {}, .thinking = {}};
  for (std::size_t i = 0; i < parts.size() && message.error().empty(); ++i)
    if (const auto part = message.element(parts, "content", i)) read_part(*part, content);
  return content;
}

Content read_content(const JsonFields& message) {
  const Json* value = message.find("content");
  if (value == nullptr) return {};
  if (value->is_string())
    return {.present = true, .texts = {value->get_ref<const std::string&>()}, .thinking = {}};
  if (value->is_array()) return read_parts(message, *value);
  message.fail("content", "must be a string or an array of parts");
  return {};
}

void append_parts(std::string& out, const std::vector<std::string>& texts) {
  out += '[';
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) out += ',';
    ObjectWriter part(out);
    part.text("type", "text");
    part.text("text", texts[i]);
  }
  out += ']';
}

// One part is written as a string: templates without typed content are many.
void append_content(std::string& out, const Content& content) {
  if (content.texts.size() > 1)
    append_parts(out, content.texts);
  else
    append_json_string(out, content.texts.empty() ? "" : content.texts.front());
}

bool is_json_object(std::string_view text) {
  const Result<Json> parsed = parse_json(text);
  return parsed.ok() && parsed->is_object();
}

// Arguments come back exactly as the model wrote them, so that the prompt stays
// the same. A model may have written nonsense; templates that read an object
// must not fail on it for the rest of the conversation.
std::string object_text(const std::string& arguments) {
  if (is_json_object(arguments)) return arguments;
  if (arguments.find_first_not_of(" \t\r\n") == std::string::npos || arguments == "null")
    return "{}";
  std::string wrapped;
  ObjectWriter(wrapped).text("raw_arguments", arguments);
  return wrapped;
}

std::string read_arguments(const JsonFields& function) {
  const Json* arguments = function.find("arguments");
  if (arguments == nullptr) return "{}";
  if (arguments->is_object()) return json_text(*arguments);
  return object_text(function.text("arguments").value_or(""));
}

void append_call(std::string& out, const JsonFields& function,
                 const std::optional<std::string>& id) {
  const std::string name = required_name(function);
  const std::string arguments = read_arguments(function);
  ObjectWriter call(out);
  if (id) call.text("id", *id);
  call.text("type", "function");
  ObjectWriter inner(call.key("function"));
  inner.text("name", name);
  inner.text("arguments", arguments);
}

void append_tool_call(std::string& out, const JsonFields& call) {
  constexpr std::string_view kTypes[] = {"function"};
  const auto id = call.text("id");
  const auto type = call.choice("type", kTypes);
  const auto function = call.object("function");
  if (!function) return call.fail("function", "is required");
  append_call(out, *function, id);
}

// Legacy calls have no id; the name ties a call to its answer.
std::string legacy_call_id(const std::string& name) { return "call_" + name; }

// A JSON array, or empty text when the message calls nothing.
std::string read_tool_calls(const JsonFields& message) {
  std::string out;
  const Json* calls = message.array("tool_calls");
  const std::size_t count = calls == nullptr ? 0 : calls->size();
  for (std::size_t i = 0; i < count && message.error().empty(); ++i) {
    out += i == 0 ? "[" : ",";
    if (const auto call = message.element(*calls, "tool_calls", i)) append_tool_call(out, *call);
  }
  if (count > 0) return out + ']';
  const auto legacy = message.object("function_call");
  if (!legacy) return "";
  append_call(out += '[', *legacy, legacy_call_id(legacy->text("name").value_or("")));
  return out + ']';
}

std::string read_reasoning(const JsonFields& message, const Content& content) {
  auto reasoning = message.text("reasoning_content");
  if (!reasoning) reasoning = message.text("reasoning");
  return reasoning.value_or(content.thinking);
}

// A refusal stands in for content that OpenAI sent as null.
void use_refusal(const JsonFields& message, Content& content) {
  auto refusal = message.text("refusal");
  if (!refusal || content.present) return;
  content = {.present = true, .texts = {std::move(*refusal)}, .thinking = {}};
}

// Returns whether the message calls tools.
bool append_assistant_fields(ObjectWriter& out, const JsonFields& message) {
  Content content = read_content(message);
  use_refusal(message, content);
  const std::string calls = read_tool_calls(message);
  const std::string reasoning = read_reasoning(message, content);
  if (!content.present && calls.empty() && reasoning.empty())
    message.fail("content", "is required unless there are tool_calls or reasoning_content");
  append_content(out.key("content"), content);
  if (!reasoning.empty()) out.text("reasoning_content", reasoning);
  if (!calls.empty()) out.raw("tool_calls", calls);
  return !calls.empty();
}

void append_plain_content(ObjectWriter& out, const JsonFields& message) {
  const Content content = read_content(message);
  if (!content.present) message.fail("content", "is required");
  append_content(out.key("content"), content);
}

void append_tool_call_id(ObjectWriter& out, const JsonFields& message, bool legacy) {
  out.text("tool_call_id", legacy ? legacy_call_id(required_text(message, "name"))
                                  : required_text(message, "tool_call_id"));
}

std::string read_role(const JsonFields& message) {
  constexpr std::string_view kRoles[] = {"system",    "developer", "user",
                                         "assistant", "tool",      "function"};
  if (!message.has("role")) message.fail("role", "is required");
  return message.choice("role", kRoles).value_or("");
}

MessageTrait append_message(std::string& out, const JsonFields& message) {
  const std::string role = read_role(message);
  const bool answers_call = role == "tool" || role == "function";
  MessageTrait trait{.assistant = role == "assistant", .tool_calls = false};
  ObjectWriter writer(out);
  writer.text("role", answers_call ? "tool" : role == "developer" ? "system" : role);
  if (trait.assistant)
    trait.tool_calls = append_assistant_fields(writer, message);
  else
    append_plain_content(writer, message);
  if (const auto name = message.text("name")) writer.text("name", *name);
  if (answers_call) append_tool_call_id(writer, message, role == "function");
  return trait;
}

std::vector<MessageTrait> read_messages(const JsonFields& body, ChatInput& input) {
  std::vector<MessageTrait> traits;
  const Json* messages = body.array("messages");
  if (messages == nullptr || messages->empty()) body.fail("messages", "must be a non-empty array");
  const std::size_t count = messages == nullptr ? 0 : messages->size();
  input.messages_json = "[";
  for (std::size_t i = 0; i < count && body.error().empty(); ++i) {
    if (i > 0) input.messages_json += ',';
    if (const auto message = body.element(*messages, "messages", i))
      traits.push_back(append_message(input.messages_json, *message));
  }
  input.messages_json += ']';
  return traits;
}

// --- Continuation and reasoning ---------------------------------------------

// A bool, or the name of the field to go on with, which the template finds itself.
std::optional<bool> read_continue(const JsonFields& body) {
  const Json* value = body.find("continue_final_message");
  if (value != nullptr && (*value == "content" || *value == "reasoning_content")) return true;
  return body.boolean("continue_final_message");
}

void check_continuable(const JsonFields& body, const std::vector<MessageTrait>& traits) {
  const std::size_t count = traits.size();
  if (count >= 2 && traits[count - 2].assistant)
    body.fail("messages", "must not end with two assistant messages");
  if (traits.back().tool_calls)
    body.fail("messages", "must not end with an assistant message that calls tools");
}

// As in llama-server, a final assistant message is continued unless the client
// says no.
void read_continuation(const JsonFields& body, const std::vector<MessageTrait>& traits,
                       ChatInput& input) {
  const auto asked = read_continue(body);
  const auto generation = body.boolean("add_generation_prompt");
  const bool possible = !traits.empty() && traits.back().assistant;
  if (asked == true && generation == true)
    body.fail("continue_final_message", "cannot be combined with add_generation_prompt");
  if (asked == true && !possible)
    body.fail("continue_final_message", "needs an assistant message at the end");
  input.continue_final_message = possible && asked.value_or(true);
  input.add_generation_prompt = !input.continue_final_message && generation.value_or(true);
  if (input.continue_final_message) check_continuable(body, traits);
}

void read_template_kwargs(const JsonFields& body, ChatInput& input) {
  const auto kwargs = body.object("chat_template_kwargs");
  if (!kwargs) return;
  (void)kwargs->boolean("enable_thinking");  // a string would read as "on" in templates
  for (const auto& [name, value] : body.find("chat_template_kwargs")->items())
    if (!value.is_null()) input.template_kwargs[name] = json_text(value);
}

void read_effort(const JsonFields& body, ChatInput& input) {
  const std::string effort = body.text("reasoning_effort").value_or("");
  if (effort.empty()) return;
  input.template_kwargs.erase("reasoning_effort");
  if (effort == "none")
    input.enable_thinking = false;
  else
    append_json_string(input.template_kwargs["reasoning_effort"], effort);
}

void read_reasoning_fields(const JsonFields& body, const ChatDefaults& defaults, ChatInput& input) {
  constexpr std::string_view kFormats[] = {"none", "auto", "deepseek", "deepseek-legacy"};
  input.reasoning_format =
      body.choice("reasoning_format", kFormats).value_or(defaults.reasoning_format);
  input.template_kwargs = defaults.template_kwargs;
  read_template_kwargs(body, input);
  const auto thinking = input.template_kwargs.find("enable_thinking");
  if (thinking != input.template_kwargs.end()) input.enable_thinking = thinking->second == "true";
  read_effort(body, input);
}

ChatInput read_chat_input(const JsonFields& body, const ChatDefaults& defaults) {
  ChatInput input;
  const std::vector<MessageTrait> traits = read_messages(body, input);
  read_continuation(body, traits, input);
  read_tool_fields(body, input);
  read_reasoning_fields(body, defaults, input);
  Constraint constraint = read_constraint(body);
  if (!constraint.grammar.empty() && !input.tools_json.empty() && input.tool_choice != "none")
    body.fail("grammar", "cannot be combined with tools");
  input.grammar = std::move(constraint.grammar);
  input.json_schema = std::move(constraint.json_schema);
  return input;
}

// --- Prompts ----------------------------------------------------------------

bool starts_with_token(const Json& value) {
  return value.is_array() && !value.empty() && value.front().is_number();
}

Tokens read_tokens(const Json& array, const std::string& path, const ChatDefaults& defaults,
                   FirstError& error) {
  Tokens tokens;
  tokens.reserve(array.size());
  for (std::size_t i = 0; i < array.size() && error.empty(); ++i) {
    const auto token = token_of(exact_integer(array[i]), defaults);
    if (token)
      tokens.push_back(*token);
    else
      error.note(element_path(path, i), "must be a token id of the vocabulary");
  }
  return tokens;
}

// llama-server's {"prompt_string": "..."}; its multimodal_data is not for us.
std::string read_prompt_object(const Json& value, const std::string& path, FirstError& error) {
  const JsonFields fields(value, path, error);
  if (fields.has("multimodal_data"))
    fields.fail("multimodal_data", "is not supported; this server reads text only");
  return required_text(fields, "prompt_string");
}

Prompt read_prompt(const Json& value, const std::string& path, const ChatDefaults& defaults,
                   FirstError& error) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object()) return read_prompt_object(value, path, error);
  if (starts_with_token(value)) return read_tokens(value, path, defaults, error);
  error.note(path, "must be a string or a non-empty array of token ids");
  return std::string();
}

// A string, tokens, or an array of these.
std::vector<Prompt> read_prompts(const JsonFields& body, const ChatDefaults& defaults) {
  std::vector<Prompt> prompts;
  const Json* value = body.find("prompt");
  if (value == nullptr || (value->is_array() && value->empty())) {
    body.fail("prompt", "is required");
  } else if (!value->is_array() || starts_with_token(*value)) {
    prompts.push_back(read_prompt(*value, "prompt", defaults, body.error()));
  } else if (value->size() > defaults.prompts_max) {
    body.fail("prompt", "may hold at most " + std::to_string(defaults.prompts_max) + " prompts");
  } else {
    for (std::size_t i = 0; i < value->size(); ++i)
      prompts.push_back(
          read_prompt((*value)[i], element_path("prompt", i), defaults, body.error()));
  }
  return prompts;
}

TextRequest read_text_request(const JsonFields& body, const ChatDefaults& defaults) {
  TextRequest request;
  request.options = read_options(body, defaults);
  request.options.sampling.top_logprobs = read_text_logprobs(body);
  Constraint constraint = read_constraint(body);
  request.options.sampling.grammar = std::move(constraint.grammar);
  request.options.sampling.json_schema = std::move(constraint.json_schema);
  request.prompts = read_prompts(body, defaults);
  request.echo = body.boolean("echo").value_or(false);
  if (!body.text("suffix").value_or("").empty())
    body.fail("suffix", "is not supported; this server only continues a prompt");
  return request;
}

ChatRequest read_chat_request(const JsonFields& body, const ChatDefaults& defaults) {
  ChatRequest request;
  request.options = read_options(body, defaults);
  request.options.sampling.top_logprobs = read_chat_logprobs(body);
  request.input = read_chat_input(body, defaults);
  request.input.stream = request.options.stream;
  return request;
}

template <typename Request>
Result<Request> decode(std::string_view json, const ChatDefaults& defaults,
                       Request (*read)(const JsonFields&, const ChatDefaults&)) {
  const Result<Json> body = parse_json(json);
  if (!body.ok()) return body.error();
  if (!body->is_object()) return invalid_argument("", "the request must be a JSON object");
  FirstError error;
  Request request = read(JsonFields(*body, "", error), defaults);
  if (!error.empty()) return error.get();
  return request;
}

}  // namespace

Result<ChatRequest> decode_chat_request(std::string_view json, const ChatDefaults& defaults) {
  return decode<ChatRequest>(json, defaults, read_chat_request);
}

Result<TextRequest> decode_text_request(std::string_view json, const ChatDefaults& defaults) {
  return decode<TextRequest>(json, defaults, read_text_request);
}

}  // namespace holdfast
