// HttpConnection: one client's requests, one after the other, until it or we
// have had enough. Lives on the I/O thread.
//
// While it waits for a request it holds a socket, a small read buffer and a
// coroutine; parser, handler state and send buffers exist only during a request.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <memory>
#include <optional>
#include <string_view>

#include "api/http_exchange.h"
#include "api/http_request_reader.h"
#include "api/http_transport.h"

namespace holdfast::api {

class HttpConnection {
 public:
  // REQUIRES: service outlives the connection.
  HttpConnection(std::unique_ptr<HttpTransport> transport, const HttpService& service);

  // Serves until the connection ends. The connection must outlive the coroutine.
  boost::asio::awaitable<void> run();
  // Instead of run(): answers 503 to whatever is asked, and closes (HTTP-3).
  boost::asio::awaitable<void> refuse();

  // Closes if no request has begun. REQUIRES: service.draining is set already.
  void drain();
  // Closes the socket; a handler under way learns that its client has gone.
  void close();
  // Fails what a handler under way waits for.
  void cancel_handler();
  // Ends what has outlived its deadline.
  void expire(HttpTransport::TimePoint now) { transport_->expire(now); }

 private:
  // One request, while it arrives.
  struct Reading {
    HttpRequestReader reader;
    BodyHold hold;
    std::optional<HttpResponse> refusal = {};  // instead of reading on
  };

  boost::asio::awaitable<bool> serve_one();
  boost::asio::awaitable<bool> wait_for_request();
  boost::asio::awaitable<std::optional<IncomingRequest>> read_request();
  boost::asio::awaitable<bool> read_into(Reading& reading);
  boost::asio::awaitable<bool> read_more(std::size_t bytes_max);
  boost::asio::awaitable<bool> write_all(std::string_view bytes);
  boost::asio::awaitable<void> answer_failure(int status, std::string_view message,
                                              HttpRequest head);
  boost::asio::awaitable<void> answer_and_close(HttpResponse page);
  void use_buffered(HttpRequestReader& reader);
  [[nodiscard]] std::optional<HttpResponse> refusal_of(const Reading& reading) const;
  void release_buffer();

  const std::unique_ptr<HttpTransport> transport_;
  const HttpService& service_;
  boost::beast::flat_buffer buffer_;  // read, but not used yet
  std::shared_ptr<HttpExchange> exchange_;
  bool waiting_ = false;  // for the first byte of a request
  bool served_any_ = false;
};

}  // namespace holdfast::api
