#include "api/http_connections.h"

#include <boost/asio/co_spawn.hpp>
#include <utility>

namespace holdfast::api {

namespace asio = boost::asio;

namespace {

// Clients being told 503 at the same time; beyond that they are closed untold,
// for they too hold a descriptor each.
constexpr std::size_t kRefusalsMax = 64;

}  // namespace

HttpConnections::HttpConnections(asio::any_io_executor executor, const HttpService& service,
                                 std::function<void()> on_empty)
    : executor_(std::move(executor)), service_(service), on_empty_(std::move(on_empty)) {}

bool HttpConnections::has_room() const { return !full() || refused_ < kRefusalsMax; }

void HttpConnections::admit(std::unique_ptr<HttpTransport> transport) {
  const auto connection = std::make_shared<HttpConnection>(std::move(transport), service_);
  connections_.insert(connection);
  full() ? refuse(connection) : serve(connection);
}

void HttpConnections::serve(const ConnectionPtr& connection) {
  ++served_;
  asio::co_spawn(executor_, connection->run(), [this, connection](std::exception_ptr) {
    --served_;
    forget(connection);
  });
}

void HttpConnections::refuse(const ConnectionPtr& connection) {
  ++refused_;
  asio::co_spawn(executor_, connection->refuse(), [this, connection](std::exception_ptr) {
    --refused_;
    forget(connection);
  });
}

void HttpConnections::forget(const ConnectionPtr& connection) {
  connections_.erase(connection);
  if (connections_.empty()) on_empty_();
}

void HttpConnections::expire(HttpTransport::TimePoint now) const {
  for (const auto& connection : connections_) connection->expire(now);
}

void HttpConnections::cancel_handlers() const {
  for (const auto& connection : connections_) connection->cancel_handler();
}

void HttpConnections::drain() const {
  for (const auto& connection : connections_) connection->drain();
}

void HttpConnections::close() const {
  const auto snapshot = connections_;  // on_gone callbacks are foreign code
  for (const auto& connection : snapshot) connection->close();
}

}  // namespace holdfast::api
