#include "api/worker_pool.h"

#include <algorithm>
#include <list>
#include <optional>
#include <utility>

#include "env/crash_report.h"

namespace holdfast::api {

WorkerPool::WorkerPool(std::size_t workers) : jobs_(workers) {
  for (std::size_t i = 0; i < workers; ++i) threads_.emplace_back([this] { work(); });
}

std::size_t WorkerPool::default_workers() {
  return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 4, 16);
}

void WorkerPool::post(WorkerJob job) {
  {
    const MutexLock lock(mutex_);
    if (!stopping_) {
      jobs_.push(std::move(job));
      changed_.notify_one();
      return;
    }
  }
  job.run(false);
}

void WorkerPool::work() {
  const env::CrashStack stack;
  MutexLock lock(mutex_);
  while (true) {
    std::optional<WorkerJob> job = jobs_.take();
    if (!job) {
      if (stopping_) return;
      changed_.wait(lock);
      continue;
    }
    lock.unlock();
    job->run(true);
    lock.lock();
    jobs_.end(*job);
    // What this job kept from beginning may begin now, and more than one thread may be idle.
    changed_.notify_all();
  }
}

void WorkerPool::stop() {
  std::list<WorkerJob> unwanted;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    unwanted = jobs_.take_all();
    changed_.notify_all();
  }
  for (const WorkerJob& job : unwanted) job.run(false);
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

}  // namespace holdfast::api
