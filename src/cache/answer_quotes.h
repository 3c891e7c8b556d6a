// Answers that a rendered prompt quotes, put back as they were sampled.
//
// A client sends a message with the id of the answer that it is (cache/answer_ids.h). The
// template writes the message as it likes, which need not be as the model wrote it:
//
//   sampled   <think>\nHm.</think><tool_call>{"name":"ls","arguments":{"path":"."}}</tool_call>
//   rendered  <think>\nHm.\n</think>\n\n<tool_call>\n{"name": "ls", "arguments": {"path": "."}}...
//
// Where both say the same, the sampled text takes the place of the rendered one, and with it
// the ids: the prompt then goes on where the model's own state is. Whether they say the same
// is for the caller to judge, who knows the format. A message that does not begin as the answer's
// did (the template leaves its thoughts out) is left alone.
//
// Pure functions; any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/token_history.h"
#include "engine/text.h"
#include "tier/answer_log.h"

namespace holdfast::cache {

struct QuotedAnswer {
  std::size_t message = 0;  // which one of the assistant's messages it is, counted from 0
  tier::RememberedAnswer answer;
  std::string sampled;  // the text of its ids
};

struct QuotedPrompt {
  std::string text;                        // the prompt, with sampled text where answers are quoted
  std::vector<Quote> quotes;               // in `text`
  std::vector<engine::TextRange> literal;  // of the prompt, in `text`
  std::vector<bool> used;                  // for each answer that was given
};

// Whether a text that a template rendered says what the sampled one says.
using SaysTheSame = std::function<bool(const QuotedAnswer& answer, std::string_view rendered)>;

// `messages`: how many of the prompt's messages are the assistant's. `answers` are in the
// order of their messages, at most one for each.
[[nodiscard]] QuotedPrompt quote_answers(const engine::TextModel& text,
                                         const engine::RenderedChat& chat, std::size_t messages,
                                         const std::vector<QuotedAnswer>& answers,
                                         const SaysTheSame& says_the_same);

}  // namespace holdfast::cache
