// JSON schemas of a request, on their way to a grammar.
#pragma once

#include <string>

#include "engine/grammar_limits.h"
#include "engine/text.h"

namespace holdfast::llama {

// The grammar of a plain completion's schema.
[[nodiscard]] Result<std::string> grammar_of_schema(const std::string& schema,
                                                    const engine::GrammarLimits& limits);

// A chat's schemas can be converted within the limits: that of `response_format` and those of its
// tools, all together. Whether the library knows everything in them is not said.
[[nodiscard]] Result<void> check_schemas(const engine::ChatInput& input,
                                         const engine::GrammarLimits& limits);

// After the library has refused a chat: an Error if one of its schemas is the reason.
[[nodiscard]] Result<void> find_bad_schema(const engine::ChatInput& input);

}  // namespace holdfast::llama
