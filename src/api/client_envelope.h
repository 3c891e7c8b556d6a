// Errors that come before any protocol's own handler, in the envelope of the client
// that asked: Anthropic's for those who send `anthropic-version` or ask for
// /v1/messages, Ollama's below /api/, OpenAI's for everybody else.
#pragma once

#include <string_view>
#include <vector>

#include "api/http_server.h"
#include "base/result.h"

namespace holdfast::api {

[[nodiscard]] bool speaks_anthropic(const HttpRequest& request);
[[nodiscard]] bool speaks_ollama(const HttpRequest& request);

[[nodiscard]] HttpResponse refusal_for(const HttpRequest& request, const Error& error);
// For failures that have a status and no ErrorCode, such as 405.
[[nodiscard]] HttpResponse refusal_for(const HttpRequest& request, int status,
                                       std::string_view message);

// 404 for a path that does not exist, with those of `paths` that are most like it.
[[nodiscard]] HttpResponse no_such_path(const HttpRequest& request,
                                        const std::vector<std::string_view>& paths);

// "/v1/models" and "/models" are the same.
[[nodiscard]] std::string_view without_version(std::string_view path);

}  // namespace holdfast::api
