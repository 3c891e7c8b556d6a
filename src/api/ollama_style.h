// Answers in Ollama's shape: one JSON object, or one on each line. The last has "done": true, and
// times in nanoseconds.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "api/answer_style.h"
#include "api/answer_under_way.h"

namespace holdfast::api {

// REQUIRES: the answer outlives the style.
[[nodiscard]] std::unique_ptr<AnswerStyle> make_ollama_chat_style(AnswerUnderWay& answer);
[[nodiscard]] std::unique_ptr<AnswerStyle> make_ollama_generate_style(AnswerUnderWay& answer);

// Where no text was asked for: the model is there. `done_reason` is "load" or "unload".
[[nodiscard]] std::string ollama_loaded_json(bool chat, std::string_view model,
                                             std::string_view done_reason);

// "2026-01-31T12:00:00.000Z"
[[nodiscard]] std::string ollama_time_now();

}  // namespace holdfast::api
