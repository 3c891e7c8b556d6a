// HttpServer: HTTP/1.1 over TCP or TLS, every connection a coroutine on one
// I/O thread. It knows nothing of models; handlers do.
//
// Limits are part of the contract, so that no client can hold more than its share:
//   L1  a header block over `header_bytes_max`, or not complete within
//       `header_timeout`, ends the connection (431 / 408)
//   L2  a body over `body_bytes_max` gets 413, without being read into memory
//   L3  at most `connections_max` connections; one more gets 503 and is closed
//   L4  unsent bytes of one response never exceed `send_buffer_max`; a client
//       that reads slower loses its connection, not the server's memory
//   L5  a client that takes no byte for `write_timeout` is disconnected
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace holdfast {

struct HttpRequest {
  std::string method;   // "GET"
  std::string path;     // percent-decoded, without the query: "/v1/models"
  std::string query;    // raw text after '?', or empty
  std::vector<std::pair<std::string, std::string>> headers;  // in order of arrival
  std::string body;
  std::string peer;     // "127.0.0.1:51234"

  // Value of a header, case-insensitive; empty when absent.
  [[nodiscard]] std::string_view header(std::string_view name) const;
  // Value of a query parameter, percent-decoded; empty when absent.
  [[nodiscard]] std::string query_value(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json; charset=utf-8";
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
};

// Answers one request. Lives on the I/O thread.
class HttpResponder {
 public:
  virtual ~HttpResponder() = default;

  // The whole answer at once. Exactly one of send() or begin_stream() is called.
  virtual boost::asio::awaitable<void> send(HttpResponse response) = 0;

  // Sends the head of a chunked answer; `response.body` is its first piece.
  virtual boost::asio::awaitable<void> begin_stream(HttpResponse response) = 0;
  // Sends one piece. After the client has gone this does nothing.
  virtual boost::asio::awaitable<void> write(std::string_view piece) = 0;
  virtual boost::asio::awaitable<void> end_stream() = 0;

  // True once the client has closed, vanished or been too slow.
  [[nodiscard]] virtual bool gone() const = 0;
  // Called once, on the I/O thread, when the client goes before the answer is
  // complete; at once if it has gone already. Never after the handler returned.
  virtual void on_gone(std::function<void()> callback) = 0;
};

using HttpHandler =
    std::function<boost::asio::awaitable<void>(const HttpRequest&, HttpResponder&)>;

struct TlsFiles {
  std::string certificate_chain;  // PEM
  std::string private_key;        // PEM
};

struct HttpServerOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;      // 0: any free port, see HttpServer::port()
  std::size_t header_bytes_max = 64 * 1024;
  std::uint64_t body_bytes_max = 64ULL * 1024 * 1024;
  std::size_t connections_max = 4096;
  std::size_t send_buffer_max = 4 * 1024 * 1024;
  std::chrono::seconds header_timeout{30};
  std::chrono::seconds body_timeout{120};     // without a byte of progress
  std::chrono::seconds write_timeout{60};
  std::chrono::seconds idle_timeout{300};     // kept-alive and silent
  std::optional<TlsFiles> tls;
  // Turns a failure of HTTP itself (400, 408, 413, 431, 503) into an answer in
  // the API's own error shape.
  std::function<HttpResponse(int status, std::string_view message)> error_page;
};

class HttpServer {
 public:
  // Binds and listens; nothing is accepted before start(). An address in use or
  // a bad certificate is an Error that names it.
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> listen(HttpServerOptions options,
                                                                  HttpHandler handler);
  virtual ~HttpServer() = default;

  [[nodiscard]] virtual std::uint16_t port() const = 0;
  // Executor of the I/O thread: where handlers run and where others may post.
  [[nodiscard]] virtual boost::asio::any_io_executor executor() = 0;
  // Starts the I/O thread.
  virtual void start() = 0;
  // Accepts no more; idle connections close; answers under way may finish.
  virtual void drain() = 0;
  // Closes everything and joins the I/O thread. Idempotent; after it no handler runs.
  virtual void stop() = 0;
  [[nodiscard]] virtual std::size_t connection_count() const = 0;
};

}  // namespace holdfast
