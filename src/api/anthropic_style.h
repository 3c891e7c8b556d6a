// Anthropic's way to answer: a message of thinking, text and tool_use blocks.
//
// Verified by anthropic_style_test.cc:
//   MSG-1  message_start comes first and at once; message_delta and message_stop last
//   MSG-2  blocks have the indices 0, 1, 2, ..., and one is open at a time
//   MSG-3  the blocks of a stream, joined, are those of the whole answer
//   MSG-4  no text block is blank: clients leave such blocks out of history
//   MSG-5  20 minutes of silence have at most 30 pings, and nothing else
//
// MSG-5: Claude Code (2.1.326) looks every 10 s whether anything has arrived, and lets that count
// for life 30 times in a row. 5 minutes after the last time it gives the stream up, so that one
// that says something every 5 s ends after 10 minutes.
#pragma once

#include <memory>

#include "api/answer_style.h"
#include "api/answer_under_way.h"

namespace holdfast::api {

// REQUIRES: the answer outlives the style, and has one choice.
[[nodiscard]] std::unique_ptr<AnswerStyle> make_message_style(AnswerUnderWay& answer);

}  // namespace holdfast::api
