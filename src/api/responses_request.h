// A Responses request: JSON text -> a chat request, and what the answer repeats of it.
//
// What a decoded request promises, verified by fuzz/fuzz_responses_request.cc:
//   RREQ-1  `chat` keeps the promises Q1 to Q5 of openai_request.h, with n = 1
//   RREQ-2  `echo_json` are the members of a JSON object
//   RREQ-3  `items_json` is a JSON array if the response is to be stored, else empty;
//           a request with these items as its input makes the same messages, but for
//           the instructions
//   RREQ-4  each custom tool is a function of `chat`
//
// Fields that we do not know are ignored and null counts as absent. An Error has the JSON
// path of the field in `param`. No I/O, no exceptions; any thread, if `find` may be called
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

// The conversation up to the end of a stored response, as a JSON array of items;
// nullopt: there is no such response.
using FindItems = std::function<std::optional<std::string>(const std::string& response_id,
                                                           const std::string& cache_salt)>;

[[nodiscard]] Result<ResponsesRequest> decode_responses_request(std::string_view json,
                                                                const ChatDefaults& defaults,
                                                                const FindItems& find);

}  // namespace holdfast::api
