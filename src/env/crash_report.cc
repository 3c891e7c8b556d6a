#include "env/crash_report.h"

#include <execinfo.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>

namespace holdfast::env {
namespace {

// A sanitizer reports by itself, and has signal stacks of its own.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitizerReports = true;
#else
constexpr bool kSanitizerReports = false;
#endif

constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr std::size_t kFactBytes = 256;
constexpr std::size_t kStackBytes = 128 * 1024;
constexpr int kFramesMax = 64;
constexpr int kPatienceMs = 500;      // for somebody who reads what is written
constexpr unsigned kSecondsMax = 10;  // for the whole report, should it hang in a broken process

// A text that any thread may set while a handler reads it. It may then be a mixture of both.
class Note {
 public:
  void set(std::string_view text) {
    const std::size_t size = std::min(text.size(), kFactBytes - 1);
    for (std::size_t i = 0; i < size; ++i) bytes_[i].store(text[i], std::memory_order_relaxed);
    bytes_[size].store('\0', std::memory_order_relaxed);
  }
  void copy_to(char (&out)[kFactBytes]) const {
    for (std::size_t i = 0; i < kFactBytes; ++i) out[i] = bytes_[i].load(std::memory_order_relaxed);
    out[kFactBytes - 1] = '\0';
  }

 private:
  std::array<std::atomic<char>, kFactBytes> bytes_{};
};

constexpr std::array kLabels = {"build", "model", "doing", "request"};
std::array<Note, kLabels.size()> notes;
std::atomic_flag begun = ATOMIC_FLAG_INIT;

// --- in a handler: nothing but what POSIX allows there -------------------------------

bool nobody_reads = false;

bool may_write() {
  pollfd waiting{STDERR_FILENO, POLLOUT, 0};
  nobody_reads =
      nobody_reads || ::poll(&waiting, 1, kPatienceMs) <= 0 || (waiting.revents & POLLOUT) == 0;
  return !nobody_reads;
}

void put(const char* text) {
  if (may_write()) static_cast<void>(!::write(STDERR_FILENO, text, std::strlen(text)));
}

void put_address(std::uintptr_t address) {
  char text[] = "0x0000000000000000";
  for (std::size_t at = sizeof text - 2; at > 1; --at, address >>= 4)
    text[at] = "0123456789abcdef"[address & 15];
  put(text);
}

void put_number(long number) {
  char text[24] = {};
  std::size_t at = sizeof text - 1;
  do {
    text[--at] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number > 0 && at > 0);
  put(text + at);
}

const char* name_of(int number) {
  switch (number) {
    case SIGSEGV: return "SIGSEGV";
    case SIGBUS: return "SIGBUS";
    case SIGFPE: return "SIGFPE";
    case SIGILL: return "SIGILL";
    default: return "SIGABRT";
  }
}

const char* reason_of(const siginfo_t& info) {
  if (info.si_signo == SIGSEGV && info.si_code == SEGV_MAPERR) return ", address not mapped: ";
  if (info.si_signo == SIGSEGV && info.si_code == SEGV_ACCERR) return ", address not permitted: ";
  if (info.si_signo == SIGBUS && info.si_code == BUS_ADRERR) return ", no such memory: ";
  return ", at ";
}

void put_cause(const siginfo_t& info) {
  put("\nholdfast: crash: ");
  put(name_of(info.si_signo));
  if (info.si_code > 0) {
    put(reason_of(info));
    put_address(reinterpret_cast<std::uintptr_t>(info.si_addr));
  } else if (info.si_pid != ::getpid()) {
    put(", sent by process ");
    put_number(info.si_pid);
  }
  put("\n");
}

void put_facts() {
  constexpr std::size_t kColumn = 10;
  for (std::size_t i = 0; i < notes.size(); ++i) {
    char text[kFactBytes];
    notes[i].copy_to(text);
    if (text[0] == '\0') continue;
    put("  ");
    put(kLabels[i]);
    for (std::size_t wide = std::strlen(kLabels[i]); wide < kColumn; ++wide) put(" ");
    put(text);
    put("\n");
  }
}

void put_stack() {
  put("  stack\n");
  void* frames[kFramesMax];
  const int count = ::backtrace(frames, kFramesMax);
  // One at a time: each is less than what a pipe with room takes at once.
  for (int i = 0; i < count && may_write(); ++i)
    ::backtrace_symbols_fd(frames + i, 1, STDERR_FILENO);
}

void default_action(int number) {
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  ::sigaction(number, &plain, nullptr);
}

void on_crash(int number, siginfo_t* info, void* /*context*/) {
  // A second thread waits for the end that the first one is about to bring.
  if (begun.test_and_set())
    for (;;) ::pause();
  for (const int each : kSignals) default_action(each);  // a fault in here ends it at once
  default_action(SIGALRM);
  ::alarm(kSecondsMax);
  put_cause(*info);
  put_facts();
  put_stack();
  put("  The cache folder is whole. `holdfast doctor` and these lines make a bug report.\n");
  ::raise(number);
}

}  // namespace

void report_crashes(std::string_view build) {
  note_for_crash(CrashFact::kBuild, build);
  if (kSanitizerReports) return;
  void* frame = nullptr;
  ::backtrace(&frame, 1);  // loads what it needs, which a handler must not do
  static const CrashStack main_stack;
  struct sigaction action {};
  action.sa_sigaction = on_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (const int number : kSignals) ::sigaction(number, &action, nullptr);
}

CrashStack::CrashStack() {
  if (kSanitizerReports) return;
  memory_ = std::make_unique<char[]>(kStackBytes);
  stack_t stack{};
  stack.ss_sp = memory_.get();
  stack.ss_size = kStackBytes;
  ::sigaltstack(&stack, nullptr);
}

CrashStack::~CrashStack() {
  if (kSanitizerReports) return;
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  ::sigaltstack(&none, nullptr);
}

void note_for_crash(CrashFact fact, std::string_view text) {
  notes[static_cast<std::size_t>(fact)].set(text);
}

}  // namespace holdfast::env
