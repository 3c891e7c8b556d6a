// WorkerProbe: how long the worker has been busy with one thing.
//
// Each look leaves an empty errand with the worker, unless one waits there already. An errand that
// the worker has not come to says since when it has not.
//
// The I/O thread.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <memory>
#include <utility>

namespace holdfast::api {

class WorkerProbe {
 public:
  explicit WorkerProbe(boost::asio::any_io_executor worker) : worker_(std::move(worker)) {}

  // Milliseconds since the worker was asked and did not come; 0: it came to the last errand.
  [[nodiscard]] double waiting_ms() {
    const auto now = std::chrono::steady_clock::now();
    if (!waits_->exchange(true)) {
      asked_ = now;
      boost::asio::post(worker_, [waits = waits_] { waits->store(false); });
      return 0.0;
    }
    return std::chrono::duration<double, std::milli>(now - asked_).count();
  }

 private:
  boost::asio::any_io_executor worker_;
  std::shared_ptr<std::atomic<bool>> waits_ = std::make_shared<std::atomic<bool>>(false);
  std::chrono::steady_clock::time_point asked_{};
};

}  // namespace holdfast::api
