// Errors as Ollama writes them: {"error": "a sentence"}.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/context_overflow.h"
#include "api/http_server.h"
#include "base/result.h"

namespace holdfast::api {

[[nodiscard]] std::string ollama_error_json(std::string_view message);
[[nodiscard]] HttpResponse ollama_error_response(
    const Error& error, const std::optional<ContextOverflow>& overflow = std::nullopt);
// For failures of HTTP itself, which have a status and no ErrorCode.
[[nodiscard]] HttpResponse ollama_http_error(int status, std::string_view message);

// The answer to what Ollama does with a library of models (pull, create, copy ...), whatever the
// method; nullopt: the path is another one.
[[nodiscard]] std::optional<HttpResponse> refuse_library(const HttpRequest& request);

}  // namespace holdfast::api
