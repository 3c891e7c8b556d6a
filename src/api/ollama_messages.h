// The messages of Ollama's chats -> the one shape that is described at ChatRequest.
//
// Calls of tools have no ids there, or had none for long: an answer to a call belongs to the first
// unanswered call of that tool. What has no id gets one by its place, the same in each request.
#pragma once

#include "api/json_fields.h"
#include "api/openai_request.h"

namespace holdfast::api {

// The field "messages". Mistakes are noted in `body`.
void read_ollama_messages(const JsonFields& body, ChatRequest& request);

// The prompt of /api/generate as a chat: one message, and a system message before it where there is
// one.
void read_ollama_prompt(const JsonFields& body, ChatRequest& request);

// Pictures are refused: where this object has some, that is a mistake.
void refuse_images(const JsonFields& fields);

}  // namespace holdfast::api
