// HttpListener: one place where connections come in - an address and a port, or a UNIX socket.
//
// A UNIX socket is a file. One that nobody listens on any more is replaced; one that somebody does
// listen on, and a file of another kind, is an Error. It goes with the listener. Who may use it,
// the folder's permissions say.
//
// Lives on the I/O thread, but for open().
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "api/http_transport.h"
#include "base/result.h"

namespace holdfast::api {

struct ListenAt {
  std::string host;
  std::uint16_t port = 0;     // 0: any free one; of addresses alone
  bool both_families = true;  // "::" stands for IPv4 too
};

class HttpListener {
 public:
  explicit HttpListener(boost::asio::io_context& io) : acceptor_(io) {}
  ~HttpListener() { close(); }
  HttpListener(const HttpListener&) = delete;
  HttpListener& operator=(const HttpListener&) = delete;

  // An Error names the place. REQUIRES: not open yet.
  [[nodiscard]] Result<void> open(const ListenAt& at);
  // Of an address; 0: a UNIX socket.
  [[nodiscard]] std::uint16_t port() const { return port_; }
  // The next connection; nothing: the listener was closed. Failures are logged and waited out.
  [[nodiscard]] boost::asio::awaitable<std::optional<HttpSocket>> accept();
  void close();

 private:
  using Protocol = boost::asio::generic::stream_protocol;

  [[nodiscard]] Result<void> open_address(const ListenAt& at);
  [[nodiscard]] Result<void> open_file(const std::string& path);

  boost::asio::basic_socket_acceptor<Protocol> acceptor_;
  std::uint16_t port_ = 0;
  std::string file_;  // empty: none is ours
};

}  // namespace holdfast::api
