#include "api/http_transport.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstring>
#include <utility>

#include "api/http_server.h"

namespace holdfast::api {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

auto report_to(error_code& error) { return asio::redirect_error(asio::use_awaitable, error); }

// An IPv4 client of a socket that listens on both looks like ::ffff:127.0.0.1.
asio::ip::address unmapped(const asio::ip::address& address) {
  if (!address.is_v6() || !address.to_v6().is_v4_mapped()) return address;
  return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
}

class PlainTransport final : public HttpTransport {
 public:
  explicit PlainTransport(HttpSocket socket) : socket_(std::move(socket)) {}

  asio::awaitable<bool> handshake() override { co_return true; }

  asio::awaitable<std::size_t> read_some(asio::mutable_buffer into) override {
    error_code error;
    const std::size_t bytes = co_await socket_.async_read_some(into, report_to(error));
    co_return error ? 0 : bytes;
  }

  asio::awaitable<std::size_t> write_some(asio::const_buffer from) override {
    error_code error;
    const std::size_t bytes = co_await socket_.async_write_some(from, report_to(error));
    co_return error ? 0 : bytes;
  }

 private:
  HttpSocket& socket() override { return socket_; }
  asio::awaitable<void> say_goodbye() override { co_return; }

  HttpSocket socket_;
};

class TlsTransport final : public HttpTransport {
 public:
  TlsTransport(HttpSocket socket, std::shared_ptr<asio::ssl::context> context)
      : context_(std::move(context)), stream_(std::move(socket), *context_) {}

  asio::awaitable<bool> handshake() override {
    error_code error;
    co_await stream_.async_handshake(asio::ssl::stream_base::server, report_to(error));
    shaken_ = !error;
    co_return shaken_;
  }

  asio::awaitable<std::size_t> read_some(asio::mutable_buffer into) override {
    error_code error;
    const std::size_t bytes = co_await stream_.async_read_some(into, report_to(error));
    co_return error ? 0 : bytes;
  }

  asio::awaitable<std::size_t> write_some(asio::const_buffer from) override {
    error_code error;
    const std::size_t bytes = co_await stream_.async_write_some(from, report_to(error));
    co_return error ? 0 : bytes;
  }

 private:
  HttpSocket& socket() override { return stream_.next_layer(); }

  asio::awaitable<void> say_goodbye() override {
    if (!shaken_) co_return;
    error_code ignored;
    co_await stream_.async_shutdown(report_to(ignored));
  }

  const std::shared_ptr<asio::ssl::context> context_;  // the server may have another by now
  asio::ssl::stream<HttpSocket> stream_;
  bool shaken_ = false;
};

}  // namespace

asio::awaitable<void> HttpTransport::close_lingering(std::size_t bytes_max, Duration patience) {
  set_deadline(patience);
  if (is_open()) co_await say_goodbye();
  error_code error;
  if (is_open()) socket().shutdown(asio::socket_base::shutdown_send, error);
  if (is_open() && !error) co_await drop_incoming(bytes_max);
  close();
}

asio::awaitable<void> HttpTransport::drop_incoming(std::size_t bytes_max) {
  std::array<char, 16 * 1024> dropped;
  error_code error;
  for (std::size_t count = 0; !error && !expired_ && count < bytes_max;) {
    count += co_await socket().async_read_some(asio::buffer(dropped), report_to(error));
  }
}

void HttpTransport::close() {
  clear_deadline();
  error_code ignored;
  socket().close(ignored);
}

void HttpTransport::abort() {
  error_code ignored;
  socket().set_option(asio::socket_base::linger(true, 0), ignored);
  close();
}

void HttpTransport::set_deadline(Duration from_now) {
  deadline_ = std::chrono::steady_clock::now() + from_now;
  expired_ = false;
}

void HttpTransport::expire(TimePoint now) {
  if (now < deadline_) return;
  expired_ = true;
  error_code ignored;
  socket().cancel(ignored);
}

asio::awaitable<bool> HttpTransport::wait_readable() {
  error_code error;
  co_await socket().async_wait(asio::socket_base::wait_read, report_to(error));
  co_return !error;
}

bool HttpTransport::peer_has_left() {
  if (!is_open()) return true;
  pollfd state{socket().native_handle(), POLLRDHUP, 0};
  return ::poll(&state, 1, 0) > 0;  // POLLERR and POLLHUP come unasked
}

std::string HttpTransport::peer_name() {
  error_code error;
  const auto remote = socket().remote_endpoint(error);
  if (error) return {};
  if (remote.protocol().family() == AF_UNIX) return std::string(kUnixPeer);
  tcp::endpoint peer;
  std::memcpy(peer.data(), remote.data(), std::min(remote.size(), peer.capacity()));
  const auto address = unmapped(peer.address());
  const std::string host = address.is_v6() ? "[" + address.to_string() + "]" : address.to_string();
  return host + ":" + std::to_string(peer.port());
}

std::unique_ptr<HttpTransport> plain_transport(HttpSocket socket) {
  return std::make_unique<PlainTransport>(std::move(socket));
}

std::unique_ptr<HttpTransport> tls_transport(HttpSocket socket,
                                             std::shared_ptr<asio::ssl::context> context) {
  return std::make_unique<TlsTransport>(std::move(socket), std::move(context));
}

}  // namespace holdfast::api
