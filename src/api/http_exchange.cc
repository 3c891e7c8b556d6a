#include "api/http_exchange.h"

#include <algorithm>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <stdexcept>

#include "env/log.h"

namespace holdfast::api {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using std::chrono::milliseconds;

// A handler that queues this much without ever waiting is made to wait one turn,
// so that the flush gets its share of the thread.
constexpr std::size_t kQueuedBytesPerTurn = 64 * 1024;

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

}  // namespace

HttpResponse HttpService::error_page(int status, std::string_view message) const {
  if (!options.error_page) return default_error_page(status, message);
  try {
    return options.error_page(status, message);
  } catch (const std::exception& error) {
    env::Log::error("error_page failed", {{"status", status}, {"error", error.what()}});
    return default_error_page(status, message);
  }
}

HttpExchange::HttpExchange(HttpTransport& transport, const HttpService& service,
                           IncomingRequest incoming)
    : transport_(transport),
      service_(service),
      incoming_(std::move(incoming)),
      sends_body_(incoming_.request.method != "HEAD"),
      keep_alive_(incoming_.keep_alive),
      change_(transport.executor(), asio::steady_timer::time_point::max()) {}

asio::awaitable<bool> HttpExchange::run() {
  transport_.clear_deadline();
  spawn_handler();
  spawn_watch();
  while (handling_ || flushing_ || watching_) co_await wait_for_change();
  co_return phase_ == Phase::kFinished&& keep_alive_ && !gone_;
}

