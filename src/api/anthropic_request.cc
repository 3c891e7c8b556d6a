#include "api/anthropic_request.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "api/anthropic_caching.h"
#include "api/anthropic_errors.h"
#include "api/anthropic_messages.h"
#include "api/anthropic_tools.h"
#include "api/json_fields.h"
#include "api/openai_fields.h"
#include "api/openai_options.h"

namespace holdfast::api {
namespace {

constexpr std::size_t kStopsMax = 32;  // as openai_options.cc has them
constexpr std::size_t kStopBytesMax = 1024;

CompletionOptions read_message_options(const JsonFields& body, const ChatDefaults& defaults) {
  CompletionOptions options = read_options(body, defaults);
  options.n = 1;
  options.marks_caching = marks_caching(body);
  options.stops =
      body.texts("stop_sequences", kStopsMax, kStopBytesMax).value_or(std::vector<std::string>{});
  return options;
}

// "budget_tokens" ends a thought that grows too long.
void read_thinking(const JsonFields& body, const ChatDefaults& defaults, ChatRequest& request) {
  constexpr std::string_view kTypes[] = {"enabled", "adaptive", "disabled"};
  const auto usual = defaults.template_kwargs.find("enable_thinking");
  if (usual != defaults.template_kwargs.end())
    request.input.enable_thinking = usual->second == "true";
  const auto thinking = body.object("thinking");
  if (!thinking) return;
  if (!thinking->has("type")) thinking->fail("type", "is required");
  const std::string type = thinking->choice("type", kTypes).value_or("disabled");
  request.input.template_kwargs.erase("enable_thinking");
  request.input.enable_thinking = type != "disabled";
  const auto budget = thinking->integer("budget_tokens", 1, kIntMax);
  if (budget && type == "enabled")
    request.options.sampling.reasoning_budget_tokens = static_cast<int>(*budget);
}

// Templates know three efforts; Anthropic has more above.
void read_effort(const JsonFields& output, engine::ChatInput& input) {
  const std::string effort = output.text("effort").value_or("");
  if (effort.empty()) return;
  const bool known = effort == "low" || effort == "medium";
  input.template_kwargs["reasoning_effort"] = known ? '"' + effort + '"' : R"("high")";
}

// {"type":"json_schema","schema":{...}}
std::string read_format(const JsonFields& format) {
  constexpr std::string_view kTypes[] = {"json_schema", "text"};
  if (!format.has("type")) format.fail("type", "is required");
  if (format.choice("type", kTypes) != "json_schema") return "";
  const Json* schema = format.find("schema");
  if (schema == nullptr) format.fail("schema", "is required");
  if (schema == nullptr || !format.object("schema")) return "";
  return schema->empty() ? R"({"type":"object"})" : json_text(*schema);
}

// "output_format" is what the field was called while it was a beta.
void read_output(const JsonFields& body, engine::ChatInput& input) {
  if (const auto format = body.object("output_format")) input.json_schema = read_format(*format);
  const auto output = body.object("output_config");
  if (!output) return;
  read_effort(*output, input);
  if (const auto format = output->object("format")) input.json_schema = read_format(*format);
}

// A request that continues a thread holds only what is new, so ignoring the field would lose the
// conversation without a word.
void refuse_thread(const JsonFields& body) {
  if (body.has(kThreadField))
    body.fail(kThreadField, "is not supported: threads are not held here, send all messages");
}

ChatRequest read_request(const JsonFields& body, const ChatDefaults& defaults) {
  ChatRequest request;
  request.protocol_returns_thoughts = true;
  refuse_thread(body);
  request.options = read_message_options(body, defaults);
  request.input.reasoning_format = defaults.reasoning_format;
  request.input.template_kwargs = defaults.template_kwargs;
  request.input.stream = request.options.stream;
  read_conversation(body, defaults, request);
  request.skipped = read_anthropic_tools(body, request.input);
  read_thinking(body, defaults, request);
  read_output(body, request.input);
  return request;
}

}  // namespace

Result<ChatRequest> decode_messages_request(std::string_view json, const ChatDefaults& defaults) {
  const Result<Json> body = parse_json(json);
  if (!body.ok()) return body.error();
  if (!body->is_object()) return invalid_argument("", "the request must be a JSON object");
  FirstError error;
  ChatRequest request = read_request(JsonFields(*body, "", error), defaults);
  if (!error.empty()) return error.get();
  return request;
}

}  // namespace holdfast::api
