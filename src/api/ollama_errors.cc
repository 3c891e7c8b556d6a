#include "api/ollama_errors.h"

#include <algorithm>
#include <array>

#include "api/client_envelope.h"
#include "api/json_fields.h"
#include "api/openai_errors.h"

namespace holdfast::api {

std::string ollama_error_json(std::string_view message) {
  std::string out;
  ObjectWriter(out).text("error", message);
  return out;
}

// What a model cannot do is a mistake of the client's there.
HttpResponse ollama_error_response(const Error& error, const std::optional<ContextOverflow>&) {
  const int status = error.code == ErrorCode::kUnsupported ? 400 : http_status(error.code);
  HttpResponse response{.status = status, .body = ollama_error_json(error.message)};
  if (error.code == ErrorCode::kUnavailable) response.headers.emplace_back("Retry-After", "5");
  return response;
}

HttpResponse ollama_http_error(int status, std::string_view message) {
  return {.status = status, .body = ollama_error_json(message)};
}

std::optional<HttpResponse> refuse_library(const HttpRequest& request) {
  constexpr std::array<std::string_view, 5> kLibrary = {"/api/pull", "/api/push", "/api/create",
                                                        "/api/copy", "/api/delete"};
  const std::string_view path = without_version(request.path);
  if (std::ranges::count(kLibrary, path) == 0 && !path.starts_with("/api/blobs/"))
    return std::nullopt;
  return ollama_http_error(501,
                           "Holdfast serves the one model that it was started with "
                           "(--model FILE), and neither fetches, makes nor removes models.");
}

}  // namespace holdfast::api
