#include "record/recording_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace holdfast::record {

namespace {

class RealTarget final : public RecordingTarget {
 public:
  RealTarget(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  ~RealTarget() override { ::close(fd_); }
  RealTarget(const RealTarget&) = delete;
  RealTarget& operator=(const RealTarget&) = delete;

  Result<void> append(std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t count = ::write(fd_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) {
        return Error{
            ErrorCode::kIo,
            path_ + " could not be written: " + std::strerror(count < 0 ? errno : EIO) + ".", ""};
      }
      bytes.remove_prefix(static_cast<std::size_t>(count));
      pending_ += count;
    }
    whole_ += std::exchange(pending_, 0);
    return {};
  }
  void take_back() override { (void)!::ftruncate(fd_, whole_); }

 private:
  const int fd_;
  const std::string path_;
  off_t whole_ = 0;
  off_t pending_ = 0;
};

}  // namespace

Result<std::unique_ptr<RecordingTarget>> make_recording_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd >= 0) return std::unique_ptr<RecordingTarget>(std::make_unique<RealTarget>(fd, path));
  if (errno == EEXIST) {
    return invalid_argument("--record",
                            path +
                                " is there already, and a recording never writes over a file: "
                                "remove it, or choose another name.");
  }
  return Error{ErrorCode::kIo, path + " cannot be made: " + std::strerror(errno) + ".", "--record"};
}

RecordingFile::RecordingFile(std::unique_ptr<RecordingTarget> target)
    : target_(std::move(target)), thread_([this] { run(); }) {}

RecordingFile::~RecordingFile() { finish(); }

Result<void> RecordingFile::write(std::string bytes) {
  {
    const MutexLock lock(mutex_);
    if (!failure_ && queued_ + bytes.size() > kQueueBytes) {
      failure_ = Error{ErrorCode::kIo, "The disk is too slow for what is recorded.", ""};
    }
    if (failure_) return *failure_;
    queued_ += bytes.size();
    queue_.push_back(std::move(bytes));
  }
  news_.notify_one();
  return {};
}

void RecordingFile::finish() {
  {
    const MutexLock lock(mutex_);
    finish_ = true;
  }
  news_.notify_one();
  if (thread_.joinable()) thread_.join();
}

std::uint64_t RecordingFile::written() const {
  const MutexLock lock(mutex_);
  return written_;
}

std::optional<Error> RecordingFile::failure() const {
  const MutexLock lock(mutex_);
  return failure_;
}

void RecordingFile::run() {
  MutexLock lock(mutex_);
  for (;;) {
    while (!finish_ && queue_.empty()) news_.wait(lock);
    if (queue_.empty()) return;
    const std::string next = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    const auto appended = target_->append(next);
    if (!appended) target_->take_back();
    lock.lock();
    queued_ -= next.size();
    if (appended) {
      written_ += next.size();
      continue;
    }
    failure_ = appended.error();
    queue_.clear();
    queued_ = 0;
    return;
  }
}

}  // namespace holdfast::record
