#include "api/ollama_messages.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/chat_message.h"
#include "api/openai_fields.h"

namespace holdfast::api {
namespace {

// The arguments are an object; some clients send its text.
engine::ToolCall read_call(const JsonFields& call) {
  engine::ToolCall read;
  read.id = call.text("id").value_or("");
  const auto function = call.object("function");
  if (!function) {
    call.fail("function", "is required");
    return read;
  }
  read.name = required_name(*function);
  const Json* arguments = function->find("arguments");
  if (arguments == nullptr) return read;
  if (arguments->is_string()) {
    read.arguments = arguments->get<std::string>();
  } else if (function->object("arguments")) {
    read.arguments = json_text(*arguments);
  }
  return read;
}

std::vector<engine::ToolCall> read_calls(const JsonFields& message) {
  std::vector<engine::ToolCall> calls;
  const Json* array = message.array("tool_calls");
  const std::size_t count = array == nullptr ? 0 : array->size();
  for (std::size_t i = 0; i < count && message.error().empty(); ++i) {
    if (const auto call = message.element(*array, "tool_calls", i))
      calls.push_back(read_call(*call));
  }
  return calls;
}

// Which calls still wait for their answer.
class OpenCalls {
 public:
  void name(std::vector<engine::ToolCall>& calls) {
    open_.clear();
    for (engine::ToolCall& call : calls) {
      ++count_;
      if (call.id.empty()) call.id = "call_" + std::to_string(count_);
      open_.push_back(call);
    }
  }

  std::string id_of_answer(const std::string& tool) {
    if (open_.empty()) return "call_0";  // to no call that we know of
    auto found = std::ranges::find(open_, tool, &engine::ToolCall::name);
    if (found == open_.end()) found = open_.begin();
    std::string id = found->id;
    open_.erase(found);
    return id;
  }

 private:
  std::vector<engine::ToolCall> open_;  // of the latest message with calls
  int count_ = 0;
};

std::string tool_name(const JsonFields& message) {
  const auto name = message.text("tool_name");
  return name ? *name : message.text("name").value_or("");
}

ChatMessage read_message(const JsonFields& message, OpenCalls& open) {
  constexpr std::string_view kRoles[] = {"user", "assistant", "system", "tool"};
  if (!message.has("role")) message.fail("role", "is required");
  refuse_images(message);
  ChatMessage read{.role = message.choice("role", kRoles).value_or("user")};
  read.texts = {message.text("content").value_or("")};
  if (read.role == "assistant") {
    read.reasoning = message.text("thinking").value_or("");
    read.calls = read_calls(message);
    open.name(read.calls);
  } else if (read.role == "tool") {
    auto id = message.text("tool_call_id");
    read.tool_call_id = id && !id->empty() ? std::move(*id) : open.id_of_answer(tool_name(message));
  }
  return read;
}

void set_messages(const std::vector<ChatMessage>& messages, ChatRequest& request) {
  request.input.messages_json = messages_json(messages);
  request.answer_refs = answer_refs_of(messages);
  request.sources = sources_of(messages);
}

}  // namespace

void refuse_images(const JsonFields& fields) {
  const Json* images = fields.array("images");
  if (images != nullptr && !images->empty())
    fields.fail("images", "cannot be read; this server reads text only");
}

void read_ollama_messages(const JsonFields& body, ChatRequest& request) {
  std::vector<ChatMessage> messages;
  OpenCalls open;
  const Json* array = body.array("messages");
  if (array == nullptr || array->empty()) body.fail("messages", "must be a non-empty array");
  const std::size_t count = array == nullptr ? 0 : array->size();
  for (std::size_t i = 0; i < count && body.error().empty(); ++i) {
    const auto message = body.element(*array, "messages", i);
    if (!message) break;
    messages.push_back(read_message(*message, open));
    const int index = static_cast<int>(i);
    messages.back().sources = {{.field = "messages", .first = index, .last = index}};
  }
  read_ending(body, messages, request.input);
  set_messages(messages, request);
}

void read_ollama_prompt(const JsonFields& body, ChatRequest& request) {
  std::vector<ChatMessage> messages;
  std::string system = body.text("system").value_or("");
  if (!system.empty()) {
    messages.push_back({.role = "system", .texts = {std::move(system)}});
    messages.back().sources = {{.field = "system"}};
  }
  messages.push_back({.role = "user", .texts = {required_text(body, "prompt")}});
  messages.back().sources = {{.field = "prompt"}};
  set_messages(messages, request);
}

}  // namespace holdfast::api
