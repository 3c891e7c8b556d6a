// FileWatch tells when a file has changed, on a thread of its own.
//
// It looks once a second, which works on every file system and for editors that replace a file as
// well as for those that write into it. A change is told when two looks in a row see the same: a
// file that is being written is not read in the middle.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "base/thread_annotations.h"

namespace holdfast::api {

class FileWatch {
 public:
  FileWatch(std::string path, std::function<void()> on_changed,
            std::chrono::milliseconds every = std::chrono::seconds(1));
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

 private:
  // False: it ends.
  [[nodiscard]] bool rest();

  const std::string path_;
  const std::function<void()> on_changed_;
  const std::chrono::milliseconds every_;
  Mutex mutex_;
  std::condition_variable_any ends_;
  bool ended_ GUARDED_BY(mutex_) = false;
  std::thread thread_;  // the last, because it uses the others
};

}  // namespace holdfast::api
