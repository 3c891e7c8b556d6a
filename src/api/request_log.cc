#include "api/request_log.h"

#include <algorithm>
#include <array>

#include "api/client_envelope.h"
#include "api/session_id.h"
#include "api/web_page.h"
#include "env/log.h"

namespace holdfast::api {
namespace {

std::string_view front_of(std::string_view text, std::size_t most = kClientTextMax) {
  return text.substr(0, most);
}

std::string_view or_dash(std::string_view text) { return text.empty() ? "-" : front_of(text); }

double rounded(double value) { return static_cast<double>(static_cast<long>(value * 10.0)) / 10.0; }

void write(env::LogLevel level, env::LogFields fields) {
  env::Log::logger().write(level, "request", fields);
}

}  // namespace

bool is_polled(const HttpRequest& request) {
  constexpr std::array<std::string_view, 9> kPolled = {
      "/health",       "/metrics",        "/slots", "/cache",    "/cache/tree",
      "/cache/events", "/cache/receipts", "/props", "/api/hello"};
  const bool reads = request.method == "GET" || request.method == "HEAD";
  return request.method == "OPTIONS" ||
         (reads && (asks_for_page(request) ||
                    std::ranges::count(kPolled, without_version(request.path)) > 0));
}

void log_request(const HttpRequest& request, const RequestEnd& end) {
  // Who waits for the model asks for both again and again.
  const std::string_view asked = without_version(request.path);
  const bool loading = end.status == 503 && (asked == "/health" || asked == "/models");
  const bool refused = end.status >= 400 && !loading;
  const bool silent = end.status == 408 && request.method.empty();  // a connection kept in reserve
  const auto level = silent || loading || (is_polled(request) && !refused) ? env::LogLevel::kDebug
                                                                           : env::LogLevel::kInfo;
  const std::string_view method = or_dash(request.method);
  const std::string_view path = or_dash(request.path);
  const std::string named = end.session.empty() ? session_of(request) : end.session;
  const std::string_view session = or_dash(named);
  const std::string_view client = or_dash(request.peer);
  const std::string_view agent = or_dash(request.header("user-agent"));
  const std::string_view why = front_of(end.why, kReasonMax);
  const double ms = rounded(end.ms);
  const RequestTokens& tokens = end.tokens;
  if (end.for_model && why.empty()) {
    write(level, {{"method", method},
                  {"path", path},
                  {"status", end.status},
                  {"client", client},
                  {"session", session},
                  {"cached", tokens.cached},
                  {"read", tokens.read},
                  {"wrote", tokens.wrote},
                  {"ms", ms}});
  } else if (!why.empty()) {
    write(level, {{"method", method},
                  {"path", path},
                  {"status", end.status},
                  {"client", client},
                  {"session", session},
                  {"ms", ms},
                  {"agent", agent},
                  {"why", why}});
  } else {
    write(level, {{"method", method},
                  {"path", path},
                  {"status", end.status},
                  {"client", client},
                  {"session", session},
                  {"ms", ms}});
  }
}

}  // namespace holdfast::api
