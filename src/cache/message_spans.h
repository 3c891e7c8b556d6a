// MessageSpans: where the messages of a rendered prompt lie, found by their ends of turn.
//
//   <|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHello<|im_end|>\n<|im_start|>user ...
//   [---- message 0 ---][-------------- message 1 -------------][----- open message -----
//
// A message begins with the token that closed the one before it, and what templates put after that
// token (a newline).
//
// Pure functions; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text.h"
#include "state/tokens.h"

namespace holdfast::cache {

// The token that closes a message, and the text that names it.
struct TurnEnd {
  Token token = 0;
  std::string text;
};
[[nodiscard]] std::vector<TurnEnd> turn_ends_of(const engine::TextModel& text);

struct ClosedMessage {
  std::size_t begin = 0;
  std::size_t end = 0;  // where the text of its end of turn begins
  Token closing = 0;
};

struct MessageSpans {
  std::vector<ClosedMessage> closed;
  std::size_t open_begin = 0;  // of what follows them
};
// What is spelt in `literal`, ranges in ascending order, closes no message.
[[nodiscard]] MessageSpans message_spans_of(std::string_view prompt,
                                            const std::vector<TurnEnd>& ends,
                                            const std::vector<engine::TextRange>& literal = {});

// `text` may begin with the end of the message before it, and holds no other.
[[nodiscard]] bool is_one_message(std::string_view text, const std::vector<TurnEnd>& ends);

}  // namespace holdfast::cache
