// The prompts of a plain completion request.
#pragma once

#include <vector>

#include "api/json_fields.h"
#include "api/openai_request.h"

namespace holdfast::api {

// A string, tokens, tokens and strings mixed, or an array of these.
[[nodiscard]] std::vector<TextPrompt> read_prompts(const JsonFields& body,
                                                   const ChatDefaults& defaults);

}  // namespace holdfast::api
