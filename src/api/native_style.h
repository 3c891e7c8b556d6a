// llama-server's own way to answer a completion: one object for each prompt, events with "content"
// and "stop".
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/answer_style.h"
#include "api/answer_under_way.h"

namespace holdfast::api {

// Beside what AnswerUnderWay knows.
struct NativeShape {
  std::vector<std::string> response_fields;  // empty: all
  std::vector<Token> end_tokens;             // of the vocabulary, with ignore_eos
};

// One choice that has finished, as /completion answers it. REQUIRES: it has.
[[nodiscard]] std::string native_completion(const AnswerUnderWay& answer, const NativeShape& shape,
                                            std::size_t choice);

// REQUIRES: the answer outlives the style. Its echoes are the prompts.
[[nodiscard]] std::unique_ptr<AnswerStyle> make_native_style(AnswerUnderWay& answer,
                                                             NativeShape shape);

}  // namespace holdfast::api
