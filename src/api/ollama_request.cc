#include "api/ollama_request.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/decode_object.h"
#include "api/json_fields.h"
#include "api/ollama_messages.h"
#include "api/openai_fields.h"
#include "api/openai_options.h"
#include "api/openai_sampling.h"
#include "api/openai_tools.h"

namespace holdfast::api {
namespace {

constexpr std::size_t kStopsMax = 32;  // as openai_options.cc has them
constexpr std::size_t kStopBytesMax = 1024;
constexpr std::size_t kLoadBytesMax = 4096;

// A text or several.
std::vector<std::string> read_stops(const JsonFields& options) {
  const Json* stop = options.find("stop");
  if (stop == nullptr) return {};
  if (!stop->is_string())
    return options.texts("stop", kStopsMax, kStopBytesMax).value_or(std::vector<std::string>{});
  const auto& text = stop->get_ref<const std::string&>();
  if (text.size() > kStopBytesMax) options.fail("stop", "may have at most 1024 bytes");
  return text.empty() ? std::vector<std::string>{} : std::vector<std::string>{text};
}

// There, no limit is any number below 1.
void read_sampling_options(const JsonFields& options, const ChatDefaults& defaults,
                           CompletionOptions& into) {
  into.sampling = read_sampling(options, defaults);
  into.stops = read_stops(options);
  const auto most = options.integer("num_predict", -kIntMax, kIntMax);
  if (most) into.max_tokens = *most > 0 ? static_cast<TokenPos>(*most) : -1;
}

CompletionOptions read_ollama_options(const JsonFields& body, const ChatDefaults& defaults) {
  CompletionOptions options = read_options(body, defaults);
  options.n = 1;
  options.stream = body.boolean("stream").value_or(true);
  options.return_progress = false;
  options.verbose = false;
  if (const auto own = body.object("options")) read_sampling_options(*own, defaults, options);
  options.sampling.top_logprobs = read_chat_logprobs(body);
  return options;
}

// A JSON schema; empty: any text.
std::string read_format(const JsonFields& body) {
  const Json* format = body.find("format");
  if (format == nullptr || *format == "") return "";
  if (*format == "json") return R"({"type":"object"})";
  if (!format->is_object()) {
    body.fail("format", "must be \"json\" or a JSON schema");
    return "";
  }
  return format->empty() ? R"({"type":"object"})" : json_text(*format);
}

void set_effort(const JsonFields& body, const std::string& effort, engine::ChatInput& input) {
  const bool known = effort == "low" || effort == "medium" || effort == "high" || effort == "max";
  if (!known) return body.fail("think", "must be true, false, \"low\", \"medium\" or \"high\"");
  input.template_kwargs["reasoning_effort"] = effort == "max" ? R"("high")" : '"' + effort + '"';
  input.enable_thinking = true;
}

void read_think(const JsonFields& body, const ChatDefaults& defaults, engine::ChatInput& input) {
  input.reasoning_format = defaults.reasoning_format;
  input.template_kwargs = defaults.template_kwargs;
  const auto usual = input.template_kwargs.find("enable_thinking");
  if (usual != input.template_kwargs.end()) input.enable_thinking = usual->second == "true";
  const Json* think = body.find("think");
  if (think == nullptr) return;
  input.template_kwargs.erase("enable_thinking");
  if (think->is_boolean()) {
    input.enable_thinking = think->get<bool>();
  } else {
    set_effort(body, think->is_string() ? think->get<std::string>() : "", input);
  }
}

// But for its messages.
ChatRequest read_chat_fields(const JsonFields& body, const ChatDefaults& defaults) {
  ChatRequest request;
  request.protocol_returns_thoughts = true;
  request.options = read_ollama_options(body, defaults);
  request.input.stream = request.options.stream;
  request.input.json_schema = read_format(body);
  read_think(body, defaults, request.input);
  return request;
}

ChatRequest read_chat(const JsonFields& body, const ChatDefaults& defaults) {
  ChatRequest request = read_chat_fields(body, defaults);
  read_ollama_messages(body, request);
  read_tool_fields(body, request.input);
  return request;
}

TextRequest read_raw(const JsonFields& body, const ChatDefaults& defaults) {
  TextRequest request;
  request.options = read_ollama_options(body, defaults);
  request.options.sampling.json_schema = read_format(body);
  request.prompts = {required_text(body, "prompt")};
  return request;
}

InfillRequest read_between(const JsonFields& body, const ChatDefaults& defaults) {
  InfillRequest request;
  request.native.text = read_raw(body, defaults);
  request.native.text.prompts.clear();
  request.prefix = required_text(body, "prompt");
  request.suffix = required_text(body, "suffix");
  return request;
}

// Ignoring them would answer something else without a word.
void refuse_unknown_ways(const JsonFields& body) {
  refuse_images(body);
  const Json* context = body.array("context");
  if (context != nullptr && !context->empty())
    body.fail("context", "is not supported; send the conversation to /api/chat");
  if (!body.text("template").value_or("").empty())
    body.fail("template", "is not supported; start the server with --chat-template-file");
}

OllamaGenerate read_generate(const JsonFields& body, const ChatDefaults& defaults) {
  refuse_unknown_ways(body);
  if (!body.text("suffix").value_or("").empty()) return read_between(body, defaults);
  if (body.boolean("raw").value_or(false)) return read_raw(body, defaults);
  ChatRequest request = read_chat_fields(body, defaults);
  read_ollama_prompt(body, request);
  return request;
}

// A duration: a number of seconds, or "5m", "0s".
bool is_no_time(const Json& keep_alive) {
  if (keep_alive.is_number()) return keep_alive == 0;
  return keep_alive == "0" || keep_alive == "0s" || keep_alive == "0m";
}

}  // namespace

Result<ChatRequest> decode_ollama_chat(std::string_view json, const ChatDefaults& defaults) {
  return decode_object<ChatRequest>(
      json, [&](const JsonFields& body) { return read_chat(body, defaults); });
}

Result<OllamaGenerate> decode_ollama_generate(std::string_view json, const ChatDefaults& defaults) {
  return decode_object<OllamaGenerate>(
      json, [&](const JsonFields& body) { return read_generate(body, defaults); });
}

std::optional<LoadRequest> decode_load_request(std::string_view json, std::string_view field) {
  if (json.size() > kLoadBytesMax) return std::nullopt;
  const Result<Json> body = parse_json(json);
  if (!body.ok() || !body->is_object()) return std::nullopt;
  FirstError ignored;
  const JsonFields fields(*body, "", ignored);
  const Json* asked = fields.find(field);
  const bool nothing = asked == nullptr || *asked == "" || (asked->is_array() && asked->empty());
  if (!nothing || fields.has("suffix") || fields.has("images")) return std::nullopt;
  const Json* keep_alive = fields.find("keep_alive");
  return LoadRequest{fields.text("model").value_or(""),
                     keep_alive != nullptr && is_no_time(*keep_alive)};
}

}  // namespace holdfast::api
