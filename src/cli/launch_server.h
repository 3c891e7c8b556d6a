// The server that an agent is launched on: the one that answers, or one that is started.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/agent_settings.h"
#include "cli/child_process.h"
#include "cli/launch.h"

namespace holdfast::cli {

struct ServerAnswer {
  enum class State {
    kNobody,     // nothing listens there
    kLoading,    // it has no model yet; `progress` says how far it is
    kReady,      // `facts` hold
    kBrokenOff,  // the connection failed before an answer; `said` is a sentence about it
    kOther,      // something is there and cannot be used; `said` is a sentence about it
  };
  State state = State::kNobody;
  double progress = 0.0;
  ServerFacts facts = {};
  std::string said = {};
};

// A server's address as agents are given it: with its scheme, without "/v1" and without a slash at
// its end.
[[nodiscard]] Result<std::string> base_url(std::string text);

// Asks once.
[[nodiscard]] ServerAnswer ask_server(const std::string& url, const std::string& key);
// What an answer to GET /v1/models means. Pure.
[[nodiscard]] ServerAnswer read_models_answer(int status, const std::string& body,
                                              const std::string& url, const std::string& key);

// For those who start a server: a port of 127.0.0.1 that nobody uses just now, 0 if there is none;
// this program's own file; and the last lines that a server has logged.
[[nodiscard]] std::uint16_t free_port();
[[nodiscard]] Result<std::string> own_program();
[[nodiscard]] std::string last_lines(const std::string& file);

// A folder of this user alone, removed with all that is in it.
class TempFolder {
 public:
  [[nodiscard]] static Result<TempFolder> make(const Environment& env);
  TempFolder(TempFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  TempFolder& operator=(TempFolder&&) = delete;
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] Result<void> write(const AgentFile& file) const;

 private:
  explicit TempFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

// A ready server, and the process behind it where it was started here.
class LaunchServer {
 public:
  // Finds or starts it and waits until it is ready, showing how far it has come. What a
  // started one logs goes into a file in `folder`.
  [[nodiscard]] static Result<LaunchServer> open(const LaunchOptions& options,
                                                 const std::string& folder);

  [[nodiscard]] const ServerFacts& facts() const { return facts_; }
  // Ends a server that was started here, and waits while it writes what it has read. A signal
  // meanwhile (Ctrl-C) cuts that short. A sentence where the server had ended before.
  std::string stop();

 private:
  LaunchServer() = default;
  [[nodiscard]] Result<void> start(const LaunchOptions& options);
  [[nodiscard]] Result<void> wait_until_ready(const std::string& what);
  [[nodiscard]] Error ended_early() const;

  std::string url_;
  std::string key_;
  std::string log_;
  ServerFacts facts_;
  std::optional<BackgroundChild> child_;
};

}  // namespace holdfast::cli
