// Prompts and other texts that a client gives as a string, as tokens, or as both mixed.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "api/json_fields.h"
#include "api/openai_request.h"
#include "engine/text.h"

namespace holdfast::api {

// The field `name`: a string, tokens, tokens and strings mixed, or an array of up to `count_max`
// of these.
[[nodiscard]] std::vector<TextPrompt> read_prompts(const JsonFields& body, const std::string& name,
                                                   std::size_t count_max,
                                                   const ChatDefaults& defaults);
// Control tokens that a prompt's text names count.
[[nodiscard]] Tokens tokens_of(const engine::TextModel& text, const TextPrompt& prompt);

}  // namespace holdfast::api
