// How a server hears signals: Ctrl-C and `kill` stop it, others make it do something, none ends it
// by surprise.
//
//   SIGINT, SIGTERM   it stops; wait_for_stop() returns
//   SIGHUP            what can be loaded again is (cli/reloads.h)
//   SIGUSR1           a line in the log says how it stands
//   SIGUSR2           nothing
//   SIGXFSZ, SIGPIPE  nothing: a write that is too long (`ulimit -f`) or has no reader fails, and
//   is
//                     dealt with like one to a full disk
#pragma once

#include <functional>
#include <thread>

namespace holdfast::cli {

enum class StopCause {
  kAsked,     // SIGINT or SIGTERM
  kByItself,  // stop_by_itself() or end_wait()
};

// What signals ask for besides an end. On the thread that waits; null: nothing.
struct SignalActions {
  std::function<void()> reload;  // SIGHUP
  std::function<void()> status;  // SIGUSR1
};

// Blocks them in this thread and in every thread started later, so that wait_for_stop()
// alone sees them.
void take_over_signals();
[[nodiscard]] StopCause wait_for_stop(const SignalActions& actions = {});

// Ends a wait_for_stop() from any thread: any one, or that of `waiting`.
void stop_by_itself();
void end_wait(std::thread& waiting);

}  // namespace holdfast::cli
