// HttpAnswer: what a handler says to one request, in HTTP's framing.
//
// Invariants:
//   ANSWER-1  exactly one of send() and begin_stream() begins it; end_stream() ends a
//             stream; a call at the wrong time throws
//   ANSWER-2  on_gone's callback runs at most once, and only while the handler runs
//   ANSWER-3  an answer that was not completed ends in a closed connection, so the client
//             can tell it from a complete one
//
// Lives on the I/O thread.
#pragma once

#include <functional>

#include "api/http_sender.h"
#include "api/http_server.h"
#include "api/http_service.h"

namespace holdfast::api {

class HttpAnswer final : public HttpResponder {
 public:
  // REQUIRES: all of them outlive this.
  HttpAnswer(HttpTransport& transport, HttpSender& sender, const HttpService& service,
             const IncomingRequest& incoming);

  boost::asio::awaitable<void> send(HttpResponse response) override;
  boost::asio::awaitable<void> begin_stream(HttpResponse response) override;
  boost::asio::awaitable<void> write(std::string_view piece) override;
  boost::asio::awaitable<void> end_stream() override;
  [[nodiscard]] bool gone() const override { return gone_ || sender_.stopped(); }
  void on_gone(std::function<void()> callback) override;

  // The client has ended its direction, or worse.
  void client_left();
  // The handler has returned, or thrown; what it left open is closed (ANSWER-3).
  void handler_ended();

  [[nodiscard]] bool complete() const { return phase_ == Phase::kFinished; }
  // True when the connection can carry another request.
  [[nodiscard]] bool reusable() const { return complete() && keep_alive_ && !gone(); }

 private:
  enum class Phase { kUnanswered, kStreaming, kFinished };

  void require_phase(Phase phase, const char* call) const;
  void send_whole(HttpResponse response);
  [[nodiscard]] BodyFraming stream_framing(int status) const;

  HttpTransport& transport_;
  HttpSender& sender_;
  const HttpService& service_;
  const IncomingRequest& incoming_;
  Phase phase_ = Phase::kUnanswered;
  BodyFraming framing_ = BodyFraming::kNone;
  bool sends_body_;
  bool keep_alive_;
  bool gone_ = false;
  std::function<void()> on_gone_;
};

}  // namespace holdfast::api
