#include "engine/llama/message_diff.h"

#include <algorithm>
#include <exception>
#include <random>

namespace holdfast::llama {

namespace {

std::string new_tool_call_id() {
  static constexpr std::string_view kAlphabet =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  thread_local std::mt19937_64 random{std::random_device{}()};
  std::uniform_int_distribution<std::size_t> index(0, kAlphabet.size() - 1);
  std::string id = "call_";
  for (int i = 0; i < 24; ++i) id += kAlphabet[index(random)];
  return id;
}

// What `now` adds to `before`; nothing when the parser has changed its mind
// about what came before, until the text agrees again.
std::string_view added(std::string_view before, std::string_view now) {
  return now.starts_with(before) ? now.substr(before.size()) : std::string_view{};
}

std::string_view without_prefix(std::string_view prefix, std::string_view text) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

}  // namespace

void add_to(engine::Reply& reply, const std::vector<engine::ReplyDelta>& deltas) {
  for (const engine::ReplyDelta& delta : deltas) {
    reply.reasoning += delta.reasoning;
    reply.content += delta.content;
    if (!delta.tool_index) continue;
    if (*delta.tool_index == reply.tool_calls.size()) {
      reply.tool_calls.push_back(delta.tool);
    } else {
      reply.tool_calls.at(*delta.tool_index).arguments += delta.tool.arguments;
    }
  }
}

MessageDiff::MessageDiff(const common_chat_parser_params& params, bool one_call_only)
    : one_call_only_(one_call_only) {
  if (!params.is_continuation) return;
  try {
    const common_chat_msg message = common_chat_parse("", true, params);
    baseline_.content = message.content;
    baseline_.reasoning = message.reasoning_content;
  } catch (const std::exception&) {
    baseline_ = {};  // nothing to leave out
  }
}

std::vector<engine::ReplyDelta> MessageDiff::advance(engine::Reply& seen,
                                                     const common_chat_msg& message,
                                                     bool final) const {
  std::vector<engine::ReplyDelta> deltas;
  const auto reasoning =
      added(seen.reasoning, without_prefix(baseline_.reasoning, message.reasoning_content));
  if (!reasoning.empty()) {
    deltas.push_back(
        {.reasoning = std::string(reasoning), .content = {}, .tool_index = {}, .tool = {}});
  }
  const auto content = added(seen.content, without_prefix(baseline_.content, message.content));
  if (!content.empty()) {
    deltas.push_back(
        {.reasoning = {}, .content = std::string(content), .tool_index = {}, .tool = {}});
  }
  advance_tool_calls(seen, message, final, deltas);
  add_to(seen, deltas);
  return deltas;
}

// A call is announced once its name is known to be whole: when its arguments
// have begun, when another call follows, or at the end.
void MessageDiff::advance_tool_calls(const engine::Reply& seen, const common_chat_msg& message,
                                     bool final, std::vector<engine::ReplyDelta>& deltas) const {
  const std::size_t reported = std::min<std::size_t>(
      message.tool_calls.size(), one_call_only_ ? 1 : message.tool_calls.size());
  for (std::size_t i = 0; i < reported; ++i) {
    const common_chat_tool_call& call = message.tool_calls[i];
    const bool announced = i < seen.tool_calls.size();
    const bool name_is_whole =
        !call.arguments.empty() || i + 1 < message.tool_calls.size() || final;
    if (!announced) {
      if (call.name.empty() || !name_is_whole) return;
      const bool invented = call.id.empty();
      const engine::ToolCall first{invented ? new_tool_call_id() : call.id, call.name,
                                   call.arguments, invented};
      deltas.push_back({.reasoning = {}, .content = {}, .tool_index = i, .tool = first});
      continue;
    }
    const std::string more(added(seen.tool_calls[i].arguments, call.arguments));
    if (more.empty()) continue;
    deltas.push_back({.reasoning = {}, .content = {}, .tool_index = i, .tool = {"", "", more}});
  }
}

}  // namespace holdfast::llama
