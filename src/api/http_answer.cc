#include "api/http_answer.h"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <stdexcept>
#include <utility>

#include "api/http_message.h"

namespace holdfast::api {

namespace asio = boost::asio;

namespace {

// A handler that queues this much without ever waiting is made to wait one turn,
// so that the flush gets its share of the thread.
constexpr std::size_t kQueuedBytesPerTurn = 64 * 1024;

}  // namespace

HttpAnswer::HttpAnswer(HttpTransport& transport, HttpSender& sender, const HttpService& service,
                       const IncomingRequest& incoming)
    : transport_(transport),
      sender_(sender),
      service_(service),
      incoming_(incoming),
      sends_body_(incoming.request.method != "HEAD"),
      keep_alive_(incoming.keep_alive) {}

void HttpAnswer::require_phase(Phase phase, const char* call) const {
  if (phase_ != phase) throw std::logic_error(std::string(call) + " at the wrong time");
}

asio::awaitable<void> HttpAnswer::send(HttpResponse response) {
  require_phase(Phase::kUnanswered, "send()");
  send_whole(std::move(response));
  co_return;
}

void HttpAnswer::send_whole(HttpResponse response) {
  phase_ = Phase::kFinished;
  keep_alive_ = keep_alive_ && !service_.draining;
  framing_ = status_has_body(response.status) ? BodyFraming::kLength : BodyFraming::kNone;
  std::string bytes = response_head(response, framing_, keep_alive_);
  if (sends_body_ && framing_ == BodyFraming::kLength) bytes.append(response.body);
  sender_.begin(std::move(bytes), framing_);
}

BodyFraming HttpAnswer::stream_framing(int status) const {
  if (!status_has_body(status)) return BodyFraming::kNone;
  return incoming_.is_http10 ? BodyFraming::kUntilClose : BodyFraming::kChunked;
}

asio::awaitable<void> HttpAnswer::begin_stream(HttpResponse response) {
  require_phase(Phase::kUnanswered, "begin_stream()");
  phase_ = Phase::kStreaming;
  framing_ = stream_framing(response.status);
  keep_alive_ = keep_alive_ && !service_.draining && framing_ != BodyFraming::kUntilClose;
  sends_body_ = sends_body_ && framing_ != BodyFraming::kNone;
  sender_.begin(response_head(response, framing_, keep_alive_), framing_);
  if (!gone() && sends_body_) sender_.add(response.body);
  co_return;
}

asio::awaitable<void> HttpAnswer::write(std::string_view piece) {
  require_phase(Phase::kStreaming, "write()");
  if (!gone() && sends_body_) sender_.add(piece);
  if (sender_.queued_bytes() >= kQueuedBytesPerTurn) {
    co_await asio::post(transport_.executor(), asio::use_awaitable);
  }
}

asio::awaitable<void> HttpAnswer::end_stream() {
  require_phase(Phase::kStreaming, "end_stream()");
  phase_ = Phase::kFinished;
  if (sends_body_) sender_.end_body();
  co_return;
}

void HttpAnswer::on_gone(std::function<void()> callback) {
  if (gone()) {
    callback();
  } else {
    on_gone_ = std::move(callback);
  }
}

void HttpAnswer::client_left() {
  gone_ = true;
  if (phase_ == Phase::kFinished || !on_gone_) return;
  std::exchange(on_gone_, nullptr)();
}

void HttpAnswer::handler_ended() {
  on_gone_ = nullptr;
  if (phase_ == Phase::kUnanswered && !gone()) {
    send_whole(
        service_.error_page(500, "the server failed to answer this request", incoming_.request));
  } else if (phase_ != Phase::kFinished && framing_ == BodyFraming::kUntilClose) {
    sender_.drop_client();  // ANSWER-3: an orderly close would look like the end of the body
  }
}

}  // namespace holdfast::api
