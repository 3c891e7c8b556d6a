#include "api/http_connection.h"

#include <algorithm>

#include "api/http_message.h"

namespace holdfast::api {
namespace {

namespace asio = boost::asio;
using std::chrono::seconds;

// Held while a connection is idle, so small; most requests begin with less.
constexpr std::size_t kFirstReadBytes = 512;
// Held while a request is read.
constexpr std::size_t kReadBytes = 32 * 1024;

// A refused or failed client gets this long to read why.
constexpr seconds kLingerTime{2};
constexpr std::size_t kLingerBytesMin = 1024 * 1024;

// A body too long by a little is still taken in and dropped, so that clients
// which write everything before they read anything get to see the 413.
std::size_t linger_bytes_max(const HttpServerOptions& options) {
  return std::max<std::size_t>(options.body_bytes_max, kLingerBytesMin);
}

// Who sent a request, and where it stands below the prefix.
void place(HttpRequest& request, const HttpService& service, HttpTransport& transport) {
  request.peer = transport.peer_name();
  request.outside = !take_prefix(request.path, service.options.path_prefix);
}

HttpRequest head_of(const HttpRequestReader& reader, const HttpService& service,
                    HttpTransport& transport) {
  HttpRequest head = reader.head();
  place(head, service, transport);
  return head;
}

HttpResponse no_room_page(const HttpService& service, const HttpRequest& head) {
  return service.error_page(
      503, "the bodies of all requests together are too large; try again soon", head);
}

}  // namespace

HttpConnection::HttpConnection(std::unique_ptr<HttpTransport> transport, const HttpService& service)
    : transport_(std::move(transport)), service_(service) {}

asio::awaitable<void> HttpConnection::run() {
  transport_->set_deadline(service_.options.header_timeout);
  const bool ready = co_await transport_->handshake();
  for (bool more = ready; more;) {
    more = co_await serve_one();
    served_any_ = true;
  }
  co_await transport_->close_lingering(linger_bytes_max(service_.options), kLingerTime);
}

asio::awaitable<void> HttpConnection::refuse() {
  transport_->set_deadline(kLingerTime);
  const bool ready = co_await transport_->handshake();
  if (!ready) co_return;
  // Some clients take an answer that precedes their question for a failure.
  const bool asked = co_await read_more(kFirstReadBytes);
  if (!asked) co_return;
  HttpRequest none;
  co_await answer_failure(503, "too many connections", std::move(none));
  co_await transport_->close_lingering(kLingerBytesMin, kLingerTime);
}

asio::awaitable<bool> HttpConnection::serve_one() {
  const bool begun = co_await wait_for_request();
  if (!begun) co_return false;
  auto incoming = co_await read_request();
  if (!incoming || !transport_->is_open()) co_return false;
  release_buffer();
  exchange_ = std::make_shared<HttpExchange>(*transport_, service_, std::move(*incoming));
  const bool reusable = co_await exchange_->run();
  exchange_.reset();
  co_return reusable;
}

// A new connection has the header's time for its first byte too.
asio::awaitable<bool> HttpConnection::wait_for_request() {
  if (buffer_.size() > 0) co_return true;
  if (service_.draining) co_return false;
  const auto& options = service_.options;
  transport_->set_deadline(served_any_ ? options.idle_timeout : options.header_timeout);
  waiting_ = true;
  const bool begun = co_await read_more(kFirstReadBytes);
  waiting_ = false;
  if (!begun && transport_->expired() && !served_any_) {
    HttpRequest none;
    co_await answer_failure(408, "no request arrived in time", std::move(none));
  }
  co_return begun;
}

asio::awaitable<std::optional<IncomingRequest>> HttpConnection::read_request() {
  const auto& options = service_.options;
  Reading reading{HttpRequestReader({options.header_bytes_max, options.body_bytes_max}),
                  BodyHold(service_.bodies)};
  HttpRequestReader& reader = reading.reader;
  const bool complete = co_await read_into(reading);
  if (reading.refusal) {
    co_await answer_and_close(std::move(*reading.refusal));
  } else if (reader.failure()) {
    HttpRequest head = reader.head();
    co_await answer_failure(reader.failure()->status, reader.failure()->message, std::move(head));
  } else if (!complete && transport_->expired()) {
    HttpRequest head = reader.head();
    co_await answer_failure(408, "the request did not arrive in time", std::move(head));
  }
  if (!complete) co_return std::nullopt;
  IncomingRequest incoming{reader.take(), reader.keep_alive(), reader.is_http10(),
                           std::move(reading.hold)};
  place(incoming.request, service_, *transport_);
  co_return incoming;
}

asio::awaitable<bool> HttpConnection::read_into(Reading& reading) {
  HttpRequestReader& reader = reading.reader;
  transport_->set_deadline(service_.options.header_timeout);
  bool head_seen = false;
  bool told_to_continue = false;
  for (use_buffered(reader); !reader.done(); use_buffered(reader)) {
    if (reader.failure()) co_return false;
    if (reader.header_done() && !std::exchange(head_seen, true)) {
      reading.refusal = refusal_of(reading);
    }
    if (!reading.refusal && !reading.hold.grow_to(reader.body_bytes())) {
      reading.refusal = no_room_page(service_, head_of(reader, service_, *transport_));
    }
    if (reading.refusal) co_return false;
    if (reader.awaits_continue() && !std::exchange(told_to_continue, true)) {
      const bool told = co_await write_all("HTTP/1.1 100 Continue\r\n\r\n");
      if (!told) co_return false;
    }
    if (reader.header_done()) transport_->set_deadline(service_.options.body_timeout);
    const bool more = co_await read_more(kReadBytes);
    if (!more) co_return false;
  }
  if (!reading.hold.grow_to(reader.body_bytes()))
    reading.refusal = no_room_page(service_, head_of(reader, service_, *transport_));
  co_return !reading.refusal;
}

// Of a request whose body has not come yet, or not all of it.
std::optional<HttpResponse> HttpConnection::refusal_of(const Reading& reading) const {
  const HttpRequest head = head_of(reading.reader, service_, *transport_);
  const auto& refuse = service_.options.refuse_head;
  if (auto refused = refuse ? refuse(head) : std::nullopt) return refused;
  if (reading.hold.could_grow_to(reading.reader.body_bytes_announced())) return std::nullopt;
  return no_room_page(service_, head);
}

void HttpConnection::use_buffered(HttpRequestReader& reader) {
  const auto bytes = buffer_.cdata();
  buffer_.consume(reader.put({static_cast<const char*>(bytes.data()), bytes.size()}));
}

asio::awaitable<bool> HttpConnection::read_more(std::size_t bytes_max) {
  const std::size_t bytes = co_await transport_->read_some(buffer_.prepare(bytes_max));
  buffer_.commit(bytes);
  co_return bytes > 0;
}

asio::awaitable<bool> HttpConnection::write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    transport_->set_deadline(service_.options.write_timeout);
    const std::size_t sent = co_await transport_->write_some(asio::buffer(bytes));
    if (sent == 0) co_return false;
    bytes.remove_prefix(sent);
  }
  co_return true;
}

asio::awaitable<void> HttpConnection::answer_failure(int status, std::string_view message,
                                                     HttpRequest head) {
  head.peer = transport_->peer_name();
  HttpResponse page = service_.error_page(status, message, head);
  co_await answer_and_close(std::move(page));
}

asio::awaitable<void> HttpConnection::answer_and_close(HttpResponse page) {
  const std::string answer = response_head(page, BodyFraming::kLength, false) + page.body;
  co_await write_all(answer);
}

void HttpConnection::release_buffer() {
  if (buffer_.size() == 0) buffer_.clear();
  buffer_.shrink_to_fit();
}

void HttpConnection::drain() {
  if (waiting_) transport_->close();
}

void HttpConnection::close() {
  if (exchange_) {
    exchange_->close();
  } else {
    transport_->close();
  }
}

void HttpConnection::cancel_handler() {
  if (exchange_) exchange_->cancel_handler();
}

}  // namespace holdfast::api
