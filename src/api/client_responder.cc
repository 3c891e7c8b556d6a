#include "api/client_responder.h"

#include <nlohmann/json.hpp>

#include "api/json_fields.h"
#include "env/log.h"

namespace holdfast::api {

namespace asio = boost::asio;

namespace {

// What a client can write into one field of a line, and a reason that may quote it.
constexpr std::size_t kFieldMax = 128;
constexpr std::size_t kReasonMax = 512;

std::string_view front_of(std::string_view text, std::size_t most) { return text.substr(0, most); }

// error.message, which the envelopes of all protocols have.
std::string reason_in(std::string_view body) {
  const Result<Json> parsed = parse_json(body);
  if (!parsed.ok() || !parsed->is_object() || !parsed->contains("error")) return "";
  const Json& error = parsed->at("error");
  if (!error.is_object() || !error.contains("message")) return "";
  const Json& message = error.at("message");
  return message.is_string() ? message.get<std::string>().substr(0, kReasonMax) : "";
}

}  // namespace

asio::awaitable<void> ClientResponder::send(HttpResponse response) {
  log(response);
  return inner_.send(with_headers(std::move(response)));
}

asio::awaitable<void> ClientResponder::begin_stream(HttpResponse response) {
  log(response);
  return inner_.begin_stream(with_headers(std::move(response)));
}

HttpResponse ClientResponder::with_headers(HttpResponse response) const {
  response.headers.insert(response.headers.end(), headers_.begin(), headers_.end());
  return response;
}

void ClientResponder::log(const HttpResponse& response) const {
  const std::string_view path = front_of(request_.path, kFieldMax);
  const bool polled = request_.path == "/health";  // again and again while a model loads
  if (response.status < 400 || polled) {
    env::Log::debug("answered",
                    {{"method", request_.method}, {"path", path}, {"status", response.status}});
    return;
  }
  env::Log::info("refused", {{"method", request_.method},
                             {"path", path},
                             {"status", response.status},
                             {"agent", front_of(request_.header("user-agent"), kFieldMax)},
                             {"why", reason_in(response.body)}});
}

}  // namespace holdfast::api
