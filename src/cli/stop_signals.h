// How a server is told to stop: Ctrl-C and `kill`, or by itself.
#pragma once

#include <thread>

namespace holdfast::cli {

enum class StopCause {
  kAsked,     // SIGINT or SIGTERM
  kByItself,  // stop_by_itself()
};

// Blocks them in this thread and in every thread started later, so that wait_for_stop()
// alone sees them.
void block_stop_signals();
[[nodiscard]] StopCause wait_for_stop();

// Ends a wait_for_stop() from any thread: any one, or that of `waiting`.
void stop_by_itself();
void end_wait(std::thread& waiting);

}  // namespace holdfast::cli
