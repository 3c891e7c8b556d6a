#include "api/http_server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

#include "api/http_connections.h"
#include "api/http_listener.h"
#include "api/http_service.h"
#include "api/http_transport.h"
#include "base/check.h"
#include "env/log.h"

namespace holdfast::api {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// Timeouts are given in seconds; this is how exactly they are kept.
constexpr milliseconds kSweepPeriod{100};
// Handlers get this long to end by themselves after stop().
constexpr seconds kStopPatience{5};
// A client that vanished without a word while it waits is noticed within
// kKeepAliveIdle + kKeepAliveProbes * kKeepAliveInterval.
constexpr int kKeepAliveIdleSeconds = 30;
constexpr int kKeepAliveIntervalSeconds = 10;
constexpr int kKeepAliveProbes = 3;

Error io_error(const std::string& what, const error_code& error) {
  return Error{ErrorCode::kIo, what + ": " + error.message(), {}};
}

// One connection is one descriptor, and the usual soft limit is 1024.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

void set_option(HttpSocket& socket, int level, int name, int value) {
  ::setsockopt(socket.native_handle(), level, name, &value, sizeof(value));
}

// The other end of a UNIX socket is on this machine: its going is seen at once.
void configure_socket(HttpSocket& socket, milliseconds write_timeout) {
  error_code error;
  const auto local = socket.local_endpoint(error);
  if (error || local.protocol().family() == AF_UNIX) return;
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveIdleSeconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveIntervalSeconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveProbes);
  // HTTP-5 for bytes that the kernel has taken over but the client has not.
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(write_timeout.count()));
}

using TlsContext = std::shared_ptr<asio::ssl::context>;

Result<TlsContext> load_tls(const TlsFiles& files) {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  SSL_CTX_set_mode(context->native_handle(), SSL_MODE_RELEASE_BUFFERS);  // while idle
  error_code error;
  context->use_certificate_chain_file(files.certificate_chain, error);
  if (error) return io_error("TLS certificate " + files.certificate_chain, error);
  // Refuses a key that is not the certificate's.
  context->use_private_key_file(files.private_key, asio::ssl::context::pem, error);
  if (error) return io_error("TLS private key " + files.private_key, error);
  return context;
}

class BeastHttpServer final : public HttpServer {
 public:
  BeastHttpServer(HttpServerOptions options, HttpHandler handler)
      : service_{std::move(options), std::move(handler)} {}
  ~BeastHttpServer() override { stop(); }

  Result<void> open();

  std::uint16_t port() const override { return port_; }
  asio::any_io_executor executor() override { return io_.get_executor(); }
  void start() override;
  Result<void> reload_certificate() override;
  void drain() override;
  void stop() override;
  std::size_t connection_count() const override { return connections_.count(); }

 private:
  Result<void> listen_everywhere();
  asio::awaitable<void> accept_all(HttpListener& listener);
  void admit(HttpSocket socket);
  asio::awaitable<void> sweep();
  void drain_here();
  void stop_here();

  HttpService service_;
  asio::io_context io_{1};
  std::list<HttpListener> listeners_;
  std::uint16_t port_ = 0;
  std::thread thread_;
  std::once_flag stop_once_;

  // From here on: the I/O thread only.
  HttpConnections connections_{io_.get_executor(), service_, [this] {
                                 if (patience_ends_) sweep_timer_.cancel();
                               }};
  TlsContext tls_;  // null: plain connections
  asio::steady_timer sweep_timer_{io_};
  std::optional<steady_clock::time_point> patience_ends_;  // set by stop()
};

// -------------------------------------------------------------- listening

Result<void> BeastHttpServer::open() {
  if (service_.options.tls) {
    auto loaded = load_tls(*service_.options.tls);
    if (!loaded) return loaded.error();
    tls_ = std::move(*loaded);
  }
  if (auto listening = listen_everywhere(); !listening) return listening.error();
  raise_descriptor_limit();
  return {};
}

Result<void> BeastHttpServer::listen_everywhere() {
  const HttpServerOptions& options = service_.options;
  CHECK(!options.hosts.empty());
  const bool one_address = std::ranges::count_if(options.hosts, std::not_fn(is_unix_socket)) == 1;
  port_ = options.port;
  for (const std::string& host : options.hosts) {
    HttpListener& listener = listeners_.emplace_back(io_);
    if (auto opened = listener.open({host, port_, one_address}); !opened) return opened.error();
    if (listener.port() != 0) port_ = listener.port();  // a free one is free once
  }
  if (std::ranges::all_of(options.hosts, is_unix_socket)) port_ = 0;
  return {};
}

asio::awaitable<void> BeastHttpServer::accept_all(HttpListener& listener) {
  for (;;) {
    auto socket = co_await listener.accept();
    if (!socket) co_return;
    admit(std::move(*socket));
  }
}

// ------------------------------------------------------------ connections

void BeastHttpServer::admit(HttpSocket socket) {
  if (!connections_.has_room()) return;
  configure_socket(socket, service_.options.write_timeout);
  connections_.admit(tls_ ? tls_transport(std::move(socket), tls_)
                          : plain_transport(std::move(socket)));
}

asio::awaitable<void> BeastHttpServer::sweep() {
  while (!patience_ends_ || !connections_.empty()) {
    error_code ignored;
    sweep_timer_.expires_after(kSweepPeriod);
    co_await sweep_timer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    const auto now = steady_clock::now();
    connections_.expire(now);
    if (patience_ends_ && now >= *patience_ends_) connections_.cancel_handlers();
  }
}

// --------------------------------------------------------------- lifetime

void BeastHttpServer::start() {
  CHECK(!thread_.joinable());
  for (HttpListener& listener : listeners_)
    asio::co_spawn(io_, accept_all(listener), asio::detached);
  asio::co_spawn(io_, sweep(), asio::detached);
  thread_ = std::thread([this] { io_.run(); });
}

Result<void> BeastHttpServer::reload_certificate() {
  if (!service_.options.tls) return {};
  auto loaded = load_tls(*service_.options.tls);
  if (!loaded) return loaded.error();
  asio::post(io_, [this, context = std::move(*loaded)] { tls_ = context; });
  return {};
}

void BeastHttpServer::drain() {
  asio::post(io_, [this] { drain_here(); });
}

void BeastHttpServer::drain_here() {
  service_.draining = true;
  for (HttpListener& listener : listeners_) listener.close();
  connections_.drain();
}

void BeastHttpServer::stop() {
  CHECK(std::this_thread::get_id() != thread_.get_id());
  std::call_once(stop_once_, [this] {
    if (!thread_.joinable()) return;
    asio::post(io_, [this] { stop_here(); });
    thread_.join();
  });
}

void BeastHttpServer::stop_here() {
  drain_here();
  patience_ends_ = steady_clock::now() + kStopPatience;
  connections_.close();
  sweep_timer_.cancel();
}

}  // namespace

bool is_unix_socket(std::string_view host) { return host.ends_with(".sock"); }

Result<std::unique_ptr<HttpServer>> HttpServer::listen(HttpServerOptions options,
                                                       HttpHandler handler) {
  CHECK(handler != nullptr);
  auto server = std::make_unique<BeastHttpServer>(std::move(options), std::move(handler));
  if (auto opened = server->open(); !opened) return opened.error();
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace holdfast::api
