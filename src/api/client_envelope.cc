#include "api/client_envelope.h"

#include <algorithm>
#include <string>

#include "api/anthropic_errors.h"
#include "api/ollama_errors.h"
#include "api/openai_errors.h"

namespace holdfast::api {
namespace {

constexpr std::size_t kNearMax = 4;

// How many letters of either have no partner in the other, in order (edit distance
// without replacements).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = a[i - 1] == b[j - 1] ? diagonal : std::min(above, row[j - 1]) + 1;
      diagonal = above;
    }
  }
  return row.back();
}

// Paths longer than this are nobody's slip of the pen.
constexpr std::size_t kPathMax = 128;

std::vector<std::string_view> nearest(std::string_view path, std::vector<std::string_view> paths) {
  path = path.substr(0, kPathMax);
  std::ranges::stable_sort(paths, {}, [&](std::string_view one) { return distance(path, one); });
  paths.resize(std::min(paths.size(), kNearMax));
  return paths;
}

}  // namespace

std::string_view without_version(std::string_view path) {
  return path.starts_with("/v1/") ? path.substr(3) : path;
}

bool speaks_anthropic(const HttpRequest& request) {
  const std::string_view path = without_version(request.path);
  return !request.header("anthropic-version").empty() || path == "/messages" ||
         path.starts_with("/messages/");
}

bool speaks_ollama(const HttpRequest& request) {
  const std::string_view path = without_version(request.path);
  return path.starts_with("/api/") && path != "/api/hello";
}

HttpResponse refusal_for(const HttpRequest& request, const Error& error) {
  if (speaks_ollama(request)) return ollama_error_response(error);
  return speaks_anthropic(request) ? anthropic_error_response(error) : error_response(error);
}

HttpResponse refusal_for(const HttpRequest& request, int status, std::string_view message) {
  if (speaks_ollama(request)) return ollama_http_error(status, message);
  if (speaks_anthropic(request)) return anthropic_http_error(status, message);
  return {.status = status, .body = http_error_json(status, message)};
}

HttpResponse no_such_path(const HttpRequest& request, const std::vector<std::string_view>& paths) {
  std::string near;
  for (const std::string_view path : nearest(without_version(request.path), paths)) {
    near += near.empty() ? "" : ", ";
    (near += path.starts_with("/api/") ? "" : "/v1") += path;
  }
  return refusal_for(request, {ErrorCode::kNotFound,
                               "There is no " + request.method + " " + request.path +
                                   " here. What comes nearest: " + near + ".",
                               ""});
}

}  // namespace holdfast::api
