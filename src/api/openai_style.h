// OpenAI's two ways to answer: chat completions and text completions.
#pragma once

#include <memory>

#include "api/answer_style.h"
#include "api/answer_under_way.h"

namespace holdfast::api {

// REQUIRES: the answer outlives the style.
[[nodiscard]] std::unique_ptr<AnswerStyle> make_chat_style(AnswerUnderWay& answer);
[[nodiscard]] std::unique_ptr<AnswerStyle> make_text_style(AnswerUnderWay& answer);

}  // namespace holdfast::api
