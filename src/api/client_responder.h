// ClientResponder: adds to whatever a handler answers what the client's page needs
// (CORS), and writes the request's line into the log when it is over (request_log.h).
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/http_server.h"
#include "api/request_log.h"

namespace holdfast::api {

// The error.message of a refusal, or Ollama's "error"; empty: none.
[[nodiscard]] std::string reason_in(std::string_view body);

class ClientResponder final : public HttpResponder {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;

  // REQUIRES: request and inner outlive this.
  ClientResponder(const HttpRequest& request, HttpResponder& inner, Headers headers)
      : request_(request), inner_(inner), headers_(std::move(headers)) {}
  ClientResponder(const ClientResponder&) = delete;
  ClientResponder& operator=(const ClientResponder&) = delete;
  // A request that was neither answered nor left by its client has failed, and what
  // answers in its place writes the line (HttpServerOptions::error_page).
  ~ClientResponder() override;

  boost::asio::awaitable<void> send(HttpResponse response) override;
  boost::asio::awaitable<void> begin_stream(HttpResponse response) override;
  boost::asio::awaitable<void> write(std::string_view piece) override {
    return inner_.write(piece);
  }
  boost::asio::awaitable<void> end_stream() override;
  [[nodiscard]] bool gone() const override { return inner_.gone(); }
  void on_gone(std::function<void()> callback) override { inner_.on_gone(std::move(callback)); }

  // What the line will say of the tokens; for the handler of this request.
  [[nodiscard]] RequestEnd& note() { return end_; }

 private:
  [[nodiscard]] HttpResponse with_headers(HttpResponse response) const;

  const HttpRequest& request_;
  HttpResponder& inner_;
  const Headers headers_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  RequestEnd end_;
  bool ended_ = false;
};

}  // namespace holdfast::api
