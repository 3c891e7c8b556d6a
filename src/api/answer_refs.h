// AnswerRef: which of our answers a message of a request says that it is.
//
// Ids of answers (cache/answer_ids.h) travel where clients send them back untouched:
//
//   Messages    signature of a thinking block            id of a tool_use block
//   Responses   encrypted_content of a reasoning item    call_id of a call
//   chat                                                 id of a tool call
//
// An answer without thoughts and calls carries none. It is plain text, which is found by
// its conversation (cache/token_history.h).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::api {

struct AnswerRef {
  std::size_t message = 0;  // its index in messages_json
  std::string id;
  // Protocols say that this id stands for the thoughts: where the message has none, those of
  // the answer are meant. Ids of calls say nothing of thoughts.
  bool for_thoughts = false;
};

// One for each message that has any: the id that came with its thoughts, else a call's.
using AnswerRefs = std::vector<AnswerRef>;

// The id for the call number `index` of an answer; at most 64 letters, digits, '_' and '-',
// which is what clients that check ids let through.
[[nodiscard]] std::string call_id_of(std::string_view answer_id, std::size_t index);
// The answer's id in it; empty: it carries none.
[[nodiscard]] std::string_view answer_id_in(std::string_view call_id);

}  // namespace holdfast::api
