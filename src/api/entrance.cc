#include "api/entrance.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "api/client_envelope.h"
#include "api/web_page.h"

namespace holdfast::api {

namespace {

Error wrong_key() {
  return {ErrorCode::kUnauthorized,
          "The API key is missing or wrong. Send it as 'Authorization: Bearer KEY' or "
          "'x-api-key: KEY'.",
          ""};
}

bool is_open_to_all(const HttpRequest& request) {
  const std::string_view path = without_version(request.path);
  return path == "/health" || asks_for_page(request) ||
         (request.method != "POST" && path == "/api/hello");
}

bool may_ask(KeyRole role, const HttpRequest& request) {
  constexpr std::array<std::string_view, 7> kFigures = {
      "/metrics", "/slots", "/cache", "/cache/tree", "/cache/events", "/models", "/props"};
  const std::string_view path = without_version(request.path);
  if (role == KeyRole::kAdmin) return true;
  if (role == KeyRole::kUser) return path != "/metrics";
  const bool reads = request.method == "GET" || request.method == "HEAD";
  return reads && std::ranges::count(kFigures, path) > 0;
}

HttpResponse wrong_role(KeyRole role, const HttpRequest& request) {
  return refusal_for(request, 403,
                     role == KeyRole::kUser
                         ? "This key has the role user. Figures about all who use the server are "
                           "for the roles metrics and admin (--api-key-file)."
                         : "This key has the role metrics, which reads figures and no more. Using "
                           "the model needs the role user or admin (--api-key-file).");
}

}  // namespace

Entrance::Entrance(const EntranceOptions& options)
    : keys_(options.api_keys, options.file_keys, options.api_key_file),
      web_(options.web),
      page_(options.page) {
  if (options.api_key_file.empty()) return;
  key_watch_.emplace(options.api_key_file, [this] { (void)reload_keys(); });
}

std::optional<HttpResponse> Entrance::refuse(const HttpRequest& request) const {
  if (auto refused = web_.refuse(request, keys_.required())) return refused;
  if (request.method == "OPTIONS" || is_open_to_all(request)) return std::nullopt;
  const auto asker = keys_.who(request);
  if (!asker) return refusal_for(request, wrong_key());
  if (!may_ask(asker->role, request)) return wrong_role(asker->role, request);
  return std::nullopt;
}

Asker Entrance::who(const HttpRequest& request) const {
  return keys_.who(request).value_or(Asker{});
}

}  // namespace holdfast::api
