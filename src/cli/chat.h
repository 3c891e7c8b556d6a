// `holdfast chat`: a conversation with a running server, in the terminal.
//
//   ChatIo        the terminal, as far as chat needs one; tests put another in its place
//   ChatSession   the conversation: what was said, and how the next turn is asked
//   run_chat      prompt, commands and answers until the user leaves
//
// The whole history goes with each turn, reasoning included, so that the server
// sees the tokens it has produced and can go on from their state.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/command_syntax.h"
#include "cli/http_client.h"
#include "cli/options.h"
#include "env/log.h"

namespace holdfast::cli {

struct ChatOptions {
  std::string url = "http://127.0.0.1:8080";
  std::string api_key = {};
  std::string system = {};
  std::string model = {};  // empty: the server's
  std::optional<double> temperature = {};
  std::optional<int> max_tokens = {};
  bool think = true;
  bool insecure = false;      // HTTPS with any certificate
  std::string question = {};  // one-shot; empty: a conversation, or standard input
  bool read_stdin = false;    // "-" among the words: standard input goes there too
  bool show_help = false;
};

// HOLDFAST_URL and HOLDFAST_API_KEY stand in for --url and --api-key, of all clients.
void take_client_environment(const Environment& env, std::string& url, std::string& api_key);
[[nodiscard]] Result<ChatOptions> parse_chat_options(std::span<const std::string> args,
                                                     const Environment& env);
[[nodiscard]] CommandSyntax chat_syntax(ChatOptions& o);
[[nodiscard]] std::string chat_help(int width = 80);

class ChatIo {
 public:
  virtual ~ChatIo() = default;
  // One line without its end; nullopt when the user leaves (Ctrl-C, Ctrl-D).
  virtual std::optional<std::string> read_line(const std::string& prompt) = 0;
  virtual void write(std::string_view text) = 0;    // answers: standard output
  virtual void note(std::string_view line) = 0;     // about them: standard error
  [[nodiscard]] virtual bool terminal() const = 0;  // a person reads what is written
  [[nodiscard]] virtual bool colour() const = 0;
  // Ctrl-C since the last clear_interrupt().
  [[nodiscard]] virtual bool interrupted() const = 0;
  virtual void clear_interrupt() = 0;
  virtual env::Logger& log() = 0;
};

struct ChatMessage {
  std::string role;
  std::string content;
  std::string reasoning = {};
};

// What one turn, or a whole conversation, cost.
struct TurnStats {
  std::int64_t cached = 0;  // prompt tokens that were not read again
  std::int64_t read = 0;    // prompt tokens that were
  double read_ms = 0.0;     // 0: the server does not say
  std::int64_t generated = 0;
  double per_second = 0.0;  // 0: the server does not say
  std::int64_t drafted = 0;
  std::int64_t accepted = 0;  // of the drafted ones
};

// "1,024 cached + 37 new tokens read in 0.12 s · 118 tokens at 61.3 tok/s, 70 of 90
// drafted accepted"
[[nodiscard]] std::string stats_line(const TurnStats& stats);

// One thread. Invariants, each with its tests (chat_test.cc):
//   CHAT-1  the history is user, assistant, user, assistant, ...: a turn that brought no
//           text at all leaves no trace (RefusalsAreShownAndLeaveNoTrace)
//   CHAT-2  text that has been shown is in the history, also when the answer was stopped or
//           broke off (AStoppedAnswerClosesTheConnectionAndKeepsItsText)
class ChatSession {
 public:
  ChatSession(ChatOptions options, HttpClient client, ChatIo& io);

  // Waits while the server loads its model. An Error when nobody is there.
  [[nodiscard]] Result<void> wait_until_ready();
  // Asks and shows the answer as it comes. Stopping it is no Error.
  [[nodiscard]] Result<void> ask(const std::string& text);
  // Takes the last turn back; what the user had said, or nullopt when there is none.
  std::optional<std::string> undo();
  void clear() { history_.clear(); }

  void set_system(std::string text) { options_.system = std::move(text); }
  [[nodiscard]] const std::string& system() const { return options_.system; }
  [[nodiscard]] const std::vector<ChatMessage>& history() const { return history_; }
  [[nodiscard]] const TurnStats& last() const { return last_; }
  [[nodiscard]] const TurnStats& total() const { return total_; }
  [[nodiscard]] int turns() const { return turns_; }

  // The conversation as JSON messages; `request_json` is what the server gets.
  [[nodiscard]] std::string messages_json() const;
  [[nodiscard]] std::string request_json() const;

 private:
  struct Answer;
  [[nodiscard]] Result<Answer> receive();
  [[nodiscard]] Result<Answer> receive_when_ready();
  void account(const TurnStats& stats);
  [[nodiscard]] ClientRequest request_to(std::string target) const;

  ChatOptions options_;
  HttpClient client_;
  ChatIo& io_;
  std::vector<ChatMessage> history_;
  TurnStats last_;
  TurnStats total_;
  int turns_ = 0;
};

// Runs the conversation, or answers options.question alone. Returns the exit code.
[[nodiscard]] int run_chat(const ChatOptions& options, ChatIo& io);

// `args` are those after `holdfast chat`. Returns the exit code.
[[nodiscard]] int chat_main(std::span<const std::string> args, const Environment& env);

}  // namespace holdfast::cli
