// HttpSender takes the bytes of one answer to the client, in the background.
//
// A coroutine (the flush) exists while there is something to send: it takes all that is
// queued, frames it, writes it and looks again, so that many small pieces become one
// write.
//
// Invariants:
//   SEND-1  unsent bytes of a stream never exceed `send_buffer_max` (HTTP-4)
//   SEND-2  nothing is sent after stop() or drop_client()
//
// Lives on the I/O thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "api/http_outgoing.h"
#include "api/http_server.h"
#include "api/http_transport.h"

namespace holdfast::api {

class HttpSender {
 public:
  // `on_idle` is called when the flush ends.
  // REQUIRES: transport and options outlive the sender.
  HttpSender(HttpTransport& transport, const HttpServerOptions& options,
             std::function<void()> on_idle);

  // The flush keeps this alive while it runs: whoever owns the sender. To be set first.
  void keep_alive(std::weak_ptr<void> owner) { owner_ = std::move(owner); }

  // `head` goes out first, as it is. `framing` says how add() is framed.
  void begin(std::string head, BodyFraming framing);
  // A piece too many (SEND-1) drops the client.
  void add(std::string_view piece);
  // The last chunk, where there are chunks.
  void end_body();

  // Sends no more.
  void stop();
  // The same, and the connection ends in a way that shows it.
  void drop_client();

  [[nodiscard]] bool busy() const { return busy_; }
  [[nodiscard]] bool stopped() const { return stopped_; }
  [[nodiscard]] std::size_t queued_bytes() const { return bytes_.queued(); }

 private:
  void spawn_flush();
  boost::asio::awaitable<void> flush();
  void flush_ended();
  boost::asio::awaitable<bool> send_taken();

  HttpTransport& transport_;
  const HttpServerOptions& options_;
  const std::function<void()> on_idle_;
  std::weak_ptr<void> owner_;
  OutgoingBytes bytes_;
  bool busy_ = false;
  bool stopped_ = false;
};

}  // namespace holdfast::api
