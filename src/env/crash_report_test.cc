#include "env/crash_report.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <string>
#include <thread>

namespace holdfast::env {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SKIP_WITH_SANITIZER() GTEST_SKIP() << "the sanitizer reports"
#else
#define SKIP_WITH_SANITIZER() static_cast<void>(0)
#endif

struct Death {
  int signal = 0;
  std::string report;
};

// A process of its own that reports crashes, and does this.
template <typename Act>
pid_t in_child(int standard_error, const Act& act) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::dup2(standard_error, STDERR_FILENO);
  report_crashes("holdfast test");
  act();
  ::_exit(0);
}

int signal_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

Death death_of(const std::function<void()>& act) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = in_child(ends[1], act);
  ::close(ends[1]);
  Death death;
  char buffer[4096];
  for (ssize_t got; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    death.report.append(buffer, static_cast<std::size_t>(got));
  ::close(ends[0]);
  death.signal = signal_of(child);
  return death;
}

void write_nowhere() {
  volatile std::uintptr_t nowhere = 0;
  *reinterpret_cast<volatile int*>(nowhere) = 1;
}

// The compiler must not see that it never ends.
int fill_stack(volatile char* above);
int (*volatile deeper)(volatile char*) = fill_stack;
int fill_stack(volatile char* above) {
  volatile char here[4096];
  here[0] = above[0];
  return deeper(here) + here[0];
}

TEST(CrashReport, Crash1EndsByItsSignal) {
  SKIP_WITH_SANITIZER();
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    const Death death = death_of([number] { ::kill(::getpid(), number); });
    EXPECT_EQ(death.signal, number);
    EXPECT_NE(death.report.find("holdfast: crash: SIG"), std::string::npos) << death.report;
    EXPECT_NE(death.report.find("build     holdfast test\n"), std::string::npos) << death.report;
  }
}

TEST(CrashReport, AFaultHasItsAddressAndItsStack) {
  SKIP_WITH_SANITIZER();
  const Death death = death_of(write_nowhere);
  EXPECT_EQ(death.signal, SIGSEGV);
  EXPECT_NE(death.report.find("SIGSEGV, address not mapped: 0x0000000000000000\n"),
            std::string::npos)
      << death.report;
  EXPECT_NE(death.report.find("env_crash_report_test"), std::string::npos) << death.report;
}

TEST(CrashReport, Crash2HoldsTheLatestFactsCutShort) {
  SKIP_WITH_SANITIZER();
  const Death death = death_of([] {
    note_for_crash(CrashFact::kRequest, "chatcmpl-first-and-longer");
    note_for_crash(CrashFact::kRequest, "chatcmpl-last");
    note_for_crash(CrashFact::kModel, std::string(1000, 'm'));
    ::abort();
  });
  EXPECT_EQ(death.signal, SIGABRT);
  EXPECT_NE(death.report.find("request   chatcmpl-last\n"), std::string::npos) << death.report;
  EXPECT_NE(death.report.find("model     " + std::string(255, 'm') + "\n"), std::string::npos);
  EXPECT_EQ(death.report.find("doing"), std::string::npos) << "a fact that nobody noted";
}

TEST(CrashReport, AFullStackOfAThreadIsReported) {
  SKIP_WITH_SANITIZER();
  const Death death = death_of([] {
    std::thread([] {
      const CrashStack stack;
      volatile char top = 0;
      ::_exit(fill_stack(&top));
    }).join();
  });
  EXPECT_EQ(death.signal, SIGSEGV);
  EXPECT_NE(death.report.find("holdfast: crash: SIGSEGV"), std::string::npos) << death.report;
}

TEST(CrashReport, Crash3WaitsForNoReader) {
  SKIP_WITH_SANITIZER();
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
  const std::string page(4096, 'x');
  while (::write(ends[1], page.data(), page.size()) > 0) continue;  // full
  ASSERT_EQ(::fcntl(ends[1], F_SETFL, 0), 0);
  const pid_t child = in_child(ends[1], write_nowhere);
  EXPECT_EQ(signal_of(child), SIGSEGV);  // and not SIGALRM
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace holdfast::env
