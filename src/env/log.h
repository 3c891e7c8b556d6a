// Log: one line for each thing worth knowing, for people or for programs.
//
//   text  12:03:04.123 info  model loaded ms=812 path=/models/a.gguf
//   json  {"time":"2026-01-05T12:03:04.123Z","level":"info","message":"model loaded","ms":812}
//
// Text shows local time and is coloured on a terminal only; JSON shows UTC.
// Invariants, verified by the tests of the same numbers (log_test.cc):
//   LOG-1  one call is one line, whatever the message holds: control characters are escaped, so
//          text from a client can neither forge a line nor drive a terminal
//   LOG-2  lines of different threads never mix
//   LOG-3  a progress bar never shares its terminal line with a log line
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "base/mutex.h"
#include "base/result.h"

namespace holdfast::env {

enum class LogLevel { kDebug, kInfo, kWarn, kError };
enum class LogFormat { kText, kJson };

[[nodiscard]] std::string_view name_of(LogLevel level);

// The value of a field: a truth, a number or a text.
class LogValue {
 public:
  using Content = std::variant<bool, std::int64_t, std::uint64_t, double, std::string>;

  LogValue(bool value) : content_(value) {}                                        // NOLINT
  LogValue(std::floating_point auto value) : content_(double{value}) {}            // NOLINT
  LogValue(std::signed_integral auto value) : content_(std::int64_t{value}) {}     // NOLINT
  LogValue(std::unsigned_integral auto value) : content_(std::uint64_t{value}) {}  // NOLINT
  LogValue(std::string value) : content_(std::move(value)) {}                      // NOLINT
  LogValue(std::string_view value) : content_(std::string(value)) {}               // NOLINT
  LogValue(const char* value) : content_(std::string(value)) {}                    // NOLINT

  [[nodiscard]] const Content& content() const { return content_; }

 private:
  Content content_;
};

struct LogField {
  std::string_view key;  // not "time", "level" or "message"
  LogValue value;
};
using LogFields = std::initializer_list<LogField>;

// Where lines go besides the log file.
struct LogSink {
  std::function<void(std::string_view)> write;
  bool terminal = false;  // a progress bar may be drawn in place
  bool colour = false;
  int columns = 80;
};

// Standard error. Colour needs a terminal, TERM other than dumb, and no NO_COLOR.
[[nodiscard]] LogSink stderr_sink();

struct LogOptions {
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kText;
  // Every line is appended here too; empty: no file. It is made for its owner alone, whatever the
  // umask: lines tell what clients do.
  std::string file = {};
  LogSink sink = stderr_sink();
  std::function<std::chrono::system_clock::time_point()> now = std::chrono::system_clock::now;
};

// Safe to use from any thread.
class Logger {
 public:
  // An Error when the log file cannot be opened.
  [[nodiscard]] static Result<std::unique_ptr<Logger>> open(LogOptions options);
  // Opens the log file again, which may have been renamed or removed meanwhile. On an Error lines
  // still go to the old one.
  [[nodiscard]] Result<void> reopen();

  [[nodiscard]] bool enabled(LogLevel level) const { return level >= options_.level; }
  void write(LogLevel level, std::string_view message, LogFields fields = {});

  // Text kept on the last line of the terminal, below all log lines, until it
  // is replaced; empty: none. Does nothing unless shows_status().
  void set_status(std::string status);
  [[nodiscard]] bool shows_status() const;

  [[nodiscard]] int columns() const { return options_.sink.columns; }
  [[nodiscard]] std::chrono::system_clock::time_point now() const { return options_.now(); }

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  using File = std::unique_ptr<std::FILE, CloseFile>;

  explicit Logger(LogOptions options) : options_(std::move(options)) {}
  [[nodiscard]] static Result<File> open_file(const std::string& path);
  void write_file(std::string_view line);

  const LogOptions options_;
  Mutex mutex_;  // guards file_, status_ and every write to the sink
  File file_;
  std::string status_;
};

// The program's log. Before configure() it is text on standard error, from info on.
class Log {
 public:
  // Not while another thread logs: call it once, before threads start.
  [[nodiscard]] static Result<void> configure(LogOptions options);
  [[nodiscard]] static Logger& logger();

  static void debug(std::string_view message, LogFields fields = {});
  static void info(std::string_view message, LogFields fields = {});
  static void warn(std::string_view message, LogFields fields = {});
  static void error(std::string_view message, LogFields fields = {});
};

// ProgressLine shows how far one long step has come.
//
// On a terminal: `loading model [#########...............] 38%`, drawn in place at
// most ten times a second and erased at the end. Elsewhere: one line when it
// begins and one when it ends. One thread at a time.
class ProgressLine {
 public:
  ProgressLine(Logger& logger, std::string what);
  ~ProgressLine() { finish(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // `fraction` from 0 to 1; negative when nobody knows, and then the bar gives
  // way to the seconds since the start.
  void update(double fraction);
  // Idempotent.
  void finish();
  // Ends without saying that it is done, because it is not.
  void abandon();

 private:
  [[nodiscard]] std::string draw(double fraction) const;

  Logger& logger_;
  const std::string what_;
  const std::chrono::system_clock::time_point started_;
  std::chrono::system_clock::time_point drawn_{};
  bool finished_ = false;
};

}  // namespace holdfast::env
