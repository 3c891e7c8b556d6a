// WorkerProbe: how long a newcomer's request would wait for a worker.
//
// Each look leaves an empty job with the pool, unless one waits there already. A job that no worker
// has come to says since when none has.
//
// The I/O thread.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>

#include "api/worker_pool.h"

namespace holdfast::api {

class WorkerProbe {
 public:
  explicit WorkerProbe(WorkerPool& workers) : workers_(workers) {}

  // Milliseconds since a worker was asked for and none came; 0: one came to the last job.
  [[nodiscard]] double waiting_ms() {
    const auto now = std::chrono::steady_clock::now();
    if (!waits_->exchange(true)) {
      asked_ = now;
      workers_.post({"", false, [waits = waits_](bool) { waits->store(false); }});
      return 0.0;
    }
    return std::chrono::duration<double, std::milli>(now - asked_).count();
  }

 private:
  WorkerPool& workers_;
  std::shared_ptr<std::atomic<bool>> waits_ = std::make_shared<std::atomic<bool>>(false);
  std::chrono::steady_clock::time_point asked_{};
};

}  // namespace holdfast::api
