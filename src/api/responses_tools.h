// The tools that a Responses request offers, and which of them may be called.
#pragma once

#include <set>
#include <string>

#include "api/json_fields.h"
#include "api/skipped_kinds.h"
#include "engine/text.h"

namespace holdfast::api {

struct ResponsesTools {
  std::set<std::string> custom;  // names of functions that the client knows as custom tools
  SkippedKinds skipped;
};

// Sets tools_json, tool_choice and parallel_tool_calls, as read_tool_fields() does for
// chats. A custom tool becomes a function with one text argument, `input`; the kinds that
// only OpenAI's own servers run are skipped.
[[nodiscard]] ResponsesTools read_responses_tools(const JsonFields& body, engine::ChatInput& input);

}  // namespace holdfast::api
