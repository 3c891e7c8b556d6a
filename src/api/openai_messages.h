// The messages of a chat request, in the one shape described at ChatRequest.
#pragma once

#include <string>
#include <vector>

#include "api/json_fields.h"
#include "engine/text.h"

namespace holdfast::api {

// What the rules about the end of a conversation need to know of a message.
struct MessageTrait {
  bool assistant = false;
  bool tool_calls = false;
  bool reasoning = false;
  std::string answer_id = {};  // one that a call carries (api/answer_refs.h)
};

// Sets messages_json. One trait for each message, in their order.
[[nodiscard]] std::vector<MessageTrait> read_messages(const JsonFields& body,
                                                      engine::ChatInput& input);

}  // namespace holdfast::api
