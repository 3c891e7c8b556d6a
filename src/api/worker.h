// on_worker runs slow, pure work beside the I/O thread.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "api/worker_pool.h"

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

// What `work` throws is thrown here. So is a complaint when the pool stops before it began.
template <typename Work>
boost::asio::awaitable<std::invoke_result_t<Work>> on_worker(Worker worker, Work work) {
  namespace asio = boost::asio;
  std::optional<std::invoke_result_t<Work>> outcome;
  const auto attempt = [&](bool wanted) -> std::exception_ptr {
    try {
      if (!wanted) throw std::runtime_error("the server is stopping");
      outcome.emplace(work());
      return nullptr;
    } catch (...) {
      return std::current_exception();
    }
  };
  const auto begin = [&](auto handler) {
    using Handler = decltype(handler);
    // Who waits, and its thread, kept from ending. The job gives both away as it ends: what is left
    // of it on the worker may outlive them.
    struct Waiting {
      Handler handler;
      asio::executor_work_guard<asio::associated_executor_t<Handler>> home;
      std::exception_ptr failure = nullptr;
    };
    const auto home = asio::get_associated_executor(handler);
    auto waiting =
        std::make_shared<Waiting>(Waiting{std::move(handler), asio::make_work_guard(home)});
    const auto run = [attempt, waiting = std::move(waiting)](bool wanted) {
      Waiting own = std::move(*waiting);
      own.failure = attempt(wanted);
      const auto there = own.home.get_executor();
      asio::post(there, [own = std::move(own)]() mutable {
        std::move(own.handler)(std::exchange(own.failure, nullptr));
      });
    };
    worker.pool->post({worker.client, worker.heavy, run});
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<>&, void(std::exception_ptr)>(
      begin, asio::use_awaitable);
  co_return std::move(*outcome);
}

}  // namespace holdfast::api
