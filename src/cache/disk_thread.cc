#include "cache/disk_thread.h"

#include <chrono>
#include <utility>

#include "base/check.h"

namespace holdfast::cache {

namespace {

// Paths rest, pauses end and flushes are watched in steps of this.
constexpr auto kGlance = std::chrono::milliseconds(50);

}  // namespace

void DiskThread::start() {
  CHECK(!thread_.joinable());
  thread_ = std::thread([this] { run(); });
}

void DiskThread::stop() {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
  }
  news_.notify_all();
  idle_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// Waits a little where it is not the time to write.
void DiskThread::run() {
  for (;;) {
    {
      MutexLock lock(mutex_);
      while (!stop_ && tasks_.empty() && !behind_.waits()) news_.wait(lock);
      if (stop_) return;
      if (tasks_.empty() && !behind_.ready()) {
        news_.wait_for(lock, kGlance);
        continue;
      }
    }
    work();
  }
}

std::function<void()> DiskThread::next_task() {
  const MutexLock lock(mutex_);
  if (tasks_.empty()) return nullptr;
  std::function<void()> task = std::move(tasks_.front());
  tasks_.pop_front();
  return task;
}

bool DiskThread::work() {
  const std::function<void()> task = next_task();
  if (task) task();
  const bool did = task || behind_.work();
  if (did && !behind_.waits()) idle_.notify_all();
  return did;
}

void DiskThread::ask(std::function<void()> task) {
  {
    const MutexLock lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  news_.notify_all();
}

// Under the lock, so that it does not fall between the thread's look and its sleep.
void DiskThread::wake() {
  const MutexLock lock(mutex_);
  news_.notify_all();
}

bool DiskThread::wait_until_idle(const std::function<bool()>& go_on) {
  MutexLock lock(mutex_);
  while (!tasks_.empty() || behind_.waits()) {
    lock.unlock();
    const bool goes_on = go_on();
    lock.lock();
    if (stop_ || !goes_on) return false;
    idle_.wait_for(lock, kGlance);
  }
  return true;
}

}  // namespace holdfast::cache
