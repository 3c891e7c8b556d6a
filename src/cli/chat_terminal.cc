#include "cli/chat_terminal.h"

#include <fcntl.h>
#include <histedit.h>
#include <langinfo.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <utility>

#include "cli/chat_view.h"

namespace holdfast::cli {
namespace {

std::atomic<bool> interrupt_seen{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // so a signal handler may set it

// Without SA_RESTART, so that waiting for a key ends too.
void watch_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupt_seen = true; };
  sigaction(SIGINT, &action, nullptr);
}

// libedit needs to know that bytes are UTF-8, also where no locale is set.
void use_utf8() {
  std::setlocale(LC_CTYPE, "");
  if (std::string_view(nl_langinfo(CODESET)) != "UTF-8") std::setlocale(LC_CTYPE, "C.UTF-8");
}

// $XDG_STATE_HOME/holdfast/chat_history; empty when there is no place for it.
std::string history_path(const Environment& env) {
  const auto value = [&](const char* name) {
    const auto found = env.find(name);
    return found == env.end() ? std::filesystem::path() : std::filesystem::path(found->second);
  };
  std::filesystem::path folder = value("XDG_STATE_HOME");
  if (!folder.is_absolute()) folder = value("HOME") / ".local" / "state";
  if (!folder.is_absolute()) return "";
  return folder / "holdfast" / "chat_history";
}

// What was typed is private: the file is the user's alone before a line is in it.
bool make_private_file(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  const int fd = open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  const bool made = fchmod(fd, 0600) == 0;
  close(fd);
  return made;
}

// Line editing with a history that outlives the program.
class LineEditor {
 public:
  explicit LineEditor(std::string path)
      : path_(std::move(path)),
        history_(history_init()),
        editor_(el_init("holdfast", stdin, stdout, stderr)) {
    HistEvent event;
    history(history_, &event, H_SETSIZE, 1000);
    history(history_, &event, H_SETUNIQUE, 1);
    if (!path_.empty() && make_private_file(path_)) {
      history(history_, &event, H_LOAD, path_.c_str());
    }
    el_set(editor_, EL_CLIENTDATA, this);
    el_set(editor_, EL_PROMPT, &LineEditor::prompt_of);
    el_set(editor_, EL_EDITOR, "emacs");
    el_set(editor_, EL_HIST, history, history_);
    el_source(editor_, nullptr);
  }
  ~LineEditor() {
    HistEvent event;
    if (!path_.empty() && make_private_file(path_)) {
      history(history_, &event, H_SAVE, path_.c_str());
    }
    el_end(editor_);
    history_end(history_);
  }
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  std::optional<std::string> read(const std::string& prompt) {
    prompt_ = prompt;
    int size = 0;
    const char* line = el_gets(editor_, &size);
    if (line == nullptr || size <= 0 || interrupt_seen) {
      std::fputs("\n", stdout);
      return std::nullopt;
    }
    std::string text(line, static_cast<std::size_t>(size));
    while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
    HistEvent event;
    if (!text.empty()) history(history_, &event, H_ENTER, text.c_str());
    return text;
  }

 private:
  static char* prompt_of(EditLine* editor) {
    LineEditor* self = nullptr;
    el_get(editor, EL_CLIENTDATA, &self);
    return self->prompt_.data();
  }

  std::string path_;
  std::string prompt_;
  History* history_;
  EditLine* editor_;
};

bool colour_wanted() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return (no_colour == nullptr || *no_colour == '\0') && term != nullptr &&
         std::string_view(term) != "dumb";
}

class TerminalIo final : public ChatIo {
 public:
  explicit TerminalIo(const Environment& env)
      : log_(std::move(env::Logger::open({})).value()), history_path_(history_path(env)) {}

  std::optional<std::string> read_line(const std::string& prompt) override {
    if (!terminal()) return read_plain();
    if (!editor_) editor_ = std::make_unique<LineEditor>(history_path_);
    return editor_->read(prompt);
  }

  void write(std::string_view text) override {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }

  void note(std::string_view line) override {
    const bool dim = colour_ && isatty(STDERR_FILENO) != 0;
    const std::string text =
        std::string(dim ? kDim : "") + harmless(line) + std::string(dim ? kPlain : "") + "\n";
    std::fwrite(text.data(), 1, text.size(), stderr);
  }

  [[nodiscard]] bool terminal() const override { return terminal_; }
  [[nodiscard]] bool colour() const override { return colour_ && terminal_; }
  [[nodiscard]] bool interrupted() const override { return interrupt_seen; }
  void clear_interrupt() override { interrupt_seen = false; }
  env::Logger& log() override { return *log_; }

 private:
  static std::optional<std::string> read_plain() {
    std::string line;
    if (!std::getline(std::cin, line)) return std::nullopt;
    return line;
  }

  std::unique_ptr<env::Logger> log_;
  std::string history_path_;
  std::unique_ptr<LineEditor> editor_;
  const bool terminal_ = isatty(STDOUT_FILENO) != 0;
  const bool colour_ = colour_wanted();
};

}  // namespace

std::unique_ptr<ChatIo> open_terminal(const Environment& env) {
  use_utf8();
  watch_interrupts();
  return std::make_unique<TerminalIo>(env);
}

}  // namespace holdfast::cli
