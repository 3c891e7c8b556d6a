#include "api/chat_message.h"

#include <nlohmann/json.hpp>

#include "api/json_fields.h"

namespace holdfast::api {
namespace {

void append_text_part(std::string& out, const std::string& text) {
  ObjectWriter part(out);
  part.text("type", "text");
  part.text("text", text);
}

// One part is written as a string: templates without typed content are many.
void append_content(std::string& out, const std::vector<std::string>& texts) {
  if (texts.size() > 1)
    append_array(out, texts, [&](const std::string& text) { append_text_part(out, text); });
  else
    append_json_string(out, texts.empty() ? "" : texts.front());
}

void append_call(std::string& out, const engine::ToolCall& call) {
  ObjectWriter object(out);
  object.text("id", call.id);
  object.text("type", "function");
  ObjectWriter function(object.key("function"));
  function.text("name", call.name);
  function.text("arguments", arguments_object(call.arguments));
}

void append_message(std::string& out, const ChatMessage& message) {
  ObjectWriter object(out);
  object.text("role", message.role);
  append_content(object.key("content"), message.texts);
  if (!message.reasoning.empty()) object.text("reasoning_content", message.reasoning);
  if (!message.calls.empty()) {
    append_array(object.key("tool_calls"), message.calls,
                 [&](const engine::ToolCall& call) { append_call(out, call); });
  }
  if (message.role == "tool") object.text("tool_call_id", message.tool_call_id);
}

bool is_json_object(std::string_view text) {
  const Result<Json> parsed = parse_json(text);
  return parsed.ok() && parsed->is_object();
}

}  // namespace

std::string messages_json(const std::vector<ChatMessage>& messages) {
  std::string out;
  append_array(out, messages, [&](const ChatMessage& message) { append_message(out, message); });
  return out;
}

AnswerRefs answer_refs_of(const std::vector<ChatMessage>& messages) {
  AnswerRefs refs;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const ChatMessage& message = messages[i];
    std::string_view id = message.answer_id;
    for (const engine::ToolCall& call : message.calls) {
      if (id.empty()) id = answer_id_in(call.id);
    }
    if (!id.empty()) refs.push_back({i, std::string(id), !message.answer_id.empty()});
  }
  return refs;
}

MessageSources sources_of(const std::vector<ChatMessage>& messages) {
  MessageSources all;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const ChatMessage& message = messages[i];
    for (MessageSource source : message.sources) {
      source.message = i;
      source.has_reasoning = !message.reasoning.empty() || !message.answer_id.empty();
      all.push_back(std::move(source));
    }
  }
  return all;
}

void read_ending(const JsonFields& body, const std::vector<ChatMessage>& messages,
                 engine::ChatInput& input) {
  input.continue_final_message = !messages.empty() && messages.back().role == "assistant";
  input.add_generation_prompt = !input.continue_final_message;
  if (!input.continue_final_message) return;
  if (messages.size() >= 2 && messages[messages.size() - 2].role == "assistant")
    body.fail("messages", "must not end with two assistant messages");
  if (!messages.back().calls.empty())
    body.fail("messages", "must not end with an assistant message that uses tools");
}

std::string arguments_object(const std::string& arguments) {
  if (is_json_object(arguments)) return arguments;
  if (arguments.find_first_not_of(" \t\r\n") == std::string::npos || arguments == "null")
    return "{}";
  std::string wrapped;
  ObjectWriter(wrapped).text("raw_arguments", arguments);
  return wrapped;
}

}  // namespace holdfast::api
