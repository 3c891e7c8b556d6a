// Mailbox carries the events of one HTTP request's generations from the
// scheduler's thread to the coroutine that answers it.
//
// Events that arrive while the coroutine is busy are taken together, so that a
// loaded server sends larger pieces instead of falling behind.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/thread_annotations.h"
#include "serve/request.h"

namespace holdfast::api {

class Mailbox : public std::enable_shared_from_this<Mailbox> {
 public:
  struct Letter {
    std::size_t choice = 0;  // which of the request's generations
    serve::Event event;
  };

  explicit Mailbox(boost::asio::any_io_executor executor);

  // EventSink::ends_in_call(); null: never.
  using EndsInCall = std::function<bool(const std::string& text)>;

  // A sink whose events arrive as letters of `choice`. Keeps the mailbox alive.
  [[nodiscard]] std::shared_ptr<serve::EventSink> sink_for(std::size_t choice,
                                                           EndsInCall ends_in_call);

  // Everything that has arrived, waiting for at least one letter but no longer
  // than `patience`; empty when none came. I/O thread; one taker.
  [[nodiscard]] boost::asio::awaitable<std::vector<Letter>> take(
      std::chrono::milliseconds patience);

 private:
  class Sink;
  void put(Letter letter);
  [[nodiscard]] bool join_to_last(Letter& letter) REQUIRES_LOCK(mutex_);
  [[nodiscard]] std::vector<Letter> empty_out();

  boost::asio::any_io_executor executor_;
  boost::asio::steady_timer bell_;  // I/O thread only
  Mutex mutex_;
  std::vector<Letter> letters_ GUARDED_BY(mutex_);
  bool rung_ GUARDED_BY(mutex_) = false;
};

}  // namespace holdfast::api
