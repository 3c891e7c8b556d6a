// A Responses request: JSON text -> a chat request, and what the answer repeats of it.
//
// What a decoded request promises, verified by fuzz/fuzz_responses_request.cc:
//   RREQ-1  `chat` keeps the promises CHATREQ-1 to CHATREQ-6 of openai_request.h, with n = 1
//   RREQ-2  `echo_json` are the members of a JSON object
//   RREQ-3  `items_json` is a JSON array if the response is to be stored, else empty;
//           a request with these items as its input makes the same messages, but for
//           the instructions
//   RREQ-4  each custom tool is a function of `chat`
//   RREQ-5  no item of `items_json` is an item_reference: each was replaced by its item
//
// Fields that we do not know are ignored and null counts as absent. An Error has the JSON
// path of the field in `param`. No I/O, no exceptions; any thread, if `stored` may be asked
// there.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "api/openai_request.h"

namespace holdfast::api {

struct ResponsesRequest {
  ChatRequest chat;
  std::set<std::string> custom_tools;  // functions that the client knows as custom tools
  std::string echo_json;               // members of the response that repeat the request
  std::string items_json;              // the conversation so far, as input items
  bool store = true;
};

// What earlier responses said, as JSON text; nullopt: there is no such thing for those who
// ask with this salt.
struct StoredTalk {
  using Find = std::function<std::optional<std::string>(const std::string& id,
                                                        const std::string& cache_salt)>;
  Find conversation;  // by a response's id: an array of items up to its end
  Find item;          // by the id of an item in a response's output
};

[[nodiscard]] Result<ResponsesRequest> decode_responses_request(std::string_view json,
                                                                const ChatDefaults& defaults,
                                                                const StoredTalk& stored);

}  // namespace holdfast::api
