// MessageFloor: the fewest tokens that a chat's messages can have, found without rendering them.
//
// A template takes a thousand times as long as this, so messages that cannot fit the context are
// refused before. Counted is only what every rendering has:
//
//   the text of users      without the white space around it, which templates trim. Thoughts and
//                          answers may be left out of later turns, so they do not count.
//   control tokens         that a message of a user or an assistant brings along, if it is not
//                          empty. They are tokens of their own, so they add to those of the text.
//
// What this template does is found out by rendering probes. One that shows no text of users, or
// that takes messages without control tokens, makes the count smaller.
//
// Invariant, tested in message_floor_test:
//   FLOOR-1  tokens_at_least(messages) <= the tokens of what the template makes of them
//
// Immutable; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::llama {

class MessageFloor {
 public:
  // What the template makes of messages; nothing: it refuses them.
  using Render = std::function<std::optional<std::string>(const std::string& messages_json)>;
  using CountControl = std::function<std::int64_t(const std::string& prompt)>;
  using CountText = std::function<std::int64_t(std::string_view text)>;

  MessageFloor() = default;
  MessageFloor(const Render& render, const CountControl& control_tokens);

  // `text_at_least`: the fewest tokens of a text. 0 where the JSON is not as expected.
  [[nodiscard]] std::int64_t tokens_at_least(const std::string& messages_json,
                                             const CountText& text_at_least) const;
  [[nodiscard]] std::int64_t tokens_of_message() const { return tokens_of_message_; }

 private:
  bool shows_users_ = false;
  std::int64_t tokens_of_message_ = 0;
};

}  // namespace holdfast::llama
