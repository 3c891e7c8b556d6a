#include "cli/stop_signals.h"

#include <signal.h>
#include <unistd.h>

namespace holdfast::cli {
namespace {

// A signal that nobody else means something by; another process's is ignored.
int our_own() { return SIGRTMIN + 1; }

sigset_t awaited_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, our_own()})
    sigaddset(&set, number);
  return set;
}

void act(const std::function<void()>& action) {
  if (action) action();
}

}  // namespace

void take_over_signals() {
  const sigset_t set = awaited_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
}

StopCause wait_for_stop(const SignalActions& actions) {
  const sigset_t set = awaited_signals();
  for (;;) {
    siginfo_t info{};
    const int number = sigwaitinfo(&set, &info);
    if (number == SIGINT || number == SIGTERM) return StopCause::kAsked;
    if (number == our_own() && info.si_pid == getpid()) return StopCause::kByItself;
    if (number == SIGHUP) act(actions.reload);
    if (number == SIGUSR1) act(actions.status);
  }
}

void stop_by_itself() { kill(getpid(), our_own()); }

void end_wait(std::thread& waiting) { pthread_kill(waiting.native_handle(), our_own()); }

}  // namespace holdfast::cli
