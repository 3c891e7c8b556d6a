#include "api/http_exchange.h"

#include <algorithm>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "env/log.h"

namespace holdfast::api {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using std::chrono::milliseconds;

// With unread bytes on the socket, readiness says nothing about the end that may
// follow them. It is looked for instead: soon, because a TLS client's goodbye
// precedes its end by an instant, then ever more rarely.
constexpr milliseconds kLookAgainMin{1};
constexpr milliseconds kLookAgainMax{128};

std::string what_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "not a std::exception";
  }
}

// A coroutine of its own, so that a handler that throws before its first wait does so
// inside of one.
asio::awaitable<void> call(const HttpHandler& handler, const HttpRequest& request,
                           HttpResponder& responder) {
  co_await handler(request, responder);
}

}  // namespace

HttpExchange::HttpExchange(HttpTransport& transport, const HttpService& service,
                           IncomingRequest incoming)
    : transport_(transport),
      service_(service),
      incoming_(std::move(incoming)),
      sender_(transport, service.options, [this] { sender_idle(); }),
      answer_(transport, sender_, service, incoming_),
      change_(transport.executor(), asio::steady_timer::time_point::max()) {}

asio::awaitable<bool> HttpExchange::run() {
  transport_.clear_deadline();
  sender_.keep_alive(weak_from_this());
  spawn_handler();
  spawn_watch();
  while (handling_ || sender_.busy() || watching_) {
    error_code ignored;
    co_await change_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  co_return answer_.reusable();
}

void HttpExchange::close() {
  sender_.stop();
  transport_.close();
  answer_.client_left();
}

void HttpExchange::sender_idle() {
  change_.cancel();
  if (sender_.stopped()) answer_.client_left();
}

// ---------------------------------------------------------------- handler

void HttpExchange::spawn_handler() {
  handling_ = true;
  asio::co_spawn(
      transport_.executor(), call(service_.handler, incoming_.request, answer_),
      asio::bind_cancellation_slot(handler_cancel_.slot(),
                                   [self = shared_from_this()](std::exception_ptr failure) {
                                     self->handler_ended(std::move(failure));
                                   }));
}

void HttpExchange::handler_ended(std::exception_ptr failure) {
  handling_ = false;
  watch_cancel_.emit(asio::cancellation_type::terminal);
  change_.cancel();
  if (!answer_.gone()) {
    if (failure) report(what_of(failure));
    if (!failure && !answer_.complete()) report("it returned before its answer was complete");
  }
  answer_.handler_ended();
}

void HttpExchange::report(std::string_view what) const {
  env::Log::error(
      "request handler failed",
      {{"method", incoming_.request.method}, {"path", incoming_.request.path}, {"error", what}});
}

// ------------------------------------------------------------------ watch

void HttpExchange::spawn_watch() {
  watching_ = true;
  asio::co_spawn(transport_.executor(), watch(),
                 asio::bind_cancellation_slot(watch_cancel_.slot(),
                                              [self = shared_from_this()](std::exception_ptr) {
                                                self->watching_ = false;
                                                self->change_.cancel();
                                              }));
}

asio::awaitable<void> HttpExchange::watch() {
  milliseconds pause = kLookAgainMin;
  asio::steady_timer timer(transport_.executor());
  while (handling_) {
    const bool ready = co_await transport_.wait_readable();
    if (!ready) co_return;
    if (transport_.peer_has_left()) co_return answer_.client_left();
    timer.expires_after(pause);
    pause = std::min(2 * pause, kLookAgainMax);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

}  // namespace holdfast::api
