// ChatMessage: one message of a conversation, whatever protocol it came in.
#pragma once

#include <string>
#include <vector>

#include "api/answer_refs.h"
#include "api/json_fields.h"
#include "api/message_sources.h"
#include "engine/text.h"

namespace holdfast::api {

struct ChatMessage {
  std::string role;                     // system | user | assistant | tool
  std::vector<std::string> texts;       // the parts of its content, in their order
  std::string reasoning;                // assistant only
  std::vector<engine::ToolCall> calls;  // assistant only
  std::string tool_call_id;             // tool only
  std::string answer_id;                // assistant only: came with its thoughts
  MessageSources sources = {};          // what it was made of, in the order of its texts
};

// A JSON array of them, in the shape that is described at ChatRequest.
[[nodiscard]] std::string messages_json(const std::vector<ChatMessage>& messages);

// Which of them say that they are answers of ours.
[[nodiscard]] AnswerRefs answer_refs_of(const std::vector<ChatMessage>& messages);

// What they were made of.
[[nodiscard]] MessageSources sources_of(const std::vector<ChatMessage>& messages);

// What ends with an assistant's message is to be continued there; `body` is told if it cannot be.
void read_ending(const JsonFields& body, const std::vector<ChatMessage>& messages,
                 engine::ChatInput& input);

// `arguments` as the text of a JSON object, in the letters they were written in. A
// model may have written nonsense; templates that read an object must not fail on
// it for the rest of the conversation.
[[nodiscard]] std::string arguments_object(const std::string& arguments);

}  // namespace holdfast::api
