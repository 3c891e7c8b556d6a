// The objects and events of Anthropic's Messages answers, as text.
//
// A stream, each line an event:
//   message_start
//   content_block_start, content_block_delta ..., content_block_stop    for each block
//   message_delta      why it ended, and the usage
//   message_stop
// with `ping` anywhere between, and `error` as the last where something failed.
//
// Text that is not UTF-8 is repaired with U+FFFD; nothing throws. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/answer_under_way.h"
#include "engine/text.h"

namespace holdfast::api {

// What an answer says of itself.
struct MessageHead {
  std::string id;
  std::string model;  // as the client called it
};

// Why an answer ended: end_turn, max_tokens, stop_sequence or tool_use.
struct MessageEnd {
  std::string_view stop_reason;
  std::string stop_sequence;  // empty: null
};
// REQUIRES: the reader has finished. `stops` are the client's own.
[[nodiscard]] MessageEnd message_end_of(const ChoiceReader& reader,
                                        const std::vector<std::string>& stops);

// Blocks of content that are not there yet are empty here.
void append_thinking_block(std::string& out, std::string_view thinking, std::string_view signature);
void append_text_block(std::string& out, std::string_view text);
// `input` is the JSON text of an object.
void append_tool_use_block(std::string& out, const engine::ToolCall& call, std::string_view input);

// The whole answer. `content` is a JSON array, `cache_receipt` JSON or empty.
[[nodiscard]] std::string message_json(const MessageHead& head, std::string_view content,
                                       const MessageEnd& end, const Usage& usage,
                                       std::string_view cache_receipt);

// --- events -------------------------------------------------------------------

// Nothing is known of the usage yet; message_delta has all of it.
void append_message_start(std::string& out, const MessageHead& head);
// `block` is JSON.
void append_block_start(std::string& out, std::int64_t index, std::string_view block);
// `type` is text_delta, ...; `field` the name of what it carries.
struct BlockDelta {
  std::string_view type;
  std::string_view field;
  std::string_view text;
};
void append_block_delta(std::string& out, std::int64_t index, const BlockDelta& delta);
void append_block_stop(std::string& out, std::int64_t index);
void append_message_delta(std::string& out, const MessageEnd& end, const Usage& usage,
                          std::string_view cache_receipt);
void append_message_stop(std::string& out);
void append_ping(std::string& out);
// `json` is the error's envelope.
void append_error_event(std::string& out, std::string_view json);

}  // namespace holdfast::api
