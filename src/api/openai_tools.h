// The tools that a chat request offers, and which of them may be called.
#pragma once

#include "api/json_fields.h"
#include "engine/text.h"

namespace holdfast::api {

// Sets tools_json, tool_choice and parallel_tool_calls. A choice of certain
// functions leaves only these in tools_json, so that `tool_choice` is always
// one of auto, none and required.
void read_tool_fields(const JsonFields& body, engine::ChatInput& input);

}  // namespace holdfast::api
