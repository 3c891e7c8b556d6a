#include "api/openai_chunks.h"

#include <utility>

#include "api/json_fields.h"
#include "api/openai_objects.h"

namespace holdfast::api {
namespace {

std::string open_head(const ReplyHead& head, std::string_view kind) {
  std::string out;
  {
    ObjectWriter object(out);
    append_head(object, head, kind);
  }
  out.pop_back();  // the closing brace
  return out;
}

// Begins a chunk up to the value of its payload, `"delta":` or `"text":`.
std::string open_chunk(const ChunkHead& head, int index, std::string_view payload) {
  std::string out;
  out.reserve(head.json().size() + 160);
  out += head.json();
  out += ",\"choices\":[{\"index\":";
  append_json_number(out, std::int64_t{index});
  out += ",\"";
  out += payload;
  out += "\":";
  return out;
}

// REQUIRES: the choice is still open. An empty reason is null.
void close_choice(std::string& out, std::string_view finish_reason) {
  out += ",\"finish_reason\":";
  if (finish_reason.empty())
    out += "null";
  else
    append_json_string(out, finish_reason);
  out += "}]";
}

std::string close_chunk(std::string out, const serve::Timings* timings,
                        std::string_view cache_receipt = {}) {
  if (timings != nullptr) append_timings(out += ",\"timings\":", *timings);
  if (!cache_receipt.empty()) (out += ",\"cache_receipt\":") += cache_receipt;
  out += '}';
  return out;
}

// OpenAI: id, type and name come once; arguments are always a string.
void append_tool_delta(std::string& out, std::size_t index, const engine::ToolCall& call) {
  ObjectWriter object(out);
  object.integer("index", static_cast<std::int64_t>(index));
  if (!call.id.empty()) {
    object.text("id", call.id);
    object.text("type", "function");
  }
  ObjectWriter function(object.key("function"));
  if (!call.name.empty()) function.text("name", call.name);
  function.text("arguments", call.arguments);
}

void append_delta(std::string& out, const engine::ReplyDelta& delta) {
  ObjectWriter object(out);
  if (!delta.reasoning.empty()) object.text("reasoning_content", delta.reasoning);
  if (!delta.content.empty()) object.text("content", delta.content);
  if (!delta.tool_index) return;
  object.key("tool_calls") += '[';
  append_tool_delta(out, *delta.tool_index, delta.tool);
  out += ']';
}

std::string progress_chunk(std::string out, const serve::PromptProgress& progress,
                           bool with_timings) {
  close_choice(out, "");
  append_progress(out += ",\"prompt_progress\":", progress);
  const serve::Timings timings = progress.timings();
  return close_chunk(std::move(out), with_timings ? &timings : nullptr);
}

}  // namespace

ChunkHead ChunkHead::chat(const ReplyHead& head) {
  return ChunkHead(open_head(head, "chat.completion.chunk"));
}

ChunkHead ChunkHead::text(const ReplyHead& head) {
  return ChunkHead(open_head(head, "text_completion"));
}

std::string chat_role_chunk(const ChunkHead& head, int index) {
  std::string out = open_chunk(head, index, "delta");
  out += R"({"role":"assistant","content":null})";
  close_choice(out, "");
  return close_chunk(std::move(out), nullptr);
}

std::string chat_delta_chunk(const ChunkHead& head, int index, const engine::ReplyDelta& delta,
                             const ChunkExtras& extras) {
  std::string out = open_chunk(head, index, "delta");
  append_delta(out, delta);
  if (extras.logprobs != nullptr) append_chat_logprobs(out += ",\"logprobs\":", *extras.logprobs);
  close_choice(out, "");
  return close_chunk(std::move(out), extras.timings);
}

std::string chat_finish_chunk(const ChunkHead& head, int index, std::string_view finish_reason,
                              const serve::Timings* timings, std::string_view cache_receipt) {
  std::string out = open_chunk(head, index, "delta");
  out += "{}";
  close_choice(out, finish_reason);
  return close_chunk(std::move(out), timings, cache_receipt);
}

std::string text_delta_chunk(const ChunkHead& head, int index, std::string_view text,
                             const ChunkExtras& extras) {
  std::string out = open_chunk(head, index, "text");
  append_json_string(out, text);
  out += ",\"logprobs\":";
  if (extras.logprobs != nullptr)
    append_text_logprobs(out, *extras.logprobs, extras.text_offset);
  else
    out += "null";
  close_choice(out, "");
  return close_chunk(std::move(out), extras.timings);
}

std::string text_finish_chunk(const ChunkHead& head, int index, std::string_view finish_reason,
                              const serve::Timings* timings, std::string_view cache_receipt) {
  std::string out = open_chunk(head, index, "text");
  out += "\"\",\"logprobs\":null";
  close_choice(out, finish_reason);
  return close_chunk(std::move(out), timings, cache_receipt);
}

std::string usage_chunk(const ChunkHead& head, const Usage& usage, const serve::Timings* timings,
                        std::string_view cache_receipt) {
  std::string out = head.json() + ",\"choices\":[],\"usage\":";
  append_usage(out, usage);
  return close_chunk(std::move(out), timings, cache_receipt);
}

std::string chat_progress_chunk(const ChunkHead& head, int index,
                                const serve::PromptProgress& progress, bool with_timings) {
  return progress_chunk(open_chunk(head, index, "delta") + "{}", progress, with_timings);
}

std::string text_progress_chunk(const ChunkHead& head, int index,
                                const serve::PromptProgress& progress, bool with_timings) {
  return progress_chunk(open_chunk(head, index, "text") + "\"\",\"logprobs\":null", progress,
                        with_timings);
}

}  // namespace holdfast::api