asio::awaitable<void> HttpExchange::wait_for_change() {
  error_code ignored;
  co_await change_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

// ---------------------------------------------------------------- handler

void HttpExchange::spawn_handler() {
  handling_ = true;
  asio::co_spawn(
      transport_.executor(), call_handler(),
      asio::bind_cancellation_slot(handler_cancel_.slot(),
                                   [self = shared_from_this()](std::exception_ptr failure) {
                                     self->handler_ended(std::move(failure));
                                   }));
}

asio::awaitable<void> HttpExchange::call_handler() {
  co_await service_.handler(incoming_.request, *this);
}

void HttpExchange::handler_ended(std::exception_ptr failure) {
  handling_ = false;
  on_gone_ = nullptr;
  watch_cancel_.emit(asio::cancellation_type::terminal);
  change_.cancel();
  if (failure && !gone_) report(what_of(failure));
  if (phase_ == Phase::kFinished) return;
  if (!failure && !gone_) report("it returned before its answer was complete");
  if (phase_ == Phase::kUnanswered && !gone_) {
    send_whole(service_.error_page(500, "the server failed to answer this request"));
  } else if (framing_ == BodyFraming::kUntilClose) {
    drop_client();  // X3: an orderly close would look like the end of the body
  }
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
    if (transport_.peer_has_left()) co_return client_left();
    timer.expires_after(pause);
    pause = std::min(2 * pause, kLookAgainMax);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

void HttpExchange::client_left() {
  gone_ = true;
  if (phase_ == Phase::kFinished || !on_gone_) return;
  std::exchange(on_gone_, nullptr)();
}

void HttpExchange::on_gone(std::function<void()> callback) {
  if (gone_) {
    callback();
  } else {
    on_gone_ = std::move(callback);
  }
}

void HttpExchange::close() {
  stop_sending();
  transport_.close();
  client_left();
}

// ----------------------------------------------------------------- answer

void HttpExchange::require_phase(Phase phase, const char* call) const {
  if (phase_ != phase) throw std::logic_error(std::string(call) + " at the wrong time");
}

asio::awaitable<void> HttpExchange::send(HttpResponse response) {
  require_phase(Phase::kUnanswered, "send()");
  send_whole(std::move(response));
  co_return;
}

void HttpExchange::send_whole(HttpResponse response) {
  phase_ = Phase::kFinished;
  keep_alive_ = keep_alive_ && !service_.draining;
  framing_ = status_has_body(response.status) ? BodyFraming::kLength : BodyFraming::kNone;
  head_ = response_head(response, framing_, keep_alive_);
  if (sends_body_ && framing_ == BodyFraming::kLength) head_.append(response.body);
  spawn_flush();
}

asio::awaitable<void> HttpExchange::begin_stream(HttpResponse response) {
  require_phase(Phase::kUnanswered, "begin_stream()");
  phase_ = Phase::kStreaming;
  framing_ = incoming_.is_http10 ? BodyFraming::kUntilClose : BodyFraming::kChunked;
  if (!status_has_body(response.status)) framing_ = BodyFraming::kNone;
  keep_alive_ = keep_alive_ && !service_.draining && framing_ != BodyFraming::kUntilClose;
  sends_body_ = sends_body_ && framing_ != BodyFraming::kNone;
  head_ = response_head(response, framing_, keep_alive_);
  spawn_flush();
  queue_piece(response.body);
  co_return;
}

asio::awaitable<void> HttpExchange::write(std::string_view piece) {
  require_phase(Phase::kStreaming, "write()");
  queue_piece(piece);
  if (queued_.size() >= kQueuedBytesPerTurn) {
    co_await asio::post(transport_.executor(), asio::use_awaitable);
  }
}

asio::awaitable<void> HttpExchange::end_stream() {
  require_phase(Phase::kStreaming, "end_stream()");
  phase_ = Phase::kFinished;
  last_chunk_due_ = sends_body_ && framing_ == BodyFraming::kChunked;
  spawn_flush();
  co_return;
}

void HttpExchange::queue_piece(std::string_view piece) {
  if (gone_ || !sends_body_ || piece.empty()) return;
  spawn_flush();
  if (unsent_bytes() + piece.size() <= service_.options.send_buffer_max) {
    queued_.append(piece);
  } else {
    drop_client();  // X1; the flush ends now and tells on_gone
  }
}

std::size_t HttpExchange::unsent_bytes() const {
  return queued_.size() + (sending_.size() - sent_);
}

void HttpExchange::stop_sending() {
  gone_ = broken_ = true;
  queued_ = {};
}

void HttpExchange::drop_client() {
  stop_sending();
  transport_.abort();
}

// ------------------------------------------------------------------ flush

void HttpExchange::spawn_flush() {
  if (flushing_ || broken_) return;
  flushing_ = true;
  asio::co_spawn(transport_.executor(), flush(),
                 [self = shared_from_this()](std::exception_ptr failure) {
                   if (!failure) return;
                   self->drop_client();
                   self->flush_ended();
                 });
}

asio::awaitable<void> HttpExchange::flush() {
  // One turn later, so that what the handler writes in this turn goes along.
  co_await asio::post(transport_.executor(), asio::use_awaitable);
  while (!broken_ && take_queued()) {
    const bool sent = co_await send_taken();
    if (!sent) drop_client();
  }
  flush_ended();
}

// The flush says itself that it has ended, in the same turn in which it found
// nothing queued: what is queued later needs a new one.
void HttpExchange::flush_ended() {
  flushing_ = false;
  transport_.clear_deadline();
  change_.cancel();
  if (broken_) client_left();
}

asio::awaitable<bool> HttpExchange::send_taken() {
  while (sent_ < sending_.size()) {
    transport_.set_deadline(service_.options.write_timeout);
    const std::size_t bytes = co_await transport_.write_some(asio::buffer(sending_) + sent_);
    if (bytes == 0) co_return false;
    sent_ += bytes;
  }
  co_return true;
}

bool HttpExchange::take_queued() {
  sending_ = std::exchange(head_, {});
  sent_ = 0;
  if (framing_ == BodyFraming::kChunked && !queued_.empty()) {
    append_chunk(sending_, queued_);
  } else {
    sending_.append(queued_);
  }
  queued_.clear();
  if (std::exchange(last_chunk_due_, false)) sending_.append(kLastChunk);
  return !sending_.empty();
}

}  // namespace holdfast::api
