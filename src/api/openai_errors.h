// Errors in OpenAI's envelope, with their HTTP statuses.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/context_overflow.h"
#include "api/http_server.h"
#include "base/result.h"

namespace holdfast::api {

[[nodiscard]] int http_status(ErrorCode code);
// {"error":{"message","type","param","code"}}. `code` is OpenAI's word for the
// error or null, never a number: typed clients expect a string. `overflow`
// belongs to kContextExceeded.
[[nodiscard]] std::string error_json(const Error& error,
                                     const std::optional<ContextOverflow>& overflow = std::nullopt);
// For failures of HTTP itself, which have a status and no ErrorCode.
[[nodiscard]] std::string http_error_json(int status, std::string_view message);

// An Error as an HTTP answer.
[[nodiscard]] HttpResponse error_response(
    const Error& error, const std::optional<ContextOverflow>& overflow = std::nullopt);

}  // namespace holdfast::api
