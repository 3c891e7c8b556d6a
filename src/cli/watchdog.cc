#include "cli/watchdog.h"

#include "env/log.h"

namespace holdfast::cli {

void Watchdog::start(std::chrono::milliseconds every) {
  thread_ = std::thread([this, every] {
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, every, [this] { return end_; })) {
      lock.unlock();
      look_once();
      lock.lock();
    }
  });
}

void Watchdog::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

void Watchdog::look_once() {
  const auto pulse = look_();
  if (!pulse || pulse->stuck() == told_) return;
  told_ = pulse->stuck();
  if (told_) {
    env::Log::error("the scheduler is stuck: " + pulse->in_words(),
                    {{"request", pulse->request},
                     {"ms", static_cast<std::int64_t>(pulse->piece_ms)},
                     {"bound_ms", static_cast<std::int64_t>(pulse->bound_ms)}});
  } else {
    env::Log::warn("the scheduler goes on");
  }
}

}  // namespace holdfast::cli
