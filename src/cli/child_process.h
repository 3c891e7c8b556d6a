// Programs that this one starts: a coding agent in the foreground, a server behind it.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace holdfast::cli {

// Where a shell would find it; empty: nowhere. `path` is the variable PATH.
[[nodiscard]] std::string find_program(const std::string& name, const std::string& path);

struct ChildPlan {
  std::string program;  // a path
  std::vector<std::string> arguments = {};
  std::vector<std::pair<std::string, std::string>> variables = {};  // beside those of this process
  std::vector<std::string> unset = {};
};

// Runs it on this terminal until it ends: its exit code, or 128 and the number of the signal
// that ended it. Keys such as Ctrl-C are the child's meanwhile; SIGTERM and SIGHUP are passed on
// to it. An Error: it could not be started. One at a time.
[[nodiscard]] Result<int> run_in_front(const ChildPlan& plan);

// While one lives, SIGINT, SIGTERM and SIGHUP do not end this process; they are noted, but
// while run_in_front() runs. One at a time.
class NotedSignals {
 public:
  NotedSignals();
  NotedSignals(const NotedSignals&) = delete;
  NotedSignals& operator=(const NotedSignals&) = delete;
  ~NotedSignals();

  [[nodiscard]] static bool any();   // since the latest was made
  [[nodiscard]] static bool take();  // the same, and forgets it

 private:
  std::vector<std::pair<int, struct sigaction>> old_;
};

// A program in the background, in a session of its own, so that no key reaches it. It ends with
// this process, whatever happens to that.
class BackgroundChild {
 public:
  // What it prints is appended to the file `output`.
  [[nodiscard]] static Result<BackgroundChild> start(const ChildPlan& plan,
                                                     const std::string& output);
  BackgroundChild(BackgroundChild&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  BackgroundChild& operator=(BackgroundChild&&) = delete;
  BackgroundChild(const BackgroundChild&) = delete;
  BackgroundChild& operator=(const BackgroundChild&) = delete;
  ~BackgroundChild();  // stops it

  [[nodiscard]] bool running();
  void ask_to_end();  // SIGTERM, once
  // Asks it to end (SIGTERM) and waits; asks again after each `patience`, and kills it after
  // the third.
  void stop(std::chrono::milliseconds patience);

 private:
  explicit BackgroundChild(pid_t pid) : pid_(pid) {}

  pid_t pid_;  // -1: it has ended
};

}  // namespace holdfast::cli
