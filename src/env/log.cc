#include "env/log.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>

#include "env/escaped_text.h"

namespace holdfast::env {
namespace {

using TimePoint = std::chrono::system_clock::time_point;

constexpr std::string_view kEraseLine = "\r\x1b[K";
constexpr std::string_view kColourOff = "\x1b[0m";
// Fast enough to look alive, slow enough to cost nothing.
constexpr std::chrono::milliseconds kRedrawEvery{100};
constexpr int kBarCells = 24;

std::string_view colour_of(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return "\x1b[2m";
    case LogLevel::kInfo: return "\x1b[32m";
    case LogLevel::kWarn: return "\x1b[33m";
    case LogLevel::kError: return "\x1b[31m";
  }
  return "";
}

int millis_of(TimePoint time) {
  const auto since = std::chrono::floor<std::chrono::milliseconds>(time).time_since_epoch();
  return static_cast<int>(((since.count() % 1000) + 1000) % 1000);
}

std::string format_time(const char* format, const std::tm& parts) {
  std::array<char, 40> buffer{};
  const std::size_t size = std::strftime(buffer.data(), buffer.size(), format, &parts);
  return {buffer.data(), size};
}

std::string with_millis(std::string text, TimePoint time) {
  std::array<char, 8> buffer{};
  std::snprintf(buffer.data(), buffer.size(), ".%03d", millis_of(time));
  return std::move(text) + buffer.data();
}

// Seconds rounded down, so that they agree with millis_of() before 1970 too.
std::time_t seconds_of(TimePoint time) {
  return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
}

std::string local_time(TimePoint time) {
  const std::time_t seconds = seconds_of(time);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  return with_millis(format_time("%H:%M:%S", parts), time);
}

std::string utc_time(TimePoint time) {
  const std::time_t seconds = seconds_of(time);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return with_millis(format_time("%Y-%m-%dT%H:%M:%S", parts), time) + "Z";
}

// Bytes that are not UTF-8 become U+FFFD; control characters become escapes.
enum class Letters { kAll, kAscii };  // kAscii: others are escaped, U+0080..U+009F among them

std::string json_text(std::string_view text, Letters letters = Letters::kAll) {
  return nlohmann::json(text).dump(-1, ' ', letters == Letters::kAscii,
                                   nlohmann::json::error_handler_t::replace);
}

bool is_plain(char c) { return static_cast<unsigned char>(c) > ' ' && c != '"' && c != 0x7F; }

std::string shorter_number(double value) {
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.6g", value);
  return buffer.data();
}

std::string text_value(const LogValue& value) {
  return std::visit(
      [](const auto& content) -> std::string {
        using T = std::decay_t<decltype(content)>;
        if constexpr (std::is_same_v<T, bool>) return content ? "true" : "false";
        if constexpr (std::is_same_v<T, double>) return shorter_number(content);
        if constexpr (std::is_integral_v<T>) return std::to_string(content);
        if constexpr (std::is_same_v<T, std::string>) {
          const bool plain =
              !content.empty() && std::all_of(content.begin(), content.end(), is_plain);
          return plain ? content : json_text(content);
        }
      },
      value.content());
}

std::string json_value(const LogValue& value) {
  if (const auto* text = std::get_if<std::string>(&value.content()))
    return json_text(*text, Letters::kAscii);
  const auto* number = std::get_if<double>(&value.content());
  if (number != nullptr && !std::isfinite(*number)) return "null";
  return text_value(value);
}

std::string_view without_line_end(std::string_view message) {
  while (message.ends_with('\n') || message.ends_with('\r')) message.remove_suffix(1);
  return message;
}

std::string text_line(LogLevel level, TimePoint time, std::string_view message, LogFields fields,
                      bool colour) {
  std::string name(name_of(level));
  name.resize(5, ' ');
  if (colour) name = std::string(colour_of(level)) + name + std::string(kColourOff);
  std::string said(without_line_end(message));
  for (const LogField& field : fields) {
    said += " " + std::string(field.key) + "=" + text_value(field.value);
  }
  return local_time(time) + " " + name + " " + escaped_line(said) + "\n";
}

std::string json_line(LogLevel level, TimePoint time, std::string_view message, LogFields fields) {
  std::string line = R"({"time":")" + utc_time(time) + R"(","level":")" +
                     std::string(name_of(level)) + R"(","message":)" +
                     json_text(without_line_end(message), Letters::kAscii);
  for (const LogField& field : fields) {
    line += "," + json_text(field.key) + ":" + json_value(field.value);
  }
  return line + "}\n";
}

bool colour_wanted() {
  const char* term = std::getenv("TERM");
  const char* no_colour = std::getenv("NO_COLOR");
  return term != nullptr && std::string_view(term) != "dumb" &&
         (no_colour == nullptr || *no_colour == '\0');
}

int terminal_columns(int fd) {
  winsize size{};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void write_stderr(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

std::unique_ptr<Logger>& the_logger() {
  static std::unique_ptr<Logger> logger = std::move(Logger::open({})).value();
  return logger;
}

}  // namespace

std::string_view name_of(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return "debug";
    case LogLevel::kInfo: return "info";
    case LogLevel::kWarn: return "warn";
    case LogLevel::kError: return "error";
  }
  return "info";
}

