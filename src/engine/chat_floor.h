// ChatFloor: what a text model may know about a chat before it is rendered.
//
// Rendering takes a thousand times as long. A TextModel that can tell is a ChatFloor too.
#pragma once

#include <cstdint>

#include "engine/text.h"

namespace holdfast::engine {

class ChatFloor {
 public:
  virtual ~ChatFloor() = default;
  // No more than the tokens that the rendered chat has.
  [[nodiscard]] virtual std::int64_t chat_tokens_at_least(const ChatInput& input) const = 0;
};

// 0 where nothing is known.
[[nodiscard]] inline std::int64_t chat_tokens_at_least(const TextModel& text,
                                                       const ChatInput& input) {
  const auto* const floor = dynamic_cast<const ChatFloor*>(&text);
  return floor != nullptr ? floor->chat_tokens_at_least(input) : 0;
}

}  // namespace holdfast::engine
