#include "api/web_page.h"

#include <algorithm>

#include "api/client_envelope.h"

namespace holdfast::api {
namespace {

constexpr std::string_view kAssets = "/assets/";
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src "
    "'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

bool lists(std::string_view header, std::string_view word) {
  return header.find(word) != std::string_view::npos;
}

bool takes_gzip(const HttpRequest& request) {
  return lists(request.header("Accept-Encoding"), "gzip");
}

bool wants_html(const HttpRequest& request) {
  return lists(request.header("Accept"), "text/html") && takes_gzip(request);
}

HttpResponse file_response(const HttpRequest& request, const WebFile& file) {
  const bool known = lists(request.header("If-None-Match"), file.etag);
  const bool asset = file.path.starts_with(kAssets);
  HttpResponse response{.status = known ? 304 : 200, .content_type = std::string(file.type)};
  response.headers = {
      {"Content-Security-Policy", kPolicy},
      {"X-Content-Type-Options", "nosniff"},
      {"Referrer-Policy", "no-referrer"},
      {"Cross-Origin-Opener-Policy", "same-origin"},
      {"ETag", std::string(file.etag)},
      {"Cache-Control", asset ? "public, max-age=31536000, immutable" : "no-cache"},
      {"Vary", "Accept, Accept-Encoding"},
  };
  if (known) return response;
  response.headers.emplace_back("Content-Encoding", "gzip");
  response.body = file.gzip;
  return response;
}

}  // namespace

bool asks_for_page(const HttpRequest& request) {
  return request.method != "POST" && (request.path == "/" || request.path.starts_with(kAssets));
}

std::optional<HttpResponse> web_page(const HttpRequest& request, std::span<const WebFile> files) {
  const auto file = std::ranges::find(files, std::string_view(request.path), &WebFile::path);
  const bool asset = request.path.starts_with(kAssets);
  if (file == files.end()) {
    if (!asset) return std::nullopt;
    return refusal_for(request, 404, "There is no such file. Load the page again.");
  }
  if (!asset && !wants_html(request)) return std::nullopt;
  if (!takes_gzip(request)) {
    return refusal_for(request, 406,
                       "This file is sent compressed: ask with Accept-Encoding: gzip.");
  }
  return file_response(request, *file);
}

}  // namespace holdfast::api
