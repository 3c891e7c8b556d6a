// HttpServer: HTTP/1.1 over TCP, UNIX sockets or TLS, every connection a coroutine on one
// I/O thread. It knows nothing of models; handlers do.
//
// Limits are part of the contract, so that no client can hold more than its share:
//   HTTP-1  a header block over `header_bytes_max`, or not complete within
//           `header_timeout`, ends the connection (431 / 408)
//   HTTP-2  a body over `body_bytes_max` gets 413, without being read into memory
//   HTTP-3  at most `connections_max` connections; one more gets 503 and is closed
//   HTTP-4  unsent bytes of one stream never exceed `send_buffer_max`; a client
//           that reads slower loses its connection, not the server's memory. (A whole
//           answer may be larger: the handler holds it anyway.)
//   HTTP-5  a client that takes no byte for `write_timeout` is disconnected
//   HTTP-6  the bodies of all requests together never take more than `bodies_bytes_max`
//           (http_body_budget.h); one too many gets 503
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

namespace holdfast::api {

struct HttpRequest {
  std::string method;  // "GET"
  std::string path;    // percent-decoded, without the query: "/v1/models"
  std::string query;   // raw text after '?', or empty
  // In order of arrival, but repetitions of a name stand together.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::string peer;  // "127.0.0.1:51234", "unix"
  // Not below HttpServerOptions::path_prefix, which `path` is without otherwise.
  bool outside = false;

  // Value of a header, case-insensitive; empty when absent.
  [[nodiscard]] std::string_view header(std::string_view name) const;
  // Value of a query parameter, percent-decoded; empty when absent.
  [[nodiscard]] std::string query_value(std::string_view name) const;
};

// Server, Content-Length, Transfer-Encoding and Connection are written by the
// server; of `headers`, the last three are ignored.
//
// In a coroutine, give it a name and move it: `co_await out.send({.status = 404})`
// is miscompiled by g++ 12 (a braced aggregate inside a co_await is freed twice).
struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json; charset=utf-8";
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
};

// Answers one request. Lives on the I/O thread.
//
// No call waits for the client: bytes are queued and sent in the background, many
// small pieces in one write. A call at the wrong time (a second answer, a write
// without a stream) throws std::logic_error.
class HttpResponder {
 public:
  virtual ~HttpResponder() = default;

  // The whole answer at once. Exactly one of send() or begin_stream() is called.
  // It is tried even when gone(): a client may end its own direction and still read.
  virtual boost::asio::awaitable<void> send(HttpResponse response) = 0;

  // Sends the head of a chunked answer; `response.body` is its first piece.
  virtual boost::asio::awaitable<void> begin_stream(HttpResponse response) = 0;
  // Sends one piece; an empty one does nothing. After the client has gone this
  // does nothing. A piece that would break HTTP-4 makes the client gone.
  virtual boost::asio::awaitable<void> write(std::string_view piece) = 0;
  // Without it, the client sees a stream that was cut off.
  virtual boost::asio::awaitable<void> end_stream() = 0;

  // True once the client has closed (its own direction is enough), vanished or
  // been too slow.
  [[nodiscard]] virtual bool gone() const = 0;
  // Called once, on the I/O thread, when the client goes before the answer is
  // complete; at once if it has gone already. Never after the handler returned.
  // It must not throw.
  virtual void on_gone(std::function<void()> callback) = 0;
};

// Request and responder live until the handler returns. A handler that throws, or
// returns without an answer, gives 500; in the middle of a stream, a closed
// connection.
using HttpHandler = std::function<boost::asio::awaitable<void>(const HttpRequest&, HttpResponder&)>;

// Paths of PEM files. TLS 1.2 and later is spoken.
struct TlsFiles {
  std::string certificate_chain;
  std::string private_key;
};

struct HttpServerOptions {
  // Addresses, and paths of UNIX sockets (is_unix_socket). At least one.
  std::vector<std::string> hosts = {"127.0.0.1"};
  std::uint16_t port = 8080;  // of all addresses; 0: any free port, see HttpServer::port()
  std::string path_prefix;    // "/llm": what every path begins with; empty: nothing
  std::size_t header_bytes_max = 64 * 1024;
  std::uint64_t body_bytes_max = 64ULL * 1024 * 1024;
  std::uint64_t bodies_bytes_max = 256ULL * 1024 * 1024;  // of all requests together
  std::size_t connections_max = 4096;
  std::size_t send_buffer_max = 4 * 1024 * 1024;
  std::chrono::seconds header_timeout{30};
  std::chrono::seconds body_timeout{120};  // without a byte of progress
  std::chrono::seconds write_timeout{60};
  std::chrono::seconds idle_timeout{300};  // kept-alive and silent
  std::optional<TlsFiles> tls;
  // Asked of each request whose head has come and whose body has not: an answer refuses it, and the
  // body is not read. Empty: none is refused.
  std::function<std::optional<HttpResponse>(const HttpRequest& head)> refuse_head;
  // Turns a failure of HTTP itself (400, 408, 413, 431, 503) or of a handler (500)
  // into an answer in the API's own error shape; `head` is the request without its body,
  // as far as it is known. Empty: a small JSON object.
  std::function<HttpResponse(int status, std::string_view message, const HttpRequest& head)>
      error_page;
};

// HttpRequest::peer of who comes through a UNIX socket.
inline constexpr std::string_view kUnixPeer = "unix";
// A host that ends in ".sock" is a file.
[[nodiscard]] bool is_unix_socket(std::string_view host);

class HttpServer {
 public:
  // Binds and listens; nothing is accepted before start(). An address in use or
  // a bad certificate is an Error that names it. Raises the process's soft limit
  // of open files to the hard one.
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> listen(HttpServerOptions options,
                                                                  HttpHandler handler);
  virtual ~HttpServer() = default;

  [[nodiscard]] virtual std::uint16_t port() const = 0;  // 0: there are UNIX sockets alone
  // Executor of the I/O thread: where handlers run and where others may post work
  // that neither blocks nor throws.
  [[nodiscard]] virtual boost::asio::any_io_executor executor() = 0;
  // Starts the I/O thread.
  virtual void start() = 0;
  // Reads the certificate and its key again, for connections to come. On an Error the old ones stay
  // in use. Without TLS it does nothing. Any thread.
  [[nodiscard]] virtual Result<void> reload_certificate() = 0;
  // Accepts no more; idle connections close; answers under way may finish.
  virtual void drain() = 0;
  // Closes everything and joins the I/O thread. Idempotent; after it no handler runs.
  // Handlers learn through on_gone and are waited for; after some seconds the Asio
  // operations they wait for are cancelled. One that waits for anything else must
  // end by itself. REQUIRES: not on the I/O thread.
  virtual void stop() = 0;
  [[nodiscard]] virtual std::size_t connection_count() const = 0;
};

}  // namespace holdfast::api
