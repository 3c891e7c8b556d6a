// answered: waits, on the I/O thread, for an answer that is given on another.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "base/result.h"

namespace holdfast::api {

// Begins something that answers once, on any thread.
template <typename T>
using BeginAsking = std::function<void(std::function<void(Result<T>)>)>;

template <typename T>
boost::asio::awaitable<Result<T>> answered(boost::asio::any_io_executor io, BeginAsking<T> begin) {
  auto initiate = [io, begin = std::move(begin)](auto handler) {
    auto kept = std::make_shared<decltype(handler)>(std::move(handler));
    begin([io, kept](Result<T> result) {
      boost::asio::post(
          io, [kept, result = std::move(result)]() mutable { (*kept)(std::move(result)); });
    });
  };
  return boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void(Result<T>)>(
      std::move(initiate), boost::asio::use_awaitable);
}

// The first of the two to come counts. Touched on the I/O thread alone.
template <typename T, typename Handler>
struct AnswerOrTimer {
  AnswerOrTimer(const boost::asio::any_io_executor& io, Handler waiting)
      : timer(io), handler(std::move(waiting)) {}
  void end(Result<T> result) {
    if (std::exchange(over, true)) return;
    timer.cancel();
    handler(std::move(result));
  }

  boost::asio::steady_timer timer;
  Handler handler;
  bool over = false;
};

// The same; kUnavailable after `patience`. An answer that comes later is dropped.
template <typename T>
boost::asio::awaitable<Result<T>> answered_within(boost::asio::any_io_executor io,
                                                  std::chrono::milliseconds patience,
                                                  BeginAsking<T> begin) {
  auto initiate = [io, patience, begin = std::move(begin)](auto handler) {
    auto race = std::make_shared<AnswerOrTimer<T, decltype(handler)>>(io, std::move(handler));
    race->timer.expires_after(patience);
    race->timer.async_wait([race](const boost::system::error_code&) {
      race->end(Error{ErrorCode::kUnavailable, "The server is busy.", ""});
    });
    begin([io, race](Result<T> result) {
      boost::asio::post(
          io, [race, result = std::move(result)]() mutable { race->end(std::move(result)); });
    });
  };
  return boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void(Result<T>)>(
      std::move(initiate), boost::asio::use_awaitable);
}

}  // namespace holdfast::api
