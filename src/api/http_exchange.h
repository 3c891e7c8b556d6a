// HttpExchange: one request, the handler that answers it, and the watch for a client that
// leaves meanwhile.
//
// Three coroutines work for it on the I/O thread:
//
//   handler   runs the caller's code, which speaks to an HttpAnswer
//   flush     exists while there is something to send (HttpSender)
//   watch     exists while the handler runs: waits for the client to leave
//
// so that a slow client never holds up a handler, and a handler that is busy elsewhere
// still learns that nobody waits. run() returns when all three have ended; each keeps the
// exchange alive.
#pragma once

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <exception>
#include <memory>

#include "api/http_answer.h"
#include "api/http_sender.h"
#include "api/http_service.h"
#include "api/http_transport.h"

namespace holdfast::api {

class HttpExchange final : public std::enable_shared_from_this<HttpExchange> {
 public:
  HttpExchange(HttpTransport& transport, const HttpService& service, IncomingRequest incoming);

  // Calls the handler and sends its answer. True when the connection can carry
  // another request.
  boost::asio::awaitable<bool> run();

  // Tells the handler that the client has gone, and closes the socket.
  void close();
  // Fails what the handler waits for, if that is an Asio operation.
  void cancel_handler() { handler_cancel_.emit(boost::asio::cancellation_type::terminal); }

 private:
  void spawn_handler();
  void handler_ended(std::exception_ptr failure);
  void report(std::string_view what) const;

  void spawn_watch();
  boost::asio::awaitable<void> watch();
  void sender_idle();

  HttpTransport& transport_;
  const HttpService& service_;
  const IncomingRequest incoming_;
  HttpSender sender_;
  HttpAnswer answer_;

  bool handling_ = false;
  bool watching_ = false;
  boost::asio::steady_timer change_;  // cancelled when one of the three changes
  boost::asio::cancellation_signal handler_cancel_;
  boost::asio::cancellation_signal watch_cancel_;
};

}  // namespace holdfast::api
