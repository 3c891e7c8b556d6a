// The options that chat and plain completions share, and how each asks for
// logprobs.
#pragma once

#include <optional>

#include "api/json_fields.h"
#include "api/openai_request.h"

namespace holdfast::api {

// All of them but sampling.top_logprobs, which the two kinds of request name
// differently.
[[nodiscard]] CompletionOptions read_options(const JsonFields& body, const ChatDefaults& defaults);

// How many alternatives to report for each token; nullopt: no logprobs at all.
[[nodiscard]] std::optional<int> read_chat_logprobs(const JsonFields& body);
// Plain completions count the alternatives; some clients send a bool all the same.
[[nodiscard]] std::optional<int> read_text_logprobs(const JsonFields& body);

}  // namespace holdfast::api
