// AnswerUnderWay: the facts of one answer while it is written, the same for every
// protocol. An AnswerStyle puts them into a protocol's words.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/backend.h"
#include "api/choice_reader.h"
#include "api/openai_request.h"

namespace holdfast::api {

struct AnswerUnderWay {
  std::shared_ptr<const Backend> backend;
  CompletionOptions options;
  std::string id;                     // with the protocol's prefix: "chatcmpl-..."
  std::int64_t created = 0;           // Unix time in seconds
  std::vector<ChoiceReader> readers;  // one for each choice
  std::vector<std::string> echoes;    // text before each reply (completions)
};

struct Usage {
  TokenPos prompt_tokens = 0;  // cached ones included
  TokenPos completion_tokens = 0;
  TokenPos cached_tokens = 0;
  TokenPos kept_tokens = 0;  // of the prompt, computed and kept in memory for later requests
};
[[nodiscard]] Usage usage_of(const serve::Finished& finished);

[[nodiscard]] bool all_finished(const AnswerUnderWay& answer);
// Of all choices together. Each prompt is counted once, however many choices it
// got. REQUIRES: all have finished.
[[nodiscard]] Usage total_usage(const AnswerUnderWay& answer);
// One object, or a list in the order of the choices; empty where the request asked
// for none. REQUIRES: all have finished.
[[nodiscard]] std::string receipts_json(const AnswerUnderWay& answer);

}  // namespace holdfast::api
