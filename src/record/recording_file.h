// RecordingFile: where a recording goes, on a thread of its own.
//
//   engine's thread --write(frame)--> queue, at most kQueueBytes --> file
//
// write() never waits for the disk. When the disk is full, fails, or is so slow that the queue
// fills up, nothing more is written. The file then consists of whole frames and can be replayed.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/mutex.h"
#include "base/result.h"
#include "base/thread_annotations.h"

namespace holdfast::record {

// Takes the bytes of a recording in order.
class RecordingSink {
 public:
  virtual ~RecordingSink() = default;
  // An Error: these bytes were not taken, and no later ones will be.
  [[nodiscard]] virtual Result<void> write(std::string bytes) = 0;
};

// The file itself. Tests put one in its place that fails.
class RecordingTarget {
 public:
  virtual ~RecordingTarget() = default;
  [[nodiscard]] virtual Result<void> append(std::string_view bytes) = 0;
  // Removes the part of a failed append that was written.
  virtual void take_back() = 0;
};

// Makes the file, which must not be there yet; only its owner may read it.
[[nodiscard]] Result<std::unique_ptr<RecordingTarget>> make_recording_file(const std::string& path);

class RecordingFile final : public RecordingSink {
 public:
  static constexpr std::size_t kQueueBytes = std::size_t{32} << 20U;

  explicit RecordingFile(std::unique_ptr<RecordingTarget> target);
  ~RecordingFile() override;  // finishes
  RecordingFile(const RecordingFile&) = delete;
  RecordingFile& operator=(const RecordingFile&) = delete;

  [[nodiscard]] Result<void> write(std::string bytes) override;
  // Returns when all bytes that were taken are written, or writing has failed.
  void finish();
  [[nodiscard]] std::uint64_t written() const;
  // Why it ended early, if it did.
  [[nodiscard]] std::optional<Error> failure() const;

 private:
  void run();

  const std::unique_ptr<RecordingTarget> target_;
  mutable Mutex mutex_;
  std::condition_variable_any news_;
  std::deque<std::string> queue_ GUARDED_BY(mutex_);
  std::size_t queued_ GUARDED_BY(mutex_) = 0;
  std::uint64_t written_ GUARDED_BY(mutex_) = 0;
  bool finish_ GUARDED_BY(mutex_) = false;
  std::optional<Error> failure_ GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace holdfast::record
