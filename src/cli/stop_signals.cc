#include "cli/stop_signals.h"

#include <signal.h>
#include <unistd.h>

namespace holdfast::cli {
namespace {

constexpr int kOurOwn = SIGUSR1;

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, kOurOwn);
  return set;
}

}  // namespace

void block_stop_signals() {
  const sigset_t set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

StopCause wait_for_stop() {
  const sigset_t set = stop_signals();
  int number = 0;
  while (sigwait(&set, &number) != 0) {
  }
  return number == kOurOwn ? StopCause::kByItself : StopCause::kAsked;
}

void stop_by_itself() { kill(getpid(), kOurOwn); }

void end_wait(std::thread& waiting) { pthread_kill(waiting.native_handle(), kOurOwn); }

}  // namespace holdfast::cli
