#include "api/openai_messages.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/answer_refs.h"
#include "api/chat_message.h"
#include "api/openai_fields.h"

namespace holdfast::api {
namespace {

// Content as it was given: a string is one text.
struct Content {
  bool present = false;
  std::vector<std::string> texts;
  std::string thinking;
};

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

// Arguments come back exactly as the model wrote them, so that the prompt stays
// the same.
std::string read_arguments(const JsonFields& function) {
  const Json* arguments = function.find("arguments");
  if (arguments == nullptr) return "{}";
  if (arguments->is_object()) return json_text(*arguments);
  return arguments_object(function.text("arguments").value_or(""));
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

// The first one that a call carries.
std::string read_answer_id(const JsonFields& message) {
  const Json* calls = message.array("tool_calls");
  if (calls == nullptr) return "";
  for (const Json& call : *calls) {
    const auto id = call.is_object() ? call.find("id") : call.end();
    if (!call.is_object() || id == call.end() || !id->is_string()) continue;
    const std::string_view found = answer_id_in(id->get_ref<const std::string&>());
    if (!found.empty()) return std::string(found);
  }
  return "";
}

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

void append_assistant_fields(ObjectWriter& out, const JsonFields& message, MessageTrait& trait) {
  Content content = read_content(message);
  use_refusal(message, content);
  const std::string calls = read_tool_calls(message);
  const std::string reasoning = read_reasoning(message, content);
  if (!content.present && calls.empty() && reasoning.empty())
    message.fail("content", "is required unless there are tool_calls or reasoning_content");
  append_content(out.key("content"), content);
  if (!reasoning.empty()) out.text("reasoning_content", reasoning);
  if (!calls.empty()) out.raw("tool_calls", calls);
  trait.tool_calls = !calls.empty();
  trait.reasoning = !reasoning.empty();
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
  MessageTrait trait{.assistant = role == "assistant"};
  ObjectWriter writer(out);
  writer.text("role", answers_call ? "tool" : role == "developer" ? "system" : role);
  if (trait.assistant) {
    append_assistant_fields(writer, message, trait);
    trait.answer_id = read_answer_id(message);
  } else {
    append_plain_content(writer, message);
  }
  if (const auto name = message.text("name")) writer.text("name", *name);
  if (answers_call) append_tool_call_id(writer, message, role == "function");
  return trait;
}

}  // namespace

std::vector<MessageTrait> read_messages(const JsonFields& body, engine::ChatInput& input) {
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

}  // namespace holdfast::api
