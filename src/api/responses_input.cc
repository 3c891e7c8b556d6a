#include "api/responses_input.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "api/openai_fields.h"

namespace holdfast::api {
namespace {

// --- parts -------------------------------------------------------------------

// What stands for an image. A client sees its mistake; a tool that looked at one must not
// make every later request of the conversation fail.
enum class Images { kRefused, kNamed };
constexpr const char* kImage = "(An image. This model reads text only.)";

std::string read_part(const JsonFields& part, Images images) {
  const std::string type = required_text(part, "type");
  if (type == "input_image" && images == Images::kNamed) return kImage;
  if (type == "refusal") return required_text(part, "refusal");
  if (type == "input_text" || type == "output_text" || type == "text" || type == "summary_text" ||
      type == "reasoning_text")
    return required_text(part, "text");
  part.fail("type", type == "input_image" ? "is an image; this server reads text only"
                                          : "is not a text type; this server reads text only");
  return "";
}

std::vector<std::string> read_parts(const JsonFields& item, std::string_view name,
                                    const Json& parts, Images images) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < parts.size() && item.error().empty(); ++i)
    if (const auto part = item.element(parts, name, i)) texts.push_back(read_part(*part, images));
  return texts;
}

// A string, or parts.
std::vector<std::string> read_texts(const JsonFields& item, std::string_view name,
                                    Images images = Images::kRefused) {
  const Json* value = item.find(name);
  if (value != nullptr && value->is_string()) return {value->get_ref<const std::string&>()};
  if (value != nullptr && value->is_array()) return read_parts(item, name, *value, images);
  item.fail(name, value == nullptr ? "is required" : "must be a string or an array of parts");
  return {};
}

std::string joined(const std::vector<std::string>& texts, std::string_view between) {
  std::string all;
  for (std::size_t i = 0; i < texts.size(); ++i) (all += i > 0 ? between : "") += texts[i];
  return all;
}

// The thoughts themselves where the item has them, else their summary.
std::string read_thoughts(const JsonFields& item) {
  for (const char* name : {"content", "summary"}) {
    if (!item.has(name)) continue;
    std::string thoughts = joined(read_texts(item, name), "\n\n");
    if (!thoughts.empty()) return thoughts;
  }
  return "";
}

engine::ToolCall read_call(const JsonFields& item, std::string arguments) {
  return {required_text(item, "call_id"), required_name(item), std::move(arguments)};
}

std::string read_custom_arguments(const JsonFields& item) {
  std::string arguments;
  ObjectWriter(arguments).text("input", required_text(item, "input"));
  return arguments;
}

// An item without a type is a message.
std::string read_type(const JsonFields& item) {
  if (!item.has("type") && item.has("role")) return "message";
  return required_text(item, "type");
}

}  // namespace

void InputMessages::add_item(const JsonFields& item) {
  const std::string type = read_type(item);
  if (type == "message") {
    add_message(item);
  } else if (type == "reasoning") {
    add_reasoning(item);
  } else if (type == "function_call") {
    turn().calls.push_back(read_call(item, item.text("arguments").value_or("")));
  } else if (type == "custom_tool_call") {
    turn().calls.push_back(read_call(item, read_custom_arguments(item)));
  } else if (type == "function_call_output" || type == "custom_tool_call_output") {
    add_output(item);
  } else if (type == "item_reference") {
    item.fail("id", "is required");  // what it names would stand here
  } else {
    note_skipped(skipped_, type);
  }
}

// --- what somebody else says ---------------------------------------------------

void InputMessages::add_message(const JsonFields& item) {
  constexpr std::string_view kRoles[] = {"user", "assistant", "system", "developer"};
  if (!item.has("role")) item.fail("role", "is required");
  const std::string role = item.choice("role", kRoles).value_or("user");
  std::vector<std::string> texts = read_texts(item, "content");
  if (role == "assistant") return add_assistant_texts(std::move(texts));
  if (role == "user") return add({.role = role, .texts = std::move(texts)});
  if (!messages_.empty()) return add({.role = "system", .texts = std::move(texts)});
  add_to_opening(joined(texts, "\n"));
}

void InputMessages::add_user_text(std::string text) {
  add({.role = "user", .texts = {std::move(text)}});
}

void InputMessages::add_output(const JsonFields& item) {
  add({.role = "tool",
       .texts = read_texts(item, "output", Images::kNamed),
       .tool_call_id = required_text(item, "call_id")});
}

// --- the assistant's turns -----------------------------------------------------

void InputMessages::add_assistant_texts(std::vector<std::string> texts) {
  const ChatMessage* open = turn_open_ ? &messages_.back() : nullptr;
  if (open != nullptr && !open->texts.empty() && open->calls.empty()) end_turn();
  ChatMessage& said = turn();
  if (said.texts.empty()) {
    said.texts = std::move(texts);
  } else {
    said.texts.back() += joined(texts, "");  // after a call: the text goes on
  }
}

void InputMessages::add_reasoning(const JsonFields& item) {
  const std::string thoughts = read_thoughts(item);
  const std::string id = item.text("encrypted_content").value_or("");
  if (thoughts.empty() && id.empty()) return;
  const ChatMessage* open = turn_open_ ? &messages_.back() : nullptr;
  if (open != nullptr && !(open->texts.empty() && open->calls.empty())) end_turn();
  if (turn().answer_id.empty()) turn().answer_id = id;
  if (thoughts.empty()) return;
  std::string& reasoning = turn().reasoning;
  if (!reasoning.empty()) reasoning += "\n\n";
  reasoning += thoughts;
}

ChatMessage& InputMessages::turn() {
  if (!turn_open_) add({.role = "assistant"});
  turn_open_ = true;
  messages_.back().sources.back().last = source_.last;
  return messages_.back();
}

// Thoughts that nobody can read and nothing follows say nothing.
void InputMessages::end_turn() {
  if (!std::exchange(turn_open_, false)) return;
  const ChatMessage& last = messages_.back();
  if (last.texts.empty() && last.reasoning.empty() && last.calls.empty()) messages_.pop_back();
}

// --- messages ------------------------------------------------------------------

void InputMessages::add(ChatMessage message) {
  end_opening();
  end_turn();
  messages_.push_back(std::move(message));
  messages_.back().sources = {source_};
}

// Several system messages in a row are more than some templates take.
void InputMessages::add_to_opening(const std::string& text) {
  if (!opening_) opening_ = ChatMessage{.role = "system", .texts = {""}};
  std::string& all = opening_->texts.front();
  if (!opening_->sources.empty()) all += "\n\n";
  opening_->sources.push_back(source_);
  opening_->sources.back().offset = all.size();
  all += text;
}

void InputMessages::end_opening() {
  if (opening_) messages_.push_back(std::move(*opening_));
  opening_.reset();
}

std::vector<ChatMessage> InputMessages::take() {
  end_opening();
  end_turn();
  return std::move(messages_);
}

}  // namespace holdfast::api
