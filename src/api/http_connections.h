// HttpConnections: the connections of one server, served or refused, until they end.
//
// A connection too many is told 503 and closed (HTTP-3); those being told are counted apart.
// Lives on the I/O thread, but for count().
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <unordered_set>

#include "api/http_connection.h"
#include "api/http_service.h"

namespace holdfast::api {

class HttpConnections {
 public:
  // `on_empty` is called whenever the last connection has ended. REQUIRES: service
  // outlives this, and this the coroutines on `executor`.
  HttpConnections(boost::asio::any_io_executor executor, const HttpService& service,
                  std::function<void()> on_empty);

  // False: too many are being refused already, and this one would be closed untold.
  [[nodiscard]] bool has_room() const;
  // REQUIRES: has_room().
  void admit(std::unique_ptr<HttpTransport> transport);

  void expire(HttpTransport::TimePoint now) const;
  void cancel_handlers() const;
  void drain() const;
  void close() const;

  [[nodiscard]] bool empty() const { return connections_.empty(); }
  // Those served. Any thread.
  [[nodiscard]] std::size_t count() const { return served_; }

 private:
  using ConnectionPtr = std::shared_ptr<HttpConnection>;

  [[nodiscard]] bool full() const { return served_ >= service_.options.connections_max; }
  void serve(const ConnectionPtr& connection);
  void refuse(const ConnectionPtr& connection);
  void forget(const ConnectionPtr& connection);

  const boost::asio::any_io_executor executor_;
  const HttpService& service_;
  const std::function<void()> on_empty_;
  std::unordered_set<ConnectionPtr> connections_;  // refused ones too
  std::atomic<std::size_t> served_ = 0;
  std::size_t refused_ = 0;
};

}  // namespace holdfast::api
