// StopDeadline: a server that was told to stop ends within a bound.
//
//   told to stop --patience--> cut_short() --after_cut--> give_up()
//
// done() in time, and neither is called. Both are called on a thread of its own, so that nothing
// that hangs can keep them from happening.
//
// Invariants, verified by the tests of the same numbers (stop_deadline_test.cc):
//   STOP-1  after done() nothing is called
//   STOP-2  give_up() comes after cut_short() or hurry(), and only if done() does not
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace holdfast::cli {

class StopDeadline {
 public:
  struct Plan {
    std::chrono::milliseconds patience{};   // for what is under way
    std::chrono::milliseconds after_cut{};  // for what was cut short
    std::function<void()> cut_short;
    std::function<void()> give_up;  // ends the process
  };
  explicit StopDeadline(Plan plan);
  ~StopDeadline() { done(); }
  StopDeadline(const StopDeadline&) = delete;
  StopDeadline& operator=(const StopDeadline&) = delete;

  // Somebody else has cut it short.
  void hurry() { enter(Phase::kCut); }
  // Waits for a call that is under way.
  void done();

 private:
  enum class Phase { kPatient, kCut, kDone };

  void enter(Phase phase);
  void run();

  const Plan plan_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Phase phase_ = Phase::kPatient;  // under mutex_
  std::thread thread_;
};

}  // namespace holdfast::cli
