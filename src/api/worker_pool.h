// WorkerPool: the threads that prepare requests, shared fairly (fair_jobs.h).
//
// Any thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "api/fair_jobs.h"
#include "base/mutex.h"
#include "base/thread_annotations.h"

namespace holdfast::api {

class WorkerPool {
 public:
  // A job for a body larger than this is a heavy one: tokenising it takes 0.15 s or more.
  static constexpr std::size_t kHeavyBytes = std::size_t{256} << 10U;

  explicit WorkerPool(std::size_t workers = default_workers());
  ~WorkerPool() { stop(); }
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // As many as there are CPUs, up to 16; four even on a small machine, so that one client's two
  // books leave a worker for its own short requests and one for others.
  [[nodiscard]] static std::size_t default_workers();

  void post(WorkerJob job);
  // Jobs under way are finished, those that wait are told that they will not be done.
  void stop();

 private:
  void work();

  Mutex mutex_;
  std::condition_variable_any changed_;
  FairJobs jobs_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

// Where the work of one request goes, and whose it is.
struct Worker {
  WorkerPool* pool = nullptr;
  std::string client;
  bool heavy = false;
};

}  // namespace holdfast::api
