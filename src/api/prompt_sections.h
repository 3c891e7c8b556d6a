// Where a client's messages lie in the tokens of its prompt, under the client's names for them.
//
//   client      system        tools         messages[0]   messages[1]   messages[2]
//   template    [system: text, "# Tools" ...] [user ......] [assistant .] [user: <tool_response>
//   ...]
//
// A template joins messages, moves the tools and writes texts in its own way, and nothing tells
// what it made of what. So messages are laid along the spans in their order: an answer is the
// next span of the assistant; other messages lie in the span at hand if their text is found there
// after the message before, else in the next one that may be theirs. What is left over in the
// opening are the tools. It is for people: a template that does otherwise gets a name wrong.
//
// Pure; any thread.
#pragma once

#include <vector>

#include "api/openai_request.h"
#include "cache/prompt_section.h"
#include "engine/text.h"
#include "state/tokens.h"

namespace holdfast::api {

// `spans` are those of `prompt`. In the order of their positions.
[[nodiscard]] std::vector<cache::PromptSection> prompt_sections(
    const engine::TextModel& text, const ChatRequest& request,
    const std::vector<MessageSpan>& spans, TokenSpan prompt);

}  // namespace holdfast::api
