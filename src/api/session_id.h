// SessionId: which session of a client a request says that it belongs to.
//
// One rule for the log, receipts and metrics. The first of these that is there and not empty:
//
//   headers  x-claude-code-session-id          Claude Code
//            session-id, session_id, thread-id  Codex, pi
//            x-session-affinity                 OpenCode, pi
//   body     prompt_cache_key                   Codex, OpenCode
//            metadata.user_id                   Claude Code: the session in it, which is text
//                                               {"session_id": "ID", ...} or "user_..._session_ID";
//                                               of others all of it
//            safety_identifier, user            who asks, where nothing says in which session
//
// A session groups what one tenant did. It proves nothing: a client may say what it likes, so that
// nobody sees or shares anything because of it.
//
// A header names the session of one agent at work, with one main conversation at a time; what a
// body names may be a user with many. So only the first decides which requests are one-offs
// (plan/one_offs.h).
//
// Invariants, verified by the tests of the same numbers (session_id_test.cc):
//   SESSION-1  an id has at most kSessionIdMax bytes, all of them printable ASCII and none a space
//   SESSION-2  what had to be changed for that ends in a digest, so that ids which differ stay
//              different
//   SESSION-3  the id of an id is the id itself
//
// Pure functions; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "api/http_server.h"
#include "api/json_fields.h"

namespace holdfast::api {

inline constexpr std::size_t kSessionIdMax = 128;

// What a client calls a session, as an id; empty where that is empty.
[[nodiscard]] std::string session_id(std::string_view name);

// The id that a body gives; empty: none. A field of another type counts as absent.
[[nodiscard]] std::string read_session(const JsonFields& body);

// The id that a header gives; empty: none.
[[nodiscard]] std::string session_in_headers(const HttpRequest& request);

// The request's session; empty: it names none. `in_body` is what read_session() found.
[[nodiscard]] std::string session_of(const HttpRequest& request, std::string_view in_body = {});

}  // namespace holdfast::api
