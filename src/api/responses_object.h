// The response object of OpenAI's Responses API, and the items in its output.
//
// Pure functions: time, ids and names come in as arguments. Text that is not UTF-8 is
// repaired with U+FFFD; nothing throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "state/tokens.h"

namespace holdfast::api {

struct OutputItem {
  enum class Kind { kReasoning, kMessage, kFunctionCall, kCustomCall };
  Kind kind = Kind::kMessage;
  std::string id;
  std::string text;     // thoughts, words, or the arguments of a call as JSON text
  std::string call_id;  // calls only, as is `name`
  std::string name;
  std::string_view status = "in_progress";  // then completed or incomplete
  std::string answer_id;                    // reasoning only; empty: none
};

// The `input` of a custom tool's call, out of the arguments of the function that stands for
// it. Arguments of any other shape are the input themselves.
[[nodiscard]] std::string custom_input(const std::string& arguments);

void append_output_item(std::string& out, const OutputItem& item);
// The one part of a message or of reasoning.
void append_output_part(std::string& out, OutputItem::Kind kind, std::string_view text);

struct ResponseUsage {
  TokenPos input_tokens = 0;
  TokenPos cached_tokens = 0;  // of the input
  TokenPos output_tokens = 0;
  TokenPos reasoning_tokens = 0;  // of the output
};

// What all events of one response repeat.
struct ResponseHead {
  std::string id;               // "resp_..."
  std::int64_t created_at = 0;  // Unix time in seconds
  std::string model;
  std::string echo_json;       // ResponsesRequest::echo_json
  std::string answer_id = {};  // what reasoning carries; empty: nothing
};

struct ResponseState {
  // in_progress, completed, incomplete or failed.
  std::string_view status = "in_progress";
  const std::vector<OutputItem>* output = nullptr;  // null: none yet
  std::optional<ResponseUsage> usage;
  std::optional<Error> error;        // status failed
  std::string_view cache_receipt{};  // JSON text; empty where it is not wanted
};

[[nodiscard]] std::string response_json(const ResponseHead& head, const ResponseState& state);

// OpenAI's word for an error inside of a response; Codex acts on it.
[[nodiscard]] std::string_view response_error_code(ErrorCode code);

}  // namespace holdfast::api
