// Decodes any bytes as both kinds of request and checks the promises of
// openai_request.h, Q1 to Q5, on those that are accepted.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "api/json_fields.h"
#include "api/openai_errors.h"
#include "api/openai_request.h"
#include "base/check.h"

namespace holdfast {
namespace {

api::ChatDefaults fuzz_defaults() {
  api::ChatDefaults defaults;
  defaults.n_max = 4;
  defaults.prompts_max = 8;
  defaults.vocabulary = 1000;
  return defaults;
}

bool in_range(float value, float min, float max) { return value >= min && value <= max; }
bool is_token(Token token) { return token >= 0 && token < 1000; }

void check_sampling(const engine::SamplingParams& s) {
  CHECK(in_range(s.temperature, 0, 100));
  for (const float share : {s.top_p, s.min_p, s.typical_p, s.xtc_probability, s.xtc_threshold})
    CHECK(in_range(share, 0, 1));
  for (const float penalty : {s.presence_penalty, s.frequency_penalty})
    CHECK(in_range(penalty, -2, 2));
  for (const float size :
       {s.dry_multiplier, s.mirostat_tau, s.mirostat_eta, s.dynatemp_range, s.dynatemp_exponent})
    CHECK(in_range(size, 0, 100));
  CHECK(in_range(s.repeat_penalty, 0.009F, 100) && in_range(s.dry_base, 1, 100));
  CHECK(in_range(s.top_n_sigma, -100, 100));
  CHECK(s.top_k >= -1 && s.min_keep >= 0 && s.mirostat >= 0 && s.mirostat <= 2);
  CHECK(s.repeat_last_n >= 0 && s.repeat_last_n <= 1 << 20);
  CHECK(s.dry_penalty_last_n >= 0 && s.dry_penalty_last_n <= 1 << 20);
  CHECK(s.reasoning_budget_tokens >= -1 && s.top_logprobs.value_or(0) <= 20);
  for (const auto& [token, bias] : s.logit_bias) CHECK(is_token(token) && !std::isnan(bias));
}

void check_options(const api::CompletionOptions& options) {
  check_sampling(options.sampling);
  CHECK(options.n >= 1 && options.n <= 4);
  CHECK(options.max_tokens >= -1 && options.id_slot.value_or(0) >= 0);
  CHECK(options.timeout.count() >= 0 && options.stops.size() <= 32);
  for (const std::string& stop : options.stops) CHECK(!stop.empty());
}

void check_message(const api::Json& message) {
  const std::string role = message.at("role");
  const api::Json& content = message.at("content");
  CHECK(role == "system" || role == "user" || role == "assistant" || role == "tool");
  CHECK(content.is_string() || (content.is_array() && content.size() >= 2));
  CHECK((role == "tool") == message.contains("tool_call_id"));
  if (!message.contains("tool_calls")) return;
  CHECK(role == "assistant" && !message["tool_calls"].empty());
  for (const api::Json& call : message["tool_calls"])
    CHECK(api::Json::parse(call.at("function").at("arguments").get<std::string>()).is_object());
}

// Q4: what we write is what we would write again.
void check_messages(const std::string& text) {
  const api::Json messages = api::Json::parse(text);
  CHECK(messages.is_array() && !messages.empty());
  for (const api::Json& message : messages) check_message(message);
  const auto again = api::decode_chat_request(
      R"({"continue_final_message":false,"messages":)" + text + "}", fuzz_defaults());
  CHECK(again.ok() && again->input.messages_json == text);
}

void check_tools(const engine::ChatInput& input) {
  CHECK(input.tool_choice != "required" || !input.tools_json.empty());
  if (input.tools_json.empty()) return;
  const api::Json tools = api::Json::parse(input.tools_json);
  CHECK(!tools.empty());
  for (const api::Json& tool : tools) CHECK(!tool.at("function").at("name").empty());
}

void check_chat(const api::ChatRequest& request) {
  check_options(request.options);
  check_messages(request.input.messages_json);
  check_tools(request.input);
  CHECK(!(request.input.continue_final_message && request.input.add_generation_prompt));
  CHECK(request.input.grammar.empty() || request.input.json_schema.empty());
  if (!request.input.json_schema.empty())
    CHECK(api::Json::parse(request.input.json_schema).is_object());
  for (const auto& [name, text] : request.input.template_kwargs) CHECK(api::Json::accept(text));
}

void check_text(const api::TextRequest& request) {
  check_options(request.options);
  CHECK(!request.prompts.empty() && request.prompts.size() <= 8);
  for (const api::TextPrompt& prompt : request.prompts) {
    const auto* tokens = std::get_if<Tokens>(&prompt);
    if (tokens == nullptr) continue;
    CHECK(!tokens->empty());
    for (const Token token : *tokens) CHECK(is_token(token));
  }
}

void check_error(const Error& error) {
  CHECK(error.code == ErrorCode::kInvalidArgument || error.code == ErrorCode::kTooLarge);
  CHECK(!error.message.empty() && error.message.size() < 4096);
  CHECK(api::Json::accept(api::error_json(error)));
}

}  // namespace
}  // namespace holdfast

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace holdfast;
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  const auto chat = api::decode_chat_request(json, fuzz_defaults());
  if (chat.ok())
    check_chat(*chat);
  else
    check_error(chat.error());
  const auto text = api::decode_text_request(json, fuzz_defaults());
  if (text.ok())
    check_text(*text);
  else
    check_error(text.error());
  return 0;
}
