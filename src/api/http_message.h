// The text of HTTP/1.1 that needs no socket: targets in, heads and chunks out.
#pragma once

#include <string>
#include <string_view>

#include "api/http_server.h"

namespace holdfast::api {

enum class PlusSign { kLiteral, kSpace };

// `%41` becomes `A`; a `%` without two hex digits stays as it is.
[[nodiscard]] std::string percent_decode(std::string_view text, PlusSign plus);

struct HttpTarget {
  std::string path;   // percent-decoded
  std::string query;  // raw
};

// Takes both forms of a request target: `/a?b` and `http://host/a?b`.
[[nodiscard]] HttpTarget parse_target(std::string_view target);

// "/v1/models" of "/llm/v1/models", "/" of "/llm". False: the path does not begin with the prefix.
[[nodiscard]] bool take_prefix(std::string& path, std::string_view prefix);

[[nodiscard]] bool equals_ignoring_case(std::string_view a, std::string_view b);

// How the receiver finds the end of the body.
enum class BodyFraming { kNone, kLength, kChunked, kUntilClose };

// False for the statuses that forbid a body: 1xx, 204, 304.
[[nodiscard]] bool status_has_body(int status);

// Status line and header block. A line break inside a header's value becomes a
// space, so that no value can forge a header.
[[nodiscard]] std::string response_head(const HttpResponse& response, BodyFraming framing,
                                        bool keep_alive);

// REQUIRES: data is not empty; an empty chunk would end the body.
void append_chunk(std::string& out, std::string_view data);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

// The answer to a failure when the options give no error_page.
[[nodiscard]] HttpResponse default_error_page(int status, std::string_view message);

}  // namespace holdfast::api
