// HttpTransport: the bytes of one connection, plain or TLS, under one deadline.
//
// Failures do not throw: an operation that fails says so, and the connection ends.
// Whoever starts an operation sets the deadline first; the server looks at all
// deadlines a few times a second, which costs an idle connection no timer.
//
// Lives on the I/O thread.
//
// Note for all coroutines here: g++ 12 lays out the frame wrongly when a co_await
// stands in the condition of an `if` or `while`. Name its result first.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

namespace boost::asio::ssl {
class context;
}

namespace holdfast::api {

// Of TCP or of a UNIX socket.
using HttpSocket = boost::asio::generic::stream_protocol::socket;

class HttpTransport {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;

  virtual ~HttpTransport() = default;

  // False when the peer does not speak TLS as we do. Plain: true at once.
  virtual boost::asio::awaitable<bool> handshake() = 0;
  // At least one byte; 0 when the peer has closed, the socket failed, or the
  // deadline passed.
  virtual boost::asio::awaitable<std::size_t> read_some(boost::asio::mutable_buffer into) = 0;
  // The same for writing. REQUIRES: from is not empty.
  virtual boost::asio::awaitable<std::size_t> write_some(boost::asio::const_buffer from) = 0;

  // Ends our direction, then reads and drops at most `bytes_max` until the peer
  // closes or `patience` is over, and closes. Without this, unread bytes would
  // make the kernel reset the connection and the last answer could be lost.
  boost::asio::awaitable<void> close_lingering(std::size_t bytes_max, Duration patience);
  // Closes at once; operations under way fail.
  void close();
  // Closes at once and forgets what the kernel has not sent yet.
  void abort();
  [[nodiscard]] bool is_open() { return socket().is_open(); }

  void set_deadline(Duration from_now);
  void clear_deadline() { deadline_ = TimePoint::max(); }
  // Fails the operations under way if the deadline has passed by `now`. The
  // socket stays open: there may be an answer to give.
  void expire(TimePoint now);
  // True when the last deadline set has passed.
  [[nodiscard]] bool expired() const { return expired_; }

  // Waits until the socket has something to tell: bytes, an end or a failure.
  // False when the wait was cut short.
  boost::asio::awaitable<bool> wait_readable();
  // True when the peer has sent its end or the socket has failed, even if bytes
  // before that end are still unread.
  [[nodiscard]] bool peer_has_left();

  [[nodiscard]] std::string peer_name();
  [[nodiscard]] boost::asio::any_io_executor executor() { return socket().get_executor(); }

 protected:
  [[nodiscard]] virtual HttpSocket& socket() = 0;
  // Tells the peer, above TCP, that no more bytes will come.
  virtual boost::asio::awaitable<void> say_goodbye() = 0;

 private:
  boost::asio::awaitable<void> drop_incoming(std::size_t bytes_max);

  TimePoint deadline_ = TimePoint::max();
  bool expired_ = false;
};

[[nodiscard]] std::unique_ptr<HttpTransport> plain_transport(HttpSocket socket);
[[nodiscard]] std::unique_ptr<HttpTransport> tls_transport(
    HttpSocket socket, std::shared_ptr<boost::asio::ssl::context> context);

}  // namespace holdfast::api
