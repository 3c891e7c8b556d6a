// MessageSource: which part of a client's request a message was made of.
//
// Decoding joins, splits and moves what clients send: a field becomes a system message, a message
// with three tool results becomes three, items of one turn become one message. A client is told of
// its prompt in its own words (api/prompt_sections.h).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace holdfast::api {

struct MessageSource {
  std::string field;  // "messages", "input", "system", "instructions"
  int first = -1;     // elements of that field; -1: it is not a list
  int last = -1;
  std::size_t offset = 0;      // of its text in the message that it became a part of
  std::size_t message = 0;     // which is this one of messages_json
  bool has_reasoning = false;  // it came with thoughts

  // "messages[3]", "input[2..4]", "system".
  [[nodiscard]] std::string name() const {
    if (first < 0) return field;
    const std::string from = field + "[" + std::to_string(first);
    return from + (last > first ? ".." + std::to_string(last) : "") + "]";
  }
};

// In the order of their messages.
using MessageSources = std::vector<MessageSource>;

}  // namespace holdfast::api
