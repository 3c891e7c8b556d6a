#include "api/openai_request.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "api/decode_object.h"
#include "api/json_fields.h"
#include "api/openai_constraint.h"
#include "api/openai_messages.h"
#include "api/openai_options.h"
#include "api/openai_prompts.h"
#include "api/openai_tools.h"

namespace holdfast::api {
namespace {

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

// As in llama-server, a final assistant message is continued unless the client, or
// --no-prefill-assistant, says no.
void read_continuation(const JsonFields& body, const std::vector<MessageTrait>& traits, bool usual,
                       engine::ChatInput& input) {
  const auto asked = read_continue(body);
  const auto generation = body.boolean("add_generation_prompt");
  const bool possible = !traits.empty() && traits.back().assistant;
  if (asked == true && generation == true)
    body.fail("continue_final_message", "cannot be combined with add_generation_prompt");
  if (asked == true && !possible)
    body.fail("continue_final_message", "needs an assistant message at the end");
  input.continue_final_message = possible && asked.value_or(usual);
  input.add_generation_prompt = !input.continue_final_message && generation.value_or(true);
  if (input.continue_final_message) check_continuable(body, traits);
}

void read_template_kwargs(const JsonFields& body, engine::ChatInput& input) {
  const auto kwargs = body.object("chat_template_kwargs");
  if (!kwargs) return;
  (void)kwargs->boolean("enable_thinking");  // a string would read as "on" in templates
  for (const auto& [name, value] : body.find("chat_template_kwargs")->items())
    if (!value.is_null()) input.template_kwargs[name] = json_text(value);
}

void read_effort(const JsonFields& body, engine::ChatInput& input) {
  const std::string effort = body.text("reasoning_effort").value_or("");
  if (effort.empty()) return;
  input.template_kwargs.erase("reasoning_effort");
  if (effort == "none")
    input.enable_thinking = false;
  else
    append_json_string(input.template_kwargs["reasoning_effort"], effort);
}

void read_reasoning_fields(const JsonFields& body, const ChatDefaults& defaults,
                           engine::ChatInput& input) {
  constexpr std::string_view kFormats[] = {"none", "auto", "deepseek", "deepseek-legacy"};
  input.reasoning_format =
      body.choice("reasoning_format", kFormats).value_or(defaults.reasoning_format);
  input.template_kwargs = defaults.template_kwargs;
  read_template_kwargs(body, input);
  const auto thinking = input.template_kwargs.find("enable_thinking");
  if (thinking != input.template_kwargs.end()) input.enable_thinking = thinking->second == "true";
  read_effort(body, input);
}

// --- Whole requests ---------------------------------------------------------

AnswerRefs answer_refs_of(const std::vector<MessageTrait>& traits) {
  AnswerRefs refs;
  for (std::size_t i = 0; i < traits.size(); ++i) {
    if (!traits[i].answer_id.empty()) refs.push_back({i, traits[i].answer_id, false});
  }
  return refs;
}

// Each message stays what it is.
MessageSources sources_of(const std::vector<MessageTrait>& traits) {
  MessageSources sources;
  for (std::size_t i = 0; i < traits.size(); ++i) {
    const int index = static_cast<int>(i);
    sources.push_back({.field = "messages",
                       .first = index,
                       .last = index,
                       .message = i,
                       .has_reasoning = traits[i].reasoning});
  }
  return sources;
}

void read_chat_input(const JsonFields& body, const ChatDefaults& defaults, ChatRequest& request) {
  engine::ChatInput& input = request.input;
  const std::vector<MessageTrait> traits = read_messages(body, input);
  request.answer_refs = answer_refs_of(traits);
  request.sources = sources_of(traits);
  read_continuation(body, traits, defaults.prefill_assistant, input);
  read_tool_fields(body, input);
  read_reasoning_fields(body, defaults, input);
  Constraint constraint = read_constraint(body);
  if (!constraint.grammar.empty() && !input.tools_json.empty() && input.tool_choice != "none")
    body.fail("grammar", "cannot be combined with tools");
  input.grammar = std::move(constraint.grammar);
  input.json_schema = std::move(constraint.json_schema);
}

ChatRequest read_chat_request(const JsonFields& body, const ChatDefaults& defaults) {
  ChatRequest request;
  request.options = read_options(body, defaults);
  request.options.sampling.top_logprobs = read_chat_logprobs(body);
  read_chat_input(body, defaults, request);
  request.input.stream = request.options.stream;
  return request;
}

}  // namespace

TextRequest read_text_settings(const JsonFields& body, const ChatDefaults& defaults) {
  TextRequest request;
  request.options = read_options(body, defaults);
  request.options.sampling.top_logprobs = read_text_logprobs(body);
  Constraint constraint = read_constraint(body);
  request.options.sampling.grammar = std::move(constraint.grammar);
  request.options.sampling.json_schema = std::move(constraint.json_schema);
  request.echo = body.boolean("echo").value_or(false);
  if (!body.text("suffix").value_or("").empty())
    body.fail("suffix", "is not supported; this server only continues a prompt");
  return request;
}

Result<ChatRequest> decode_chat_request(std::string_view json, const ChatDefaults& defaults) {
  return decode_object<ChatRequest>(
      json, [&](const JsonFields& body) { return read_chat_request(body, defaults); });
}

Result<TextRequest> decode_text_request(std::string_view json, const ChatDefaults& defaults) {
  return decode_object<TextRequest>(json, [&](const JsonFields& body) {
    TextRequest request = read_text_settings(body, defaults);
    request.prompts = read_prompts(body, "prompt", defaults.prompts_max, defaults);
    return request;
  });
}

}  // namespace holdfast::api
