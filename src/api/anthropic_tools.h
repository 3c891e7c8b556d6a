// The tools that an Anthropic request offers, and which of them may be used.
#pragma once

#include "api/json_fields.h"
#include "api/skipped_kinds.h"
#include "engine/text.h"

namespace holdfast::api {

// Sets tools_json, tool_choice and parallel_tool_calls. Tools that only Anthropic's
// servers know how to describe (web_search_..., bash_...) are left out; those that are
// to be loaded later are offered at once, so that the prompt's front stays the same. A
// choice of one tool leaves only this one in tools_json. Returns what was left out.
[[nodiscard]] SkippedKinds read_anthropic_tools(const JsonFields& body, engine::ChatInput& input);

}  // namespace holdfast::api
