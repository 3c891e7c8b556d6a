// RequestLog: one line of the log for each HTTP request, when it has ended.
//
//   info  request method=POST path=/v1/messages status=200 client=127.0.0.1:51234 session=4f2a...
//         cached=15009 read=48 wrote=20 ms=812.4
//
// A refusal says why, and which program asked. What others ask every few seconds (health checks,
// scrapes of metrics, the list of slots) is at the level of debugging unless it fails, so that it
// does not hide the rest. All text of a client is cut short here, and escaped by the log (LOG-1).
//
// Invariants, verified by the tests of the same numbers (request_log_test.cc):
//   RLOG-1  a request that has arrived whole, or that is refused before, has one line, however it
//           ends: answered, refused, cut off, left by its client
//   RLOG-2  a client chooses neither the line's form nor more than kClientTextMax bytes of a field,
//           kReasonMax of the reason for a refusal
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "api/http_server.h"
#include "state/tokens.h"

namespace holdfast::api {

inline constexpr std::size_t kClientTextMax = 128;
inline constexpr std::size_t kReasonMax = 512;

// What a request cost, where it was one for the model.
struct RequestTokens {
  TokenPos cached = 0;  // prompt tokens that were not computed again
  TokenPos read = 0;    // prompt tokens that were
  TokenPos wrote = 0;
};

// Something that is asked again and again by programs that watch.
[[nodiscard]] bool is_polled(const HttpRequest& request);

// An answer as the log sees it.
struct RequestEnd {
  int status = 0;            // 0: nothing was answered
  std::string why = {};      // of a refusal, or what ended it early
  double ms = 0.0;           // since it was handed to who answers it
  bool for_model = false;    // `tokens` count
  std::string session = {};  // session_of(), where the body was read; else that of the headers
  RequestTokens tokens = {};
};

void log_request(const HttpRequest& request, const RequestEnd& end);

}  // namespace holdfast::api
