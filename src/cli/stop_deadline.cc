#include "cli/stop_deadline.h"

#include <utility>

namespace holdfast::cli {

StopDeadline::StopDeadline(Plan plan) : plan_(std::move(plan)), thread_([this] { run(); }) {}

void StopDeadline::done() {
  enter(Phase::kDone);
  if (thread_.joinable()) thread_.join();
}

void StopDeadline::enter(Phase phase) {
  const std::lock_guard lock(mutex_);
  if (phase > phase_) phase_ = phase;
  changed_.notify_all();
}

void StopDeadline::run() {
  std::unique_lock lock(mutex_);
  const auto passed = [this](Phase phase) { return [this, phase] { return phase_ > phase; }; };
  if (!changed_.wait_for(lock, plan_.patience, passed(Phase::kPatient))) {
    phase_ = Phase::kCut;
    lock.unlock();
    plan_.cut_short();
    lock.lock();
  }
  if (changed_.wait_for(lock, plan_.after_cut, passed(Phase::kCut))) return;
  lock.unlock();
  plan_.give_up();
}

}  // namespace holdfast::cli
