#include "api/openai_response.h"

#include <utility>

#include "api/json_fields.h"
#include "api/openai_objects.h"

namespace holdfast::api {
namespace {

void append_tool_call(std::string& out, const engine::ToolCall& call) {
  ObjectWriter object(out);
  object.text("id", call.id);
  object.text("type", "function");
  ObjectWriter function(object.key("function"));
  function.text("name", call.name);
  function.text("arguments", call.arguments);
}

// Content is null when the reply is calls and nothing else.
void append_message(std::string& out, const engine::Reply& reply) {
  ObjectWriter object(out);
  object.text("role", "assistant");
  if (reply.content.empty() && !reply.tool_calls.empty())
    object.raw("content", "null");
  else
    object.text("content", reply.content);
  if (!reply.reasoning.empty()) object.text("reasoning_content", reply.reasoning);
  if (reply.tool_calls.empty()) return;
  object.key("tool_calls");
  append_array(out, reply.tool_calls,
               [&](const engine::ToolCall& call) { append_tool_call(out, call); });
}

void append_choice(std::string& out, const ChatChoice& choice) {
  ObjectWriter object(out);
  object.integer("index", choice.index);
  append_message(object.key("message"), choice.reply);
  if (choice.logprobs)
    append_chat_logprobs(object.key("logprobs"), *choice.logprobs);
  else
    object.raw("logprobs", "null");
  object.text("finish_reason", finish_reason_name(choice.reason, !choice.reply.tool_calls.empty()));
}

void append_choice(std::string& out, const TextChoice& choice) {
  ObjectWriter object(out);
  object.integer("index", choice.index);
  object.text("text", choice.text);
  if (choice.logprobs)
    append_text_logprobs(object.key("logprobs"), *choice.logprobs, choice.echoed);
  else
    object.raw("logprobs", "null");
  object.text("finish_reason", finish_reason_name(choice.reason, false));
}

struct Totals {
  const Usage& usage;
  const serve::Timings& timings;
  std::string_view cache_receipt;
};

template <typename Choice>
std::string completion(const ReplyHead& head, std::string_view kind,
                       const std::vector<Choice>& choices, const Totals& totals) {
  std::string out;
  {
    ObjectWriter object(out);
    append_head(object, head, kind);
    object.key("choices");
    append_array(out, choices, [&](const Choice& choice) { append_choice(out, choice); });
    append_usage(object.key("usage"), totals.usage);
    append_timings(object.key("timings"), totals.timings);
    if (!totals.cache_receipt.empty()) object.raw("cache_receipt", totals.cache_receipt);
  }
  return out;
}

}  // namespace

std::string_view finish_reason_name(serve::FinishReason reason, bool has_tool_calls) {
  if (reason == serve::FinishReason::kMaxTokens || reason == serve::FinishReason::kContextFull)
    return "length";
  return has_tool_calls ? "tool_calls" : "stop";
}

std::string chat_completion(const ReplyHead& head, const std::vector<ChatChoice>& choices,
                            const Usage& usage, const serve::Timings& timings,
                            std::string_view cache_receipt) {
  return completion(head, "chat.completion", choices, {usage, timings, cache_receipt});
}

std::string text_completion(const ReplyHead& head, const std::vector<TextChoice>& choices,
                            const Usage& usage, const serve::Timings& timings,
                            std::string_view cache_receipt) {
  return completion(head, "text_completion", choices, {usage, timings, cache_receipt});
}

}  // namespace holdfast::api
