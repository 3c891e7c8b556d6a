#include "api/anthropic_messages.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/anthropic_blocks.h"
#include "api/chat_message.h"
#include "api/openai_fields.h"

namespace holdfast::api {
namespace {

// --- system -----------------------------------------------------------------

// Claude Code puts a line about itself before its prompt. It differs from session to
// session, and all that follows would be read again. Whether there was one.
bool remove_attribution(std::vector<std::string>& texts) {
  constexpr std::string_view kName = "x-anthropic-billing-header:";
  if (texts.empty() || !texts.front().starts_with(kName)) return false;
  const std::size_t line_end = texts.front().find('\n');
  texts.front().erase(0, line_end == std::string::npos ? line_end : line_end + 1);
  if (texts.front().empty()) texts.erase(texts.begin());
  return true;
}

// Returns whether the attribution line was left out.
bool read_system(const JsonFields& body, const ChatDefaults& defaults,
                 std::vector<ChatMessage>& messages) {
  if (!body.has("system")) return false;
  std::vector<std::string> texts = read_texts(body, "system");
  const bool removed = !defaults.keep_attribution && remove_attribution(texts);
  if (!texts.empty()) {
    messages.push_back({.role = "system", .texts = std::move(texts)});
    messages.back().sources = {{.field = "system"}};
  }
  return removed;
}

// --- user -------------------------------------------------------------------

// So that the model knows, unless the text says so itself.
void mark_error(std::vector<std::string>& texts) {
  if (texts.empty()) texts.emplace_back();
  std::string& first = texts.front();
  const bool says_so = first.starts_with("Error") || first.starts_with("<tool_use_error>");
  if (!says_so) first.insert(0, first.empty() ? "Error" : "Error: ");
}

ChatMessage read_tool_result(const JsonFields& block) {
  ChatMessage result{.role = "tool", .tool_call_id = required_text(block, "tool_use_id")};
  if (block.has("content")) result.texts = read_texts(block, "content");
  if (block.boolean("is_error").value_or(false)) mark_error(result.texts);
  return result;
}

void add_user_text(std::string text, std::vector<ChatMessage>& messages, bool& open) {
  if (!std::exchange(open, true)) messages.push_back({.role = "user"});
  messages.back().texts.push_back(std::move(text));
}

// `open`: the last of the messages is this one's text.
void read_user_block(const JsonFields& block, std::vector<ChatMessage>& messages, bool& open) {
  if (block.text("type") != "tool_result") {
    if (auto text = read_text_block(block)) add_user_text(std::move(*text), messages, open);
    return;
  }
  open = false;
  messages.push_back(read_tool_result(block));
}

void read_user(const JsonFields& message, std::vector<ChatMessage>& messages) {
  const Json* content = message.find("content");
  bool open = false;
  if (content != nullptr && content->is_array() && !content->empty()) {
    for (std::size_t i = 0; i < content->size() && message.error().empty(); ++i)
      if (const auto block = message.element(*content, "content", i))
        read_user_block(*block, messages, open);
  } else {
    messages.push_back({.role = "user", .texts = read_texts(message, "content")});
  }
}

// --- assistant --------------------------------------------------------------

void read_tool_use(const JsonFields& block, ChatMessage& message) {
  engine::ToolCall call;
  call.id = required_text(block, "id");
  call.name = required_name(block);
  const Json* input = block.find("input");
  if (input != nullptr && block.object("input")) call.arguments = json_text(*input);
  message.calls.push_back(std::move(call));
}

// Thoughts that the client was not shown come back empty: the signature stands for them.
void read_thinking(const JsonFields& block, ChatMessage& message) {
  message.reasoning += required_text(block, "thinking");
  if (message.answer_id.empty()) message.answer_id = block.text("signature").value_or("");
}

// The texts of an answer belong together as the model wrote them.
void read_assistant_block(const JsonFields& block, ChatMessage& message) {
  const std::string type = required_text(block, "type");
  if (type == "text") message.texts.front() += required_text(block, "text");
  if (type == "thinking") read_thinking(block, message);
  if (type == "tool_use") read_tool_use(block, message);
}

ChatMessage read_assistant(const JsonFields& message) {
  ChatMessage answer{.role = "assistant", .texts = {""}};
  const Json* content = message.find("content");
  if (content == nullptr || !content->is_array()) {
    answer.texts = read_texts(message, "content");
    return answer;
  }
  for (std::size_t i = 0; i < content->size() && message.error().empty(); ++i)
    if (const auto block = message.element(*content, "content", i))
      read_assistant_block(*block, answer);
  return answer;
}

// --- all --------------------------------------------------------------------

void read_message(const JsonFields& message, std::vector<ChatMessage>& messages) {
  constexpr std::string_view kRoles[] = {"user", "assistant", "system", "developer"};
  if (!message.has("role")) message.fail("role", "is required");
  if (!message.has("content")) message.fail("content", "is required");
  const std::string role = message.choice("role", kRoles).value_or("");
  if (!message.error().empty()) return;
  if (role == "assistant")
    messages.push_back(read_assistant(message));
  else if (role == "user")
    read_user(message, messages);
  else
    messages.push_back({.role = "system", .texts = read_texts(message, "content")});
}

// One message of the client may have become several, or none.
void read_numbered(const JsonFields& message, std::size_t number,
                   std::vector<ChatMessage>& messages) {
  const std::size_t before = messages.size();
  read_message(message, messages);
  const int index = static_cast<int>(number);
  for (std::size_t i = before; i < messages.size(); ++i)
    messages[i].sources = {{.field = "messages", .first = index, .last = index}};
}

}  // namespace

void read_conversation(const JsonFields& body, const ChatDefaults& defaults, ChatRequest& request) {
  std::vector<ChatMessage> messages;
  request.attribution_removed = read_system(body, defaults, messages);
  const Json* array = body.array("messages");
  if (array == nullptr || array->empty()) body.fail("messages", "must be a non-empty array");
  const std::size_t count = array == nullptr ? 0 : array->size();
  for (std::size_t i = 0; i < count && body.error().empty(); ++i)
    if (const auto message = body.element(*array, "messages", i))
      read_numbered(*message, i, messages);
  read_ending(body, messages, request.input);
  request.input.messages_json = messages_json(messages);
  request.answer_refs = answer_refs_of(messages);
  request.sources = sources_of(messages);
}

}  // namespace holdfast::api
