#include "api/anthropic_events.h"

#include <algorithm>

#include "api/json_fields.h"

namespace holdfast::api {
namespace {

void append_named_event(std::string& out, std::string_view name, std::string_view json) {
  out += "event: ";
  out += name;
  out += "\ndata: ";
  out += json;
  out += "\n\n";
}

void append_text_or_null(ObjectWriter& object, std::string_view name, std::string_view value) {
  if (value.empty())
    object.raw(name, "null");
  else
    object.text(name, value);
}

// The three are the prompt together.
void append_usage(std::string& out, const Usage& usage) {
  ObjectWriter object(out);
  object.integer("input_tokens", usage.prompt_tokens - usage.cached_tokens - usage.kept_tokens);
  object.integer("cache_creation_input_tokens", usage.kept_tokens);
  object.integer("cache_read_input_tokens", usage.cached_tokens);
  object.integer("output_tokens", usage.completion_tokens);
}

// Without its end, and open for more fields.
void append_message_fields(ObjectWriter& object, const MessageHead& head,
                           std::string_view content) {
  object.text("id", head.id);
  object.text("type", "message");
  object.text("role", "assistant");
  object.text("model", head.model);
  object.raw("content", content);
}

void append_end_fields(ObjectWriter& object, const MessageEnd& end) {
  append_text_or_null(object, "stop_reason", end.stop_reason);
  append_text_or_null(object, "stop_sequence", end.stop_sequence);
}

std::string block_event(std::string_view type, std::int64_t index, std::string_view field,
                        std::string_view json) {
  std::string out;
  {
    ObjectWriter object(out);
    object.text("type", type);
    object.integer("index", index);
    if (!field.empty()) object.raw(field, json);
  }
  return out;
}

}  // namespace

MessageEnd message_end_of(const ChoiceReader& reader, const std::vector<std::string>& stops) {
  const serve::Finished& finished = *reader.finished();
  const bool at_limit = finished.reason == serve::FinishReason::kMaxTokens ||
                        finished.reason == serve::FinishReason::kContextFull;
  if (at_limit) return {"max_tokens", ""};
  if (!reader.reply().tool_calls.empty()) return {"tool_use", ""};
  const bool asked_for = finished.reason == serve::FinishReason::kStopString &&
                         std::ranges::find(stops, finished.stop_string) != stops.end();
  if (asked_for) return {"stop_sequence", finished.stop_string};
  return {"end_turn", ""};
}

void append_thinking_block(std::string& out, std::string_view thinking,
                           std::string_view signature) {
  ObjectWriter block(out);
  block.text("type", "thinking");
  block.text("thinking", thinking);
  block.text("signature", signature);
}

void append_text_block(std::string& out, std::string_view text) {
  ObjectWriter block(out);
  block.text("type", "text");
  block.text("text", text);
}

void append_tool_use_block(std::string& out, const engine::ToolCall& call, std::string_view input) {
  ObjectWriter block(out);
  block.text("type", "tool_use");
  block.text("id", call.id);
  block.text("name", call.name);
  block.raw("input", input);
}

std::string message_json(const MessageHead& head, std::string_view content, const MessageEnd& end,
                         const Usage& usage, std::string_view cache_receipt) {
  std::string out;
  {
    ObjectWriter object(out);
    append_message_fields(object, head, content);
    append_end_fields(object, end);
    append_usage(object.key("usage"), usage);
    if (!cache_receipt.empty()) object.raw("cache_receipt", cache_receipt);
  }
  return out;
}

void append_message_start(std::string& out, const MessageHead& head) {
  std::string json;
  {
    ObjectWriter event(json);
    event.text("type", "message_start");
    event.raw("message", message_json(head, "[]", {}, {}, ""));
  }
  append_named_event(out, "message_start", json);
}

void append_block_start(std::string& out, std::int64_t index, std::string_view block) {
  append_named_event(out, "content_block_start",
                     block_event("content_block_start", index, "content_block", block));
}

void append_block_delta(std::string& out, std::int64_t index, const BlockDelta& delta) {
  std::string json;
  {
    ObjectWriter object(json);
    object.text("type", delta.type);
    object.text(delta.field, delta.text);
  }
  append_named_event(out, "content_block_delta",
                     block_event("content_block_delta", index, "delta", json));
}

void append_block_stop(std::string& out, std::int64_t index) {
  append_named_event(out, "content_block_stop", block_event("content_block_stop", index, "", ""));
}

void append_message_delta(std::string& out, const MessageEnd& end, const Usage& usage,
                          std::string_view cache_receipt) {
  std::string json;
  {
    ObjectWriter event(json);
    event.text("type", "message_delta");
    {
      ObjectWriter delta(event.key("delta"));
      append_end_fields(delta, end);
    }
    append_usage(event.key("usage"), usage);
    if (!cache_receipt.empty()) event.raw("cache_receipt", cache_receipt);
  }
  append_named_event(out, "message_delta", json);
}

void append_message_stop(std::string& out) {
  append_named_event(out, "message_stop", R"({"type":"message_stop"})");
}

void append_ping(std::string& out) { append_named_event(out, "ping", R"({"type":"ping"})"); }

void append_error_event(std::string& out, std::string_view json) {
  append_named_event(out, "error", json);
}

}  // namespace holdfast::api
