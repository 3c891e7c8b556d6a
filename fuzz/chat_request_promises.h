// The promises CHATREQ-1 to CHATREQ-6 of openai_request.h, for the harnesses of all protocols that
// become chat requests.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "api/json_fields.h"
#include "api/openai_request.h"
#include "base/check.h"

namespace holdfast {

inline api::ChatDefaults fuzz_defaults() {
  api::ChatDefaults defaults;
  defaults.n_max = 4;
  defaults.prompts_max = 8;
  defaults.vocabulary = 1000;
  return defaults;
}

inline bool in_range(float value, float min, float max) { return value >= min && value <= max; }
inline bool is_token(Token token) { return token >= 0 && token < 1000; }

inline void check_sampling(const engine::SamplingParams& s) {
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

inline void check_options(const api::CompletionOptions& options) {
  check_sampling(options.sampling);
  CHECK(options.n >= 1 && options.n <= 4);
  CHECK(options.max_tokens >= -1 && options.id_slot.value_or(0) >= 0);
  CHECK(options.timeout.count() >= 0 && options.stops.size() <= 32);
  for (const std::string& stop : options.stops) CHECK(!stop.empty());
}

inline void check_message(const api::Json& message) {
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

// CHATREQ-4: what we write is what we would write again.
inline void check_messages(const std::string& text) {
  const api::Json messages = api::Json::parse(text);
  CHECK(messages.is_array() && !messages.empty());
  for (const api::Json& message : messages) check_message(message);
  const auto again = api::decode_chat_request(
      R"({"continue_final_message":false,"messages":)" + text + "}", fuzz_defaults());
  CHECK(again.ok() && again->input.messages_json == text);
}

inline void check_tools(const engine::ChatInput& input) {
  CHECK(input.tool_choice != "required" || !input.tools_json.empty());
  if (input.tools_json.empty()) return;
  const api::Json tools = api::Json::parse(input.tools_json);
  CHECK(!tools.empty());
  for (const api::Json& tool : tools) CHECK(!tool.at("function").at("name").empty());
}

// CHATREQ-6
inline void check_sources(const api::ChatRequest& request) {
  const std::size_t count = api::Json::parse(request.input.messages_json).size();
  std::size_t next = 0;  // the first message without a source
  for (const api::MessageSource& source : request.sources) {
    CHECK(!source.field.empty() && source.first <= source.last);
    CHECK(source.message == next || source.message + 1 == next);
    next = source.message + 1;
  }
  CHECK(next == count);
  CHECK(request.skipped.size() <= 64);
}

inline void check_chat(const api::ChatRequest& request) {
  check_options(request.options);
  check_messages(request.input.messages_json);
  check_tools(request.input);
  check_sources(request);
  CHECK(!(request.input.continue_final_message && request.input.add_generation_prompt));
  CHECK(request.input.grammar.empty() || request.input.json_schema.empty());
  if (!request.input.json_schema.empty())
    CHECK(api::Json::parse(request.input.json_schema).is_object());
  for (const auto& [name, text] : request.input.template_kwargs) CHECK(api::Json::accept(text));
}

}  // namespace holdfast
