#include "api/file_watch.h"

#include <sys/stat.h>

#include <tuple>
#include <utility>

namespace holdfast::api {
namespace {

// What tells one version of a file from another. All zero: there is no file.
using Look = std::tuple<std::uint64_t, std::uint64_t, std::int64_t, std::int64_t, std::int64_t>;

Look look_at(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return {};
  return {facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec};
}

}  // namespace

FileWatch::FileWatch(std::string path, std::function<void()> on_changed,
                     std::chrono::milliseconds every)
    : path_(std::move(path)),
      on_changed_(std::move(on_changed)),
      every_(every),
      // What is there now is not news, however late the thread begins.
      thread_([this, told = look_at(path_), last = Look()]() mutable {
        while (rest()) {
          const Look now = look_at(path_);
          const bool settled = now == std::exchange(last, now);
          if (settled && now != std::exchange(told, now)) on_changed_();
        }
      }) {}

FileWatch::~FileWatch() {
  {
    const MutexLock lock(mutex_);
    ended_ = true;
  }
  ends_.notify_all();
  thread_.join();
}

bool FileWatch::rest() {
  const auto until = std::chrono::steady_clock::now() + every_;
  MutexLock lock(mutex_);
  while (!ended_) {
    if (ends_.wait_until(lock, until) == std::cv_status::timeout) break;
  }
  return !ended_;
}

}  // namespace holdfast::api
