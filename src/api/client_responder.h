// ClientResponder: adds to whatever a handler answers what the client's page needs
// (CORS), and writes a line into the log: refusals with their reason, so that one can see
// what an agent asked for in vain; everything else at the level of debugging.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "api/http_server.h"

namespace holdfast::api {

class ClientResponder final : public HttpResponder {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;

  // REQUIRES: request and inner outlive this.
  ClientResponder(const HttpRequest& request, HttpResponder& inner, Headers headers)
      : request_(request), inner_(inner), headers_(std::move(headers)) {}

  boost::asio::awaitable<void> send(HttpResponse response) override;
  boost::asio::awaitable<void> begin_stream(HttpResponse response) override;
  boost::asio::awaitable<void> write(std::string_view piece) override {
    return inner_.write(piece);
  }
  boost::asio::awaitable<void> end_stream() override { return inner_.end_stream(); }
  [[nodiscard]] bool gone() const override { return inner_.gone(); }
  void on_gone(std::function<void()> callback) override { inner_.on_gone(std::move(callback)); }

 private:
  [[nodiscard]] HttpResponse with_headers(HttpResponse response) const;
  void log(const HttpResponse& response) const;

  const HttpRequest& request_;
  HttpResponder& inner_;
  Headers headers_;
};

}  // namespace holdfast::api