LogSink stderr_sink() {
  const bool capable = isatty(STDERR_FILENO) != 0;
  return {.write = write_stderr,
          .terminal = capable && std::getenv("TERM") != nullptr &&
                      std::string_view(std::getenv("TERM")) != "dumb",
          .colour = capable && colour_wanted(),
          .columns = terminal_columns(STDERR_FILENO)};
}

Result<std::unique_ptr<Logger>> Logger::open(LogOptions options) {
  std::unique_ptr<Logger> logger(new Logger(std::move(options)));
  const std::string& path = logger->options_.file;
  if (path.empty()) return logger;
  auto file = open_file(path);
  if (!file) return file.error();
  logger->file_ = std::move(*file);
  return logger;
}

Result<Logger::File> Logger::open_file(const std::string& path) {
  constexpr int kFlags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC;
  const int fd = ::open(path.c_str(), kFlags, S_IRUSR | S_IWUSR);
  File file(fd < 0 ? nullptr : ::fdopen(fd, "a"));
  if (file) return file;
  const int why = errno;
  if (fd >= 0) ::close(fd);
  return Error{ErrorCode::kIo, "cannot open the log file " + path + ": " + std::strerror(why),
               "log-file"};
}

Result<void> Logger::reopen() {
  if (options_.file.empty()) return {};
  auto file = open_file(options_.file);
  if (!file) return file.error();
  const MutexLock lock(mutex_);
  file_ = std::move(*file);
  return {};
}

bool Logger::shows_status() const {
  return options_.sink.terminal && options_.format == LogFormat::kText;
}

void Logger::write(LogLevel level, std::string_view message, LogFields fields) {
  if (!enabled(level)) return;
  const TimePoint time = options_.now();
  const bool json = options_.format == LogFormat::kJson;
  const std::string plain = json ? json_line(level, time, message, fields)
                                 : text_line(level, time, message, fields, false);
  const bool colour = options_.sink.colour && !json;
  const std::string shown = colour ? text_line(level, time, message, fields, true) : plain;
  const MutexLock lock(mutex_);
  write_file(plain);
  if (status_.empty()) return options_.sink.write(shown);
  options_.sink.write(std::string(kEraseLine) + shown + status_);  // LOG-3
}

void Logger::write_file(std::string_view line) {
  if (!file_) return;
  std::fwrite(line.data(), 1, line.size(), file_.get());
  std::fflush(file_.get());
}

void Logger::set_status(std::string status) {
  if (!shows_status()) return;
  const MutexLock lock(mutex_);
  if (status_.empty() && status.empty()) return;
  status_ = std::move(status);
  options_.sink.write(std::string(kEraseLine) + status_);
}

Result<void> Log::configure(LogOptions options) {
  auto opened = Logger::open(std::move(options));
  if (!opened) return opened.error();
  the_logger() = std::move(opened).value();
  return {};
}

Logger& Log::logger() { return *the_logger(); }

void Log::debug(std::string_view message, LogFields fields) {
  logger().write(LogLevel::kDebug, message, fields);
}
void Log::info(std::string_view message, LogFields fields) {
  logger().write(LogLevel::kInfo, message, fields);
}
void Log::warn(std::string_view message, LogFields fields) {
  logger().write(LogLevel::kWarn, message, fields);
}
void Log::error(std::string_view message, LogFields fields) {
  logger().write(LogLevel::kError, message, fields);
}

ProgressLine::ProgressLine(Logger& logger, std::string what)
    : logger_(logger), what_(escaped_line(what)), started_(logger.now()) {
  if (!logger_.shows_status()) logger_.write(LogLevel::kInfo, what_);
}

void ProgressLine::update(double fraction) {
  if (finished_ || logger_.now() - drawn_ < kRedrawEvery) return;
  drawn_ = logger_.now();
  logger_.set_status(draw(fraction));
}

void ProgressLine::finish() {
  if (finished_) return;
  finished_ = true;
  if (logger_.shows_status()) return logger_.set_status("");
  const std::chrono::duration<double, std::milli> elapsed = logger_.now() - started_;
  logger_.write(LogLevel::kInfo, what_ + ": done", {{"ms", std::llround(elapsed.count())}});
}

void ProgressLine::abandon() {
  if (std::exchange(finished_, true)) return;
  if (logger_.shows_status()) logger_.set_status("");
}

std::string ProgressLine::draw(double fraction) const {
  std::string tail;
  if (fraction < 0) {
    const std::chrono::duration<double> elapsed = drawn_ - started_;
    tail = " " + std::to_string(static_cast<int>(elapsed.count())) + " s";
  } else {
    const double share = std::min(fraction, 1.0);
    const int full = static_cast<int>(share * kBarCells);
    tail = " [" + std::string(full, '#') + std::string(kBarCells - full, '.') + "] " +
           std::to_string(static_cast<int>(share * 100)) + "%";
  }
  // A line that wraps could not be erased.
  const std::size_t room = std::max(1, logger_.columns() - 1);
  const std::size_t name = room > tail.size() ? room - tail.size() : 0;
  return (what_.substr(0, name) + tail).substr(0, room);
}

}  // namespace holdfast::env
