#include "api/web_rules.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>

#include "api/client_envelope.h"
#include "api/http_message.h"
#include "api/request_log.h"

namespace holdfast::api {
namespace {

// --- names and addresses -------------------------------------------------------------------

// "a.example" of "a.example:8080" and "a.example.", "::1" of "[::1]:8080".
std::string_view host_of(std::string_view authority) {
  if (authority.starts_with('[')) return authority.substr(1, authority.find(']') - 1);
  std::string_view name = authority.substr(0, authority.find(':'));
  if (name.ends_with('.')) name.remove_suffix(1);
  return name;
}

std::optional<boost::asio::ip::address> address_of(std::string_view host) {
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(std::string(host), error);
  return error ? std::nullopt : std::optional(address);
}

bool ends_with_label(std::string_view name, std::string_view suffix) {
  return name.size() > suffix.size() &&
         equals_ignoring_case(name.substr(name.size() - suffix.size()), suffix);
}

bool is_localhost(std::string_view name) {
  return equals_ignoring_case(name, "localhost") || ends_with_label(name, ".localhost");
}

bool is_this_machine(std::string_view host) {
  const auto address = address_of(host);
  return address ? address->is_loopback() : is_localhost(host);
}

// Names that no public name server answers for.
bool is_local_name(std::string_view name) {
  constexpr std::array<std::string_view, 3> kReserved = {".local", ".internal", ".home.arpa"};
  return name.find('.') == std::string_view::npos ||
         std::ranges::any_of(kReserved, [&](auto suffix) { return ends_with_label(name, suffix); });
}

std::string machine_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

// --- origins -------------------------------------------------------------------------------

// "a.example:8080" of "http://a.example:8080".
std::string_view authority_of(std::string_view origin) {
  const auto scheme = origin.find("://");
  return scheme == std::string_view::npos ? std::string_view() : origin.substr(scheme + 3);
}

bool is_web_page(std::string_view origin) {
  return origin.starts_with("http://") || origin.starts_with("https://");
}

// A proxy may have taken TLS off, so the scheme is not compared.
bool same_origin(std::string_view origin, std::string_view host) {
  return is_web_page(origin) && !host.empty() && equals_ignoring_case(authority_of(origin), host);
}

bool matches(std::string_view rule, std::string_view origin) {
  if (rule == "localhost")
    return is_web_page(origin) && is_this_machine(host_of(authority_of(origin)));
  if (rule.ends_with('*')) return origin.starts_with(rule.substr(0, rule.size() - 1));
  return equals_ignoring_case(rule, origin);
}

bool is_preflight(const HttpRequest& request) {
  return request.method == "OPTIONS" && !request.header("Origin").empty();
}

// Somebody follows a link, and sees the answer; the page with the link does not.
bool is_followed_link(const HttpRequest& request) {
  return (request.method == "GET" || request.method == "HEAD") &&
         request.header("Sec-Fetch-Mode") == "navigate" &&
         request.header("Sec-Fetch-Dest") == "document";
}

// --- refusals ------------------------------------------------------------------------------

HttpResponse unknown_host(const HttpRequest& request, std::string_view name) {
  const std::string shown(name.substr(0, kClientTextMax));
  return refusal_for(request, 403,
                     "This server does not know the name '" + shown +
                         "' that it was asked by. If it is one of its names, start it with "
                         "--allowed-hosts " +
                         shown + " (several with commas, * for any), or with --api-key.");
}

HttpResponse foreign_page(const HttpRequest& request) {
  const std::string origin(request.header("Origin").substr(0, kClientTextMax));
  const bool named = !origin.empty() && origin != "null";
  return refusal_for(request, 403,
                     "Web pages of " + (named ? origin : std::string("other sites")) +
                         " may not use this server. To allow it, start the server with "
                         "--cors-origins " +
                         (named ? origin : std::string("ORIGIN")) +
                         " (several with commas; localhost: pages of this machine).");
}

}  // namespace

WebRules::WebRules(WebOptions options)
    : options_(std::move(options)),
      own_name_(machine_name()),
      local_(std::ranges::all_of(options_.hosts, [](const std::string& host) {
        return is_unix_socket(host) || is_this_machine(host);
      })) {}

bool WebRules::knows_host(std::string_view name) const {
  const auto is = [&](std::string_view known) { return equals_ignoring_case(name, known); };
  if (name.empty() || is_localhost(name) || address_of(name)) return true;
  if (is(own_name_) || is(own_name_ + ".local")) return true;
  if (std::ranges::any_of(options_.hosts, is)) return true;
  if (!local_ && is_local_name(name)) return true;
  return std::ranges::any_of(options_.allowed_hosts, [&](const std::string& known) {
    return known == "*" || is(host_of(known));
  });
}

bool WebRules::allows(std::string_view origin) const {
  return std::ranges::any_of(options_.cors_origins,
                             [&](const std::string& rule) { return matches(rule, origin); });
}

bool WebRules::allows_all_origins() const {
  return std::ranges::count(options_.cors_origins, "*") > 0;
}

// Browsers send an Origin with all that may change something and all that a page may read; where
// they do not, for images and scripts, newer ones say so in Sec-Fetch-Site.
bool WebRules::from_foreign_page(const HttpRequest& request) const {
  const std::string_view origin = request.header("Origin");
  if (!origin.empty()) return !same_origin(origin, request.header("Host")) && !allows(origin);
  const std::string_view site = request.header("Sec-Fetch-Site");
  const bool foreign = site == "cross-site" || site == "same-site";
  return foreign && !allows_all_origins() && !is_followed_link(request);
}

std::optional<HttpResponse> WebRules::refuse(const HttpRequest& request, bool keys_required) const {
  if (!keys_required && !is_preflight(request) && from_foreign_page(request))
    return foreign_page(request);
  if (request.peer == kUnixPeer) return std::nullopt;  // no name leads there
  const std::string_view name = host_of(request.header("Host"));
  if (keys_required || allows_all_origins() || knows_host(name)) return std::nullopt;
  return unknown_host(request, name);
}

// A preflight carries no key; what follows it must.
bool WebRules::grants(const HttpRequest& request, bool keys_required) const {
  const std::string_view origin = request.header("Origin");
  if (origin.empty()) return false;
  if (allows(origin)) return true;
  if (!keys_required || !options_.cors_origins.empty()) return false;
  return is_preflight(request) || !request.header("Authorization").empty() ||
         !request.header("X-Api-Key").empty();
}

std::vector<std::pair<std::string, std::string>> WebRules::headers_for(const HttpRequest& request,
                                                                       bool keys_required) const {
  if (!grants(request, keys_required)) return {};
  const std::string origin(request.header("Origin"));
  std::vector<std::pair<std::string, std::string>> headers = {
      {"Access-Control-Allow-Origin", origin}, {"Vary", "Origin"}};
  // Cookies of a proxy in front, say. Not for origins that nobody named.
  if (allows(origin) && !allows_all_origins())
    headers.emplace_back("Access-Control-Allow-Credentials", "true");
  return headers;
}

HttpResponse WebRules::preflight(const HttpRequest& request, bool keys_required) const {
  // 200: old proxies know no 204.
  HttpResponse response{.headers = headers_for(request, keys_required)};
  if (response.headers.empty()) {
    if (is_preflight(request) && from_foreign_page(request))
      response.body = foreign_page(request).body;
    return response;
  }
  auto& headers = response.headers;
  headers.emplace_back("Access-Control-Allow-Methods", "GET, POST, DELETE, OPTIONS");
  const std::string_view asked = request.header("Access-Control-Request-Headers");
  headers.emplace_back(
      "Access-Control-Allow-Headers",
      asked.empty() ? "Authorization, Content-Type, X-Api-Key" : std::string(asked));
  headers.emplace_back("Access-Control-Max-Age", "86400");
  // Chromium asks before a page of the internet reaches into a private network.
  if (request.header("Access-Control-Request-Private-Network") == "true")
    headers.emplace_back("Access-Control-Allow-Private-Network", "true");
  return response;
}

}  // namespace holdfast::api
