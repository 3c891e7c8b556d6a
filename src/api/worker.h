// on_worker runs slow, pure work beside the I/O thread.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>
#include <type_traits>

namespace holdfast::api {

// Comes back to the caller's thread with the result. What `work` refers to must
// live until then; it does, if it belongs to the awaiting coroutine.
template <typename Work>
boost::asio::awaitable<std::invoke_result_t<Work>> on_worker(boost::asio::any_io_executor worker,
                                                             Work work) {
  std::optional<std::invoke_result_t<Work>> outcome;
  const auto run = [&]() -> boost::asio::awaitable<void> {
    outcome.emplace(work());
    co_return;
  };
  co_await boost::asio::co_spawn(worker, run, boost::asio::use_awaitable);
  co_return std::move(*outcome);
}

}  // namespace holdfast::api
