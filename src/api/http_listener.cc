#include "api/http_listener.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstring>
#include <utility>

#include "api/http_server.h"
#include "base/check.h"
#include "env/log.h"

namespace holdfast::api {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using local = asio::local::stream_protocol;

// After a failed accept; out of descriptors, it would fail again at once.
constexpr std::chrono::milliseconds kAcceptPause{100};

Error cannot(const std::string& what, const std::string& where, const std::string& why) {
  return Error{ErrorCode::kIo, "cannot " + what + " " + where + ": " + why, {}};
}

std::uint16_t port_of(const asio::generic::stream_protocol::endpoint& endpoint) {
  tcp::endpoint address;
  std::memcpy(address.data(), endpoint.data(), std::min(endpoint.size(), address.capacity()));
  return address.port();
}

// A socket whose server is gone. What is in use stays, and so does what is no socket.
bool is_left_over(const std::string& path, asio::any_io_executor executor) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0 || !S_ISSOCK(file.st_mode)) return false;
  local::socket probe(std::move(executor));
  error_code error;
  probe.connect(local::endpoint(path), error);
  return error == asio::error::connection_refused;
}

}  // namespace

Result<void> HttpListener::open(const ListenAt& at) {
  CHECK(!acceptor_.is_open());
  return is_unix_socket(at.host) ? open_file(at.host) : open_address(at);
}

Result<void> HttpListener::open_address(const ListenAt& at) {
  const std::string where = at.host + ":" + std::to_string(at.port);
  error_code error;
  const auto found = tcp::resolver(acceptor_.get_executor())
                         .resolve(at.host, std::to_string(at.port), tcp::resolver::passive, error);
  if (error) return cannot("resolve", where, error.message());
  const tcp::endpoint endpoint = found.begin()->endpoint();
  try {
    acceptor_.open(endpoint.protocol());
    acceptor_.set_option(asio::socket_base::reuse_address(true));
    if (endpoint.address().is_v6()) acceptor_.set_option(asio::ip::v6_only(!at.both_families));
    acceptor_.bind(endpoint);
    acceptor_.listen(asio::socket_base::max_listen_connections);
    port_ = port_of(acceptor_.local_endpoint());
    return {};
  } catch (const boost::system::system_error& failure) {
    return cannot("listen on", where, failure.code().message());
  }
}

Result<void> HttpListener::open_file(const std::string& path) {
  try {
    if (is_left_over(path, acceptor_.get_executor())) ::unlink(path.c_str());
    const local::endpoint endpoint(path);
    acceptor_.open(endpoint.protocol());
    acceptor_.bind(endpoint);
    file_ = path;
    acceptor_.listen(asio::socket_base::max_listen_connections);
    return {};
  } catch (const boost::system::system_error& failure) {
    return cannot("listen on", path, failure.code().message());
  }
}

asio::awaitable<std::optional<HttpSocket>> HttpListener::accept() {
  asio::steady_timer pause(acceptor_.get_executor());
  for (;;) {
    error_code error;
    auto socket = co_await acceptor_.async_accept(asio::redirect_error(asio::use_awaitable, error));
    if (!acceptor_.is_open()) co_return std::nullopt;  // even if one more came in just before
    if (!error) co_return std::move(socket);
    if (error == asio::error::connection_aborted) continue;
    env::Log::warn("cannot accept a connection", {{"error", error.message()}});
    pause.expires_after(kAcceptPause);
    co_await pause.async_wait(asio::use_awaitable);
  }
}

void HttpListener::close() {
  error_code ignored;
  acceptor_.close(ignored);
  if (!file_.empty()) ::unlink(std::exchange(file_, {}).c_str());
}

}  // namespace holdfast::api
