#include "serve/inbox.h"

#include <utility>

namespace holdfast::serve {

Error stopping_error() { return {ErrorCode::kUnavailable, "The server is shutting down.", ""}; }

Error cancelled_error() { return {ErrorCode::kCancelled, "The request was cancelled.", ""}; }

// --- any thread ------------------------------------------------------------------------------

Result<void> Inbox::submit(std::unique_ptr<Job> job) {
  {
    const MutexLock lock(mutex_);
    if (stop_) return stopping_error();
    if (waiting_ >= queue_max_) {
      return Error{
          ErrorCode::kUnavailable,
          "The queue is full (" + std::to_string(queue_max_) + " requests wait). Try again later.",
          ""};
    }
    ++waiting_;
    new_.jobs.push_back(std::move(job));
  }
  news_.notify_one();
  return {};
}

void Inbox::cancel(const std::string& request_id) {
  {
    const MutexLock lock(mutex_);
    new_.cancelled.push_back(request_id);
  }
  news_.notify_one();
}

bool Inbox::post(Errand errand) {
  {
    const MutexLock lock(mutex_);
    if (stop_) return false;
    new_.errands.push_back(std::move(errand));
  }
  news_.notify_one();
  return true;
}

bool Inbox::post_glance(Errand glance) {
  {
    const MutexLock lock(mutex_);
    if (stop_) return false;
    glances_.push_back(std::move(glance));
  }
  news_.notify_one();
  return true;
}

void Inbox::wake() {
  {
    const MutexLock lock(mutex_);
    woken_ = true;
  }
  news_.notify_one();
}

void Inbox::request_stop(StopMode mode) {
  {
    const MutexLock lock(mutex_);
    if (!stop_ || mode == StopMode::kAbort) stop_ = mode;
  }
  news_.notify_one();
}

Inbox::Standing Inbox::standing() const {
  const MutexLock lock(mutex_);
  return {waiting_, stop_.has_value()};
}

// --- the loop --------------------------------------------------------------------------------

Inbox::Delivery Inbox::take() {
  const MutexLock lock(mutex_);
  Delivery delivery = std::exchange(new_, {});
  woken_ = false;
  delivery.abort = stop_ == StopMode::kAbort;
  return delivery;
}

void Inbox::answer_glances() {
  std::vector<Errand> glances;
  {
    const MutexLock lock(mutex_);
    glances.swap(glances_);
  }
  for (const Errand& glance : glances) glance();
}

void Inbox::note_left_queue(std::size_t count) {
  const MutexLock lock(mutex_);
  waiting_ -= count;
}

bool Inbox::has_work(bool fetching) const {
  return !new_.jobs.empty() || !new_.cancelled.empty() || !new_.errands.empty() || woken_ ||
         (stop_ && !fetching);
}

bool Inbox::wait(std::optional<std::chrono::milliseconds> most, bool fetching) {
  const auto deadline =
      std::chrono::steady_clock::now() + most.value_or(std::chrono::milliseconds::zero());
  MutexLock lock(mutex_);
  while (!has_work(fetching)) {
    if (!glances_.empty()) {
      lock.unlock();
      answer_glances();
      lock.lock();
    } else if (!most) {
      news_.wait(lock);
    } else if (news_.wait_until(lock, deadline) == std::cv_status::timeout) {
      return has_work(fetching);
    }
  }
  return true;
}

bool Inbox::may_end() const {
  const MutexLock lock(mutex_);
  return stop_ && new_.jobs.empty() && new_.errands.empty() && glances_.empty();
}

std::vector<std::string> Inbox::check(std::size_t queued) const {
  std::vector<std::string> violations;
  const MutexLock lock(mutex_);
  if (waiting_ > queue_max_) violations.push_back("INBOX-1: too many requests wait");
  if (waiting_ != new_.jobs.size() + queued) {
    violations.push_back("INBOX-1: requests that wait are miscounted");
  }
  return violations;
}

}  // namespace holdfast::serve
