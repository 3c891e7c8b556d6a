// Errors in Anthropic's envelope, with Anthropic's HTTP statuses.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/context_overflow.h"
#include "api/http_server.h"
#include "base/result.h"

namespace holdfast::api {

// The request field for conversations that a server holds. An Error of this field carries the
// details that make Anthropic's SDK send the whole conversation instead.
inline constexpr std::string_view kThreadField = "thread";

// {"type":"error","error":{"type","message"},"request_id"}. `overflow` belongs to
// kContextExceeded; Claude Code reads its numbers from the message. An empty
// `request_id` is left out.
[[nodiscard]] std::string anthropic_error_json(
    const Error& error, const std::optional<ContextOverflow>& overflow = std::nullopt,
    std::string_view request_id = {});

// An Error as an HTTP answer.
[[nodiscard]] HttpResponse anthropic_error_response(
    const Error& error, const std::optional<ContextOverflow>& overflow = std::nullopt);

// For failures that have a status and no ErrorCode, such as 405.
[[nodiscard]] HttpResponse anthropic_http_error(int status, std::string_view message);

}  // namespace holdfast::api
