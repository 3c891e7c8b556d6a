#include "api/http_message.h"

#include <algorithm>
#include <boost/beast/http/status.hpp>
#include <charconv>

namespace holdfast::api {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

char ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

void append_header(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ");
  for (const char c : value) out.push_back(c == '\r' || c == '\n' ? ' ' : c);
  out.append("\r\n");
}

// Headers that follow from how the body is sent; a handler's own would contradict it.
bool is_framing_header(std::string_view name) {
  return equals_ignoring_case(name, "Content-Length") ||
         equals_ignoring_case(name, "Transfer-Encoding") ||
         equals_ignoring_case(name, "Connection");
}

std::string reason_phrase(int status) {
  namespace http = boost::beast::http;
  if (status == 529) return "Overloaded";  // Anthropic's own
  return std::string(http::obsolete_reason(http::int_to_status(static_cast<unsigned>(status))));
}

std::string status_line(int status) {
  return "HTTP/1.1 " + std::to_string(status) + " " + reason_phrase(status) + "\r\n";
}

void append_framing(std::string& head, const HttpResponse& response, BodyFraming framing) {
  if (framing == BodyFraming::kLength) {
    append_header(head, "Content-Length", std::to_string(response.body.size()));
  } else if (framing == BodyFraming::kChunked) {
    append_header(head, "Transfer-Encoding", "chunked");
  }
}

std::string_view without_scheme_and_host(std::string_view target) {
  if (target.starts_with('/')) return target;
  const auto scheme = target.find("://");
  if (scheme == std::string_view::npos) return target;
  const auto path = target.find_first_of("/?", scheme + 3);
  return path == std::string_view::npos ? std::string_view("/") : target.substr(path);
}

}  // namespace

std::string percent_decode(std::string_view text, PlusSign plus) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
                        hex_digit(text[i + 2]) >= 0;
    if (escape) {
      out.push_back(static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])));
      i += 2;
    } else {
      out.push_back(text[i] == '+' && plus == PlusSign::kSpace ? ' ' : text[i]);
    }
  }
  return out;
}

HttpTarget parse_target(std::string_view target) {
  target = without_scheme_and_host(target.substr(0, target.find('#')));
  const auto mark = target.find('?');
  HttpTarget parsed{percent_decode(target.substr(0, mark), PlusSign::kLiteral), {}};
  if (mark != std::string_view::npos) parsed.query = target.substr(mark + 1);
  if (parsed.path.empty()) parsed.path = "/";
  return parsed;
}

bool take_prefix(std::string& path, std::string_view prefix) {
  if (prefix.empty()) return true;
  if (!path.starts_with(prefix)) return false;
  const std::string_view rest = std::string_view(path).substr(prefix.size());
  if (!rest.empty() && rest.front() != '/') return false;
  path.erase(0, prefix.size());
  if (path.empty()) path = "/";
  return true;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, ascii_lower, ascii_lower);
}

bool status_has_body(int status) { return status >= 200 && status != 204 && status != 304; }

std::string response_head(const HttpResponse& response, BodyFraming framing, bool keep_alive) {
  std::string head = status_line(response.status);
  append_header(head, "Server", "holdfast");
  if (framing != BodyFraming::kNone && !response.content_type.empty()) {
    append_header(head, "Content-Type", response.content_type);
  }
  append_framing(head, response, framing);
  append_header(head, "Connection", keep_alive ? "keep-alive" : "close");
  for (const auto& [name, value] : response.headers) {
    if (!is_framing_header(name)) append_header(head, name, value);
  }
  return head.append("\r\n");
}

void append_chunk(std::string& out, std::string_view data) {
  char size[16];
  const auto end = std::to_chars(std::begin(size), std::end(size), data.size(), 16).ptr;
  out.append(size, end).append("\r\n").append(data).append("\r\n");
}

HttpResponse default_error_page(int status, std::string_view message) {
  const std::string_view type = status < 500 ? "invalid_request_error" : "server_error";
  HttpResponse page;
  page.status = status;
  page.body.append(R"({"error":{"message":")").append(message);
  page.body.append(R"(","type":")").append(type);
  page.body.append(R"(","code":)").append(std::to_string(status)).append("}}");
  return page;
}

std::string_view HttpRequest::header(std::string_view name) const {
  const auto found = std::ranges::find_if(
      headers, [&](const auto& field) { return equals_ignoring_case(field.first, name); });
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

std::string HttpRequest::query_value(std::string_view name) const {
  for (std::string_view rest = query; !rest.empty();) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    const auto equals = pair.find('=');
    if (percent_decode(pair.substr(0, equals), PlusSign::kSpace) != name) continue;
    if (equals == std::string_view::npos) return {};
    return percent_decode(pair.substr(equals + 1), PlusSign::kSpace);
  }
  return {};
}

}  // namespace holdfast::api
