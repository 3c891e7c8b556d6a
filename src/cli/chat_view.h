// How answers look: streamed text, and the lines about what it cost.
#pragma once

#include <string>
#include <string_view>

#include "cli/chat.h"

namespace holdfast::cli {

// What a terminal is told before and after text about an answer.
inline constexpr std::string_view kDim = "\x1b[2m";
inline constexpr std::string_view kPlain = "\x1b[0m";

// Text of a model must not drive the terminal: ESC and its kin are left out.
[[nodiscard]] std::string harmless(std::string_view text);

// Shows one answer as it comes. Reasoning is dim and for people only; the answer
// is for everyone. It ends with a line's end, at the latest when this is destroyed.
class AnswerView {
 public:
  explicit AnswerView(ChatIo& io) : io_(io) {}
  ~AnswerView() { end(); }
  AnswerView(const AnswerView&) = delete;
  AnswerView& operator=(const AnswerView&) = delete;

  void reasoning(std::string_view text);
  void content(std::string_view text);
  void end();

 private:
  void end_reasoning();
  void show(std::string_view text);

  ChatIo& io_;
  bool reasoning_ = false;
  char last_ = '\n';
};

// "3 turns · 4,096 prompt tokens, 3,072 of them cached (75.0%) · 512 tokens generated"
[[nodiscard]] std::string total_line(const TurnStats& total, int turns);

}  // namespace holdfast::cli
