#include "cli/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "cli/text_parts.h"

namespace holdfast::cli {
namespace {

constexpr int kNotStarted = 127;  // as a shell has it
constexpr std::chrono::milliseconds kLookAgain{20};

Error failed(const std::string& what, int error = errno) {
  return {ErrorCode::kIo, what + ": " + std::strerror(error), ""};
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Tells the parent why the program could not be started; closed where it could.
class StartReport {
 public:
  StartReport() { made_ = pipe2(ends_.data(), O_CLOEXEC) == 0; }
  StartReport(const StartReport&) = delete;
  StartReport& operator=(const StartReport&) = delete;
  ~StartReport() {
    for (const int end : ends_) {
      if (end >= 0) close(end);
    }
  }

  void send(int error) const {
    if (made_) (void)!write(ends_[1], &error, sizeof(error));
  }
  // 0: it was started. Waits until that is known.
  [[nodiscard]] int receive() {
    if (!made_) return 0;
    close(std::exchange(ends_[1], -1));
    int error = 0;
    ssize_t got = 0;
    while ((got = read(ends_[0], &error, sizeof(error))) < 0 && errno == EINTR) {
    }
    return got == sizeof(error) ? error : 0;
  }

 private:
  std::array<int, 2> ends_ = {-1, -1};
  bool made_ = false;
};

// In the child, which has one thread. Does not return.
[[noreturn]] void become(const ChildPlan& plan, const StartReport& report) {
  for (const auto& [name, value] : plan.variables) setenv(name.c_str(), value.c_str(), 1);
  for (const std::string& name : plan.unset) unsetenv(name.c_str());
  std::vector<std::string> line = {plan.program};
  line.insert(line.end(), plan.arguments.begin(), plan.arguments.end());
  execv(plan.program.c_str(), pointers_to(line).data());
  report.send(errno);
  std::_Exit(kNotStarted);
}

// Both signals of the terminal are for the child; those that end a program are passed on.
constexpr std::array kForTheChild = {SIGINT, SIGQUIT};
constexpr std::array kPassedOn = {SIGTERM, SIGHUP};

std::atomic<pid_t> child_in_front{-1};

void pass_on(int number) {
  if (const pid_t child = child_in_front; child > 0) kill(child, number);
}

// Holds back the signals that are passed on until there is somebody to pass them to.
class HeldSignals {
 public:
  HeldSignals() {
    sigset_t held;
    sigemptyset(&held);
    for (const int number : kPassedOn) sigaddset(&held, number);
    pthread_sigmask(SIG_BLOCK, &held, &old_);
  }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  ~HeldSignals() { release(); }

  void release() const { pthread_sigmask(SIG_SETMASK, &old_, nullptr); }

 private:
  sigset_t old_;
};

using OldHandlers = std::vector<std::pair<int, struct sigaction>>;

void replace(int number, void (*handler)(int), OldHandlers& old) {
  struct sigaction action = {};
  action.sa_handler = handler;
  struct sigaction before = {};
  sigaction(number, &action, &before);
  old.emplace_back(number, before);
}

void restore(const OldHandlers& old) {
  for (const auto& [number, action] : old) sigaction(number, &action, nullptr);
}

std::atomic<bool> signal_noted{false};

void note_signal(int) { signal_noted = true; }

int exit_code(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool is_program(const std::string& path) {
  return access(path.c_str(), X_OK) == 0 && access((path + "/.").c_str(), F_OK) != 0;
}

}  // namespace

std::string find_program(const std::string& name, const std::string& path) {
  if (name.find('/') != std::string::npos) return is_program(name) ? name : "";
  for (const std::string& folder : split(path, ":")) {
    if (std::string candidate = folder + "/" + name; is_program(candidate)) return candidate;
  }
  return "";
}

Result<int> run_in_front(const ChildPlan& plan) {
  OldHandlers old;
  for (const int number : kForTheChild) replace(number, SIG_IGN, old);
  for (const int number : kPassedOn) replace(number, &pass_on, old);
  StartReport report;
  pid_t child = -1;
  {
    const HeldSignals held;
    child = fork();
    if (child == 0) {
      restore(old);
      held.release();
      become(plan, report);
    }
    child_in_front = child;
  }
  const int error = child < 0 ? errno : report.receive();
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  child_in_front = -1;
  restore(old);
  if (error != 0) return failed("cannot start " + plan.program, error);
  return exit_code(status);
}

NotedSignals::NotedSignals() {
  signal_noted = false;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) replace(number, &note_signal, old_);
}

NotedSignals::~NotedSignals() { restore(old_); }

bool NotedSignals::any() { return signal_noted; }

bool NotedSignals::take() { return signal_noted.exchange(false); }

Result<BackgroundChild> BackgroundChild::start(const ChildPlan& plan, const std::string& output) {
  const int log = open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log < 0) return failed("cannot write " + output);
  const pid_t parent = getpid();
  StartReport report;
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) std::_Exit(kNotStarted);
    setsid();
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(nothing, STDIN_FILENO);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    become(plan, report);
  }
  const int error = child < 0 ? errno : report.receive();
  close(log);
  if (error == 0) return BackgroundChild(child);
  if (child > 0) waitpid(child, nullptr, 0);
  return failed("cannot start " + plan.program, error);
}

BackgroundChild::~BackgroundChild() { stop(std::chrono::seconds(5)); }

bool BackgroundChild::running() {
  if (pid_ < 0) return false;
  int status = 0;
  const pid_t ended = waitpid(pid_, &status, WNOHANG);
  if (ended == pid_ || (ended < 0 && errno == ECHILD)) pid_ = -1;
  return pid_ >= 0;
}

void BackgroundChild::ask_to_end() {
  if (running()) kill(pid_, SIGTERM);
}

void BackgroundChild::stop(std::chrono::milliseconds patience) {
  constexpr std::array kAsking = {SIGTERM, SIGTERM, SIGTERM, SIGKILL};
  for (const int number : kAsking) {
    if (!running()) return;
    kill(pid_, number);
    const auto until = std::chrono::steady_clock::now() + patience;
    while (running() && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(kLookAgain);
  }
}

}  // namespace holdfast::cli
