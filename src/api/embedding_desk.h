// EmbeddingDesk: where texts wait for the embedder.
//
// A request with a thousand texts is computed step by step, and each step waits in the queue anew:
// somebody's single text waits for one step of every request before it, not for all of them.
//
// Verified by embeddings_test.cc:
//   DESK-1  at most `waiting_max` requests are computed or wait
//   DESK-2  a short request is answered before the rest of a long one is computed
//
// Any thread.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "engine/embedder.h"
#include "engine/vector_norm.h"
#include "state/tokens.h"

namespace holdfast::api {

class EmbeddingDesk {
 public:
  struct Options {
    int norm = engine::kEuclid;     // for requests that do not say
    std::size_t waiting_max = 256;  // requests; more are refused
  };
  EmbeddingDesk(std::shared_ptr<engine::Embedder> embedder, Options options);
  ~EmbeddingDesk() { stop(); }
  EmbeddingDesk(const EmbeddingDesk&) = delete;
  EmbeddingDesk& operator=(const EmbeddingDesk&) = delete;

  // What it can do. Only its const members may be used.
  [[nodiscard]] const engine::Embedder& embedder() const { return *embedder_; }
  [[nodiscard]] int norm() const { return options_.norm; }

  struct Limits {
    std::chrono::steady_clock::time_point deadline;
    std::function<bool()> wanted;  // false: nobody waits for it any more
  };
  // Comes back to the caller's thread. kUnavailable: too many wait.
  // REQUIRES: each text is one that the embedder takes.
  [[nodiscard]] boost::asio::awaitable<Result<std::vector<engine::Vectors>>> embed(
      const std::vector<Tokens>& texts, Limits limits);

  // Waits for the step under way. Nothing is computed afterwards, nor comes back.
  void stop();

  // Since the start, but for the first.
  struct Counts {
    std::size_t requests = 0;  // here now
    std::uint64_t tokens = 0;
    std::uint64_t steps = 0;
    double seconds = 0.0;
  };
  [[nodiscard]] Counts counts() const { return {requests_, tokens_, steps_, seconds_}; }

 private:
  [[nodiscard]] boost::asio::awaitable<Result<std::vector<engine::Vectors>>> embed_here(
      const std::vector<Tokens>& texts, Limits limits);
  [[nodiscard]] Result<std::vector<engine::Vectors>> step(std::span<const Tokens> texts);

  const std::shared_ptr<engine::Embedder> embedder_;
  const Options options_;
  std::atomic<std::size_t> requests_{0};
  std::atomic<std::uint64_t> tokens_{0};
  std::atomic<std::uint64_t> steps_{0};
  std::atomic<double> seconds_{0.0};
  boost::asio::thread_pool thread_{1};  // the embedder's
};

}  // namespace holdfast::api
