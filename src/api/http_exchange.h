// HttpExchange: one request, the handler that answers it, and the answer's way
// to the client.
//
// Three coroutines share it on the I/O thread:
//
//   handler   runs the caller's code; what it writes goes into `queued_`
//   flush     exists while there is something to send: takes all of `queued_`,
//             frames it as one chunk in `sending_`, writes it, looks again
//   watch     exists while the handler runs: waits for the client to leave
//
// so that a slow client never holds up a handler, many small pieces become one
// write, and a handler that is busy elsewhere still learns that nobody waits.
// run() returns when all three have ended; each keeps the exchange alive.
//
// Invariants:
//   X1  unsent bytes of a stream never exceed `send_buffer_max` (L4)
//   X2  on_gone's callback runs at most once, and only while the handler runs
//   X3  an answer that was not completed ends in a closed connection, so the
//       client can tell it from a complete one
#pragma once

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <exception>
#include <memory>
#include <string>

#include "api/http_message.h"
#include "api/http_server.h"
#include "api/http_transport.h"

namespace holdfast::api {

// What all connections of a server share. Outlives them.
struct HttpService {
  HttpServerOptions options;
  HttpHandler handler;
  bool draining = false;  // answers say that the connection will close

  [[nodiscard]] HttpResponse error_page(int status, std::string_view message) const;
};

struct IncomingRequest {
  HttpRequest request;
  bool keep_alive = false;
  bool is_http10 = false;  // such a client knows no chunks
};

class HttpExchange final : public HttpResponder, public std::enable_shared_from_this<HttpExchange> {
 public:
  HttpExchange(HttpTransport& transport, const HttpService& service, IncomingRequest incoming);

  // Calls the handler and sends its answer. True when the connection can carry
  // another request.
  boost::asio::awaitable<bool> run();

  // Tells the handler that the client has gone, and closes the socket.
  void close();
  // Fails what the handler waits for, if that is an Asio operation.
  void cancel_handler() { handler_cancel_.emit(boost::asio::cancellation_type::terminal); }

  boost::asio::awaitable<void> send(HttpResponse response) override;
  boost::asio::awaitable<void> begin_stream(HttpResponse response) override;
  boost::asio::awaitable<void> write(std::string_view piece) override;
  boost::asio::awaitable<void> end_stream() override;
  [[nodiscard]] bool gone() const override { return gone_; }
  void on_gone(std::function<void()> callback) override;

 private:
  enum class Phase { kUnanswered, kStreaming, kFinished };

  void spawn_handler();
  boost::asio::awaitable<void> call_handler();
  void handler_ended(std::exception_ptr failure);
  void report(std::string_view what) const;

  void spawn_watch();
  boost::asio::awaitable<void> watch();
  void client_left();

  void require_phase(Phase phase, const char* call) const;
  void send_whole(HttpResponse response);
  void queue_piece(std::string_view piece);
  [[nodiscard]] std::size_t unsent_bytes() const;
  void stop_sending();
  void drop_client();

  void spawn_flush();
  boost::asio::awaitable<void> flush();
  void flush_ended();
  bool take_queued();
  boost::asio::awaitable<bool> send_taken();

  boost::asio::awaitable<void> wait_for_change();

  HttpTransport& transport_;
  const HttpService& service_;
  const IncomingRequest incoming_;

  Phase phase_ = Phase::kUnanswered;
  BodyFraming framing_ = BodyFraming::kNone;
  bool sends_body_ = true;
  bool keep_alive_;

  bool gone_ = false;    // the client has ended its direction, or worse
  bool broken_ = false;  // and nothing can be sent to it either
  std::function<void()> on_gone_;

  std::string head_;    // raw bytes that go before queued_
  std::string queued_;  // body bytes, not framed yet
  bool last_chunk_due_ = false;
  std::string sending_;  // framed; sent up to sent_
  std::size_t sent_ = 0;

  bool handling_ = false;
  bool watching_ = false;
  bool flushing_ = false;
  boost::asio::steady_timer change_;  // cancelled when one of the three changes
  boost::asio::cancellation_signal handler_cancel_;
  boost::asio::cancellation_signal watch_cancel_;
};

}  // namespace holdfast::api
