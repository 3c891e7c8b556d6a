#include "cli/chat.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <utility>

#include "cli/chat_terminal.h"
#include "cli/chat_view.h"
#include "cli/nearest_name.h"
#include "env/escaped_text.h"

namespace holdfast::cli {
namespace {

constexpr int kExitFailed = 1;
constexpr int kExitInterrupted = 130;  // as a shell reports SIGINT

// Prompt and commands.
class ChatLoop {
 public:
  ChatLoop(ChatSession& session, ChatIo& io) : session_(session), io_(io) {}

  void run() {
    while (!leaving_) {
      io_.clear_interrupt();
      const auto text = read_message();
      if (!text) return;
      if (text->starts_with('/') && !text->starts_with("//")) {
        command(*text);
      } else if (text->find_first_not_of(" \t\n") != std::string::npos) {
        ask(text->starts_with("//") ? text->substr(1) : *text);
      }
    }
  }

 private:
  struct Command {
    std::string name;
    std::string argument;
    std::string help;
    std::function<void(const std::string&)> run;
  };

  // One message: a line, and the next ones while they end in a backslash.
  std::optional<std::string> read_message() {
    std::string text;
    auto line = io_.read_line("> ");
    while (line && line->ends_with('\\')) {
      line->pop_back();
      text += *line + "\n";
      line = io_.read_line(". ");
    }
    if (!line) return std::nullopt;
    return text + *line;
  }

  void ask(const std::string& text) {
    const int turns = session_.turns();
    if (const auto asked = session_.ask(text); !asked)
      io_.note(env::escaped_line(asked.error().message));
    if (io_.interrupted()) io_.note("(Stopped.)");
    if (session_.turns() > turns && session_.last().generated > 0) {
      io_.note(stats_line(session_.last()));
    }
  }

  void command(const std::string& line) {
    const auto space = std::min(line.find_first_of(" \t\n"), line.size());
    const std::string name = line.substr(0, space);
    const auto begin = std::min(line.find_first_not_of(" \t\n", space), line.size());
    for (const Command& command : commands_) {
      if (command.name == name) return command.run(line.substr(begin));
    }
    std::vector<std::string> known;
    for (const Command& command : commands_) known.push_back(command.name);
    const std::string nearest = nearest_name(name, known);
    io_.note(name + " is not a command" + did_you_mean(nearest, "") +
             " /help lists them; // at the start sends a text that begins with /.");
  }

  void help() {
    for (const Command& command : commands_) {
      std::string left = command.name + " " + command.argument;
      left.resize(std::max<std::size_t>(left.size(), 15), ' ');
      io_.note("  " + left + " " + command.help);
    }
    io_.note("  A line that ends in \\ goes on in the next one.");
    io_.note("  Ctrl-C stops an answer; at the prompt, it or Ctrl-D leaves.");
  }

  void system(const std::string& text) {
    if (!text.empty()) session_.set_system(text);
    io_.note(session_.system().empty() ? "There is no system message."
                                       : "System message: " + session_.system());
  }

  void retry() {
    const auto text = session_.undo();
    if (!text) return io_.note("There is nothing to try again.");
    ask(*text);
  }

  void undo() {
    const auto text = session_.undo();
    io_.note(text ? "Taken back: " + *text : "There is nothing to take back.");
  }

  void stats() { io_.note(total_line(session_.total(), session_.turns())); }

  void save(const std::string& path) {
    if (path.empty()) return io_.note("Say where: /save FILE");
    std::ofstream file(path);
    file << session_.messages_json() << "\n";
    file.close();
    io_.note(file ? "Saved to " + path + "." : "Cannot write " + path + ".");
  }

  ChatSession& session_;
  ChatIo& io_;
  bool leaving_ = false;
  const std::vector<Command> commands_ = {
      {"/help", "", "this list", [this](const std::string&) { help(); }},
      {"/new", "", "begin a new conversation",
       [this](const std::string&) {
         session_.clear();
         io_.note("A new conversation.");
       }},
      {"/system", "TEXT", "set the system message; without TEXT, show it",
       [this](const std::string& text) { system(text); }},
      {"/retry", "", "ask the last question again", [this](const std::string&) { retry(); }},
      {"/undo", "", "take the last question and its answer back",
       [this](const std::string&) { undo(); }},
      {"/stats", "", "what this conversation has cost", [this](const std::string&) { stats(); }},
      {"/save", "FILE", "save the conversation as JSON",
       [this](const std::string& path) { save(path); }},
      {"/quit", "", "leave", [this](const std::string&) { leaving_ = true; }},
  };
};

int answer_once(ChatSession& session, const std::string& question, ChatIo& io) {
  const auto asked = session.ask(question);
  if (io.interrupted()) return kExitInterrupted;
  if (!asked) io.note(env::escaped_line(asked.error().message));
  if (asked && io.terminal()) io.note(stats_line(session.last()));
  return asked ? 0 : kExitFailed;
}

std::string read_all_stdin() {
  return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
}

}  // namespace

int run_chat(const ChatOptions& options, ChatIo& io) {
  auto url = parse_url(options.url);
  if (!url) {
    io.note(env::escaped_line(url.error().message));
    return kExitUsage;
  }
  // OpenAI clients are given .../v1; our targets have it already.
  if (url->prefix.ends_with("/v1")) url->prefix.resize(url->prefix.size() - 3);
  HttpClient client(*url,
                    {.verify_peer = !options.insecure, .stop = [&io] { return io.interrupted(); }});
  ChatSession session(options, std::move(client), io);
  if (const auto ready = session.wait_until_ready(); !ready) {
    if (io.interrupted()) return kExitInterrupted;
    io.note(env::escaped_line(ready.error().message));
    return kExitFailed;
  }
  if (!options.question.empty()) return answer_once(session, options.question, io);
  io.note("Talking to " + url->text() + ". /help lists the commands; Ctrl-D leaves.");
  ChatLoop(session, io).run();
  return 0;
}

int chat_main(std::span<const std::string> args, const Environment& env) {
  auto options = parse_chat_options(args, env);
  if (!options) {
    std::cerr << "holdfast chat: " << env::escaped_line(options.error().message) << "\n";
    return kExitUsage;
  }
  if (options->show_help) {
    std::cout << chat_help();
    return 0;
  }
  const bool piped = isatty(STDIN_FILENO) == 0;
  if (options->read_stdin || (piped && options->question.empty())) {
    const std::string text = read_all_stdin();
    options->question += (options->question.empty() ? "" : "\n\n") + text;
    if (options->question.find_first_not_of(" \t\r\n") == std::string::npos) {
      std::cerr << "holdfast chat: standard input holds no question\n";
      return kExitUsage;
    }
  }
  return run_chat(*options, *open_terminal(env));
}

}  // namespace holdfast::cli
