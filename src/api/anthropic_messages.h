// "system" and "messages" of an Anthropic request, as one list of ChatMessages.
//
//   system                string or text blocks -> a system message at the front
//   role system           stays at its place in the conversation
//   user                  its texts -> one message; each tool_result -> a tool message
//                         of its own, in their order
//   assistant             text, thinking and tool_use blocks -> one message
//
// Blocks that only Anthropic's own servers can read (redacted_thinking, server tools and
// their results) are left out of an assistant's message. Images and files are refused
// with the path of their block.
#pragma once

#include "api/json_fields.h"
#include "api/openai_request.h"
#include "engine/text.h"

namespace holdfast::api {

// Sets answer_refs, sources, attribution_removed, messages_json, continue_final_message and
// add_generation_prompt: as with Anthropic, a final assistant message is continued.
void read_conversation(const JsonFields& body, const ChatDefaults& defaults, ChatRequest& request);

}  // namespace holdfast::api
