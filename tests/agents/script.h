// Script: what a scripted model answers, decided from the text of its prompt.
//
// A JSON file:
//   {"read_us_per_token": 0,                      how long reading takes; default: no time
//    "write_us_per_step": 0,                      how long a step of all who write takes
//    "rules": [{"when": "text", "with": "text",   both optional
//               "say": "text",                    content, calls, or both
//               "calls": [{"name": "f", "arguments": {}}],
//               "blank_tokens": 0}, ...]}         line breaks at the end, a token each
//
// `when` is looked for in what was said since the model's last answer: the user's message, system
// turns beside it, results of tools. `with` is looked for in the whole prompt, where the tools are
// listed. The first rule that fits answers; if none does, the answer is "Done."
// Where the prompt opens thoughts, a sentence of them comes first.
//
// The text is that of the pocket model's template: ChatML with <tool_call> and <tool_response>.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace holdfast {

struct ScriptedAnswer {
  std::string text;  // as the model would write it
  std::size_t blank_tokens = 0;
};

struct ScriptRule {
  std::string when;
  std::string with;
  ScriptedAnswer answer;
};

class Script {
 public:
  // The Error names the file, and what is wrong with it.
  [[nodiscard]] static Result<Script> read(const std::string& path);

  [[nodiscard]] ScriptedAnswer answer_to(std::string_view prompt) const;
  [[nodiscard]] std::chrono::microseconds read_time_per_token() const { return read_time_; }
  [[nodiscard]] std::chrono::microseconds write_time_per_step() const { return write_time_; }

 private:
  std::vector<ScriptRule> rules_;
  std::chrono::microseconds read_time_{0};
  std::chrono::microseconds write_time_{0};
};

// What follows the last complete answer of the model in a prompt that ends with the header of the
// next one; the whole prompt if there is none.
[[nodiscard]] std::string_view said_since_last_answer(std::string_view prompt);

}  // namespace holdfast
