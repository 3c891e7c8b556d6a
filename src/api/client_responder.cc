#include "api/client_responder.h"

#include <nlohmann/json.hpp>

#include "api/json_fields.h"

namespace holdfast::api {

namespace asio = boost::asio;

std::string reason_in(std::string_view body) {
  const Result<Json> parsed = parse_json(body);
  if (!parsed.ok() || !parsed->is_object() || !parsed->contains("error")) return "";
  const Json& error = parsed->at("error");
  if (error.is_string()) return error.get<std::string>();
  if (!error.is_object() || !error.contains("message")) return "";
  const Json& message = error.at("message");
  return message.is_string() ? message.get<std::string>() : "";
}

ClientResponder::~ClientResponder() {
  const bool unanswered = end_.status == 0;
  if (unanswered && !inner_.gone()) return;
  if (!ended_ && inner_.gone()) end_.why = "the client left";  // cancelling is what follows
  if (!ended_ && end_.why.empty()) end_.why = "it was cut off";
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - began_;
  end_.ms = taken.count();
  log_request(request_, end_);
}

asio::awaitable<void> ClientResponder::send(HttpResponse response) {
  end_.status = response.status;
  if (response.status >= 400) end_.why = reason_in(response.body);
  ended_ = true;
  return inner_.send(with_headers(std::move(response)));
}

asio::awaitable<void> ClientResponder::begin_stream(HttpResponse response) {
  end_.status = response.status;
  return inner_.begin_stream(with_headers(std::move(response)));
}

asio::awaitable<void> ClientResponder::end_stream() {
  ended_ = !inner_.gone();
  return inner_.end_stream();
}

HttpResponse ClientResponder::with_headers(HttpResponse response) const {
  response.headers.insert(response.headers.end(), headers_.begin(), headers_.end());
  return response;
}

}  // namespace holdfast::api
