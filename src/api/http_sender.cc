#include "api/http_sender.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace holdfast::api {

namespace asio = boost::asio;

HttpSender::HttpSender(HttpTransport& transport, const HttpServerOptions& options,
                       std::function<void()> on_idle)
    : transport_(transport), options_(options), on_idle_(std::move(on_idle)) {}

void HttpSender::begin(std::string head, BodyFraming framing) {
  bytes_.begin(std::move(head), framing);
  spawn_flush();
}

void HttpSender::add(std::string_view piece) {
  if (stopped_ || piece.empty()) return;
  spawn_flush();
  if (bytes_.unsent() + piece.size() <= options_.send_buffer_max) {
    bytes_.add(piece);
  } else {
    drop_client();  // SEND-1; the flush ends now and tells the owner
  }
}

void HttpSender::end_body() {
  bytes_.end_body();
  spawn_flush();
}

void HttpSender::stop() {
  stopped_ = true;
  bytes_.drop_queued();
}

void HttpSender::drop_client() {
  stop();
  transport_.abort();
}

void HttpSender::spawn_flush() {
  if (busy_ || stopped_) return;
  busy_ = true;
  asio::co_spawn(transport_.executor(), flush(),
                 [this, owner = owner_.lock()](std::exception_ptr failure) {
                   if (!failure) return;
                   drop_client();
                   flush_ended();
                 });
}

asio::awaitable<void> HttpSender::flush() {
  // One turn later, so that what the handler writes in this turn goes along.
  co_await asio::post(transport_.executor(), asio::use_awaitable);
  while (!stopped_ && bytes_.take()) {
    const bool sent = co_await send_taken();
    if (!sent) drop_client();
  }
  flush_ended();
}

// The flush says itself that it has ended, in the same turn in which it found
// nothing queued: what is queued later needs a new one.
void HttpSender::flush_ended() {
  busy_ = false;
  transport_.clear_deadline();
  on_idle_();
}

asio::awaitable<bool> HttpSender::send_taken() {
  while (!bytes_.rest().empty()) {
    transport_.set_deadline(options_.write_timeout);
    const std::size_t bytes = co_await transport_.write_some(asio::buffer(bytes_.rest()));
    if (bytes == 0) co_return false;
    bytes_.note_sent(bytes);
  }
  co_return true;
}

}  // namespace holdfast::api
