#include "cli/chat.h"

#include <fcntl.h>
#include <histedit.h>
#include <langinfo.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "cli/sse_parser.h"

namespace holdfast {
namespace {

using Json = nlohmann::json;

constexpr int kExitFailed = 1;
constexpr int kExitInterrupted = 130;  // as a shell reports SIGINT
constexpr std::chrono::milliseconds kLoadingCheckEvery{250};
constexpr std::string_view kDim = "\x1b[2m";
constexpr std::string_view kPlain = "\x1b[0m";

// ---------------------------------------------------------------------------
// Options.

struct ChatOption {
  std::string name;
  std::string value;  // empty: a flag
  std::string help;
  std::function<bool(ChatOptions&, const std::string&)> set;
};

template <typename T>
bool set_number(std::optional<T>& field, const std::string& text, T min) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value >= min)) return false;
  field = value;
  return true;
}

auto set_text(std::string ChatOptions::*field) {
  return [field](ChatOptions& o, const std::string& text) { return o.*field = text, true; };
}

auto set_flag(bool ChatOptions::*field, bool value) {
  return [field, value](ChatOptions& o, const std::string&) { return o.*field = value, true; };
}

const std::vector<ChatOption>& chat_options() {
  static const std::vector<ChatOption> options = {
      {"--url", "URL", "The server's address. (default: http://127.0.0.1:8080)",
       set_text(&ChatOptions::url)},
      {"--api-key", "KEY", "Key that the server asks for.", set_text(&ChatOptions::api_key)},
      {"--system", "TEXT", "System message: who the model should be.",
       set_text(&ChatOptions::system)},
      {"--model", "NAME", "Which of the server's models to use.", set_text(&ChatOptions::model)},
      {"--temp", "X", "Temperature. (default: the server's)",
       [](ChatOptions& o, const std::string& text) {
         return set_number(o.temperature, text, 0.0);
       }},
      {"--max-tokens", "N", "Most tokens of an answer. (default: the server's)",
       [](ChatOptions& o, const std::string& text) { return set_number(o.max_tokens, text, 1); }},
      {"--no-think", "", "Answer at once, without reasoning.",
       set_flag(&ChatOptions::think, false)},
      {"--insecure", "", "Accept any certificate of an https server.",
       set_flag(&ChatOptions::insecure, true)},
      {"--help", "", "This text.", set_flag(&ChatOptions::show_help, true)},
  };
  return options;
}

const ChatOption* find_chat_option(std::string_view name) {
  if (name == "-h") name = "--help";
  if (name == "--temperature") name = "--temp";
  for (const ChatOption& option : chat_options()) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

Error unknown_chat_option(const std::string& name) {
  std::vector<std::string> known;
  for (const ChatOption& option : chat_options()) known.push_back(option.name);
  const std::string nearest = nearest_name(name, known);
  return invalid_argument(name, "unknown option " + name +
                                    (nearest.empty() ? "; see holdfast chat --help"
                                                     : "; did you mean " + nearest + "?"));
}

void add_word(std::string& question, const std::string& word) {
  if (!question.empty()) question += ' ';
  question += word;
}

Result<void> take_option(std::span<const std::string> args, std::size_t& at, ChatOptions& options) {
  const std::string& argument = args[at++];
  const auto equals = std::min(argument.find('='), argument.size());
  const std::string name = argument.substr(0, equals);
  const ChatOption* option = find_chat_option(name);
  if (option == nullptr) return unknown_chat_option(name);
  std::string value;
  if (equals < argument.size()) {
    value = argument.substr(equals + 1);
  } else if (!option->value.empty()) {
    if (at == args.size()) {
      return invalid_argument(name,
                              "option " + name + " needs a value: " + name + " " + option->value);
    }
    value = args[at++];
  }
  if (option->set(options, value)) return {};
  return invalid_argument(name, "option " + name + " cannot be \"" + value + "\"");
}

void take_environment(const Environment& env, ChatOptions& options) {
  if (const auto url = env.find("HOLDFAST_URL"); url != env.end()) options.url = url->second;
  const auto key = env.find("HOLDFAST_API_KEY");
  // The server takes a list of keys there; a client sends one.
  if (key != env.end()) options.api_key = key->second.substr(0, key->second.find(','));
}

// ---------------------------------------------------------------------------
// Texts.

// Text of a model must not drive the terminal: ESC and its kin are left out.
std::string harmless(std::string_view text) {
  std::string safe;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool c1 = c == 0xC2 && i + 1 < text.size() &&
                    static_cast<unsigned char>(text[i + 1]) >= 0x80 &&
                    static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (c1) ++i;
    if (c1 || c == 0x7F || (c < ' ' && c != '\n' && c != '\t')) continue;
    safe += text[i];
  }
  return safe;
}

std::string with_commas(std::int64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3 && text[at - 4] != '-';) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

std::string fixed(double value, int digits) {
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.*f", digits, value);
  return buffer.data();
}

std::string text_at(const Json& json, const char* key) {
  if (!json.is_object()) return "";
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

double number_at(const Json& json, const char* key) {
  if (!json.is_object()) return 0.0;
  const auto found = json.find(key);
  return found != json.end() && found->is_number() ? found->get<double>() : 0.0;
}

const Json& child_of(const Json& json, const char* key) {
  static const Json none;
  if (!json.is_object()) return none;
  const auto found = json.find(key);
  return found != json.end() ? *found : none;
}

Json parse_json(std::string_view text) { return Json::parse(text, nullptr, false); }

std::string dump(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

TurnStats stats_of_timings(const Json& timings) {
  return {static_cast<std::int64_t>(number_at(timings, "cache_n")),
          static_cast<std::int64_t>(number_at(timings, "prompt_n")),
          number_at(timings, "prompt_ms"),
          static_cast<std::int64_t>(number_at(timings, "predicted_n")),
          number_at(timings, "predicted_per_second")};
}

// Servers without timings still count their tokens.
TurnStats stats_of_usage(const Json& usage) {
  const auto cached = static_cast<std::int64_t>(
      number_at(child_of(usage, "prompt_tokens_details"), "cached_tokens"));
  const auto prompt = static_cast<std::int64_t>(number_at(usage, "prompt_tokens"));
  return {cached, prompt - cached, 0.0,
          static_cast<std::int64_t>(number_at(usage, "completion_tokens")), 0.0};
}

// ---------------------------------------------------------------------------
// Showing an answer.

// Reasoning is dim and for people only; the answer is for everyone.
class AnswerView {
 public:
  explicit AnswerView(ChatIo& io) : io_(io) {}
  ~AnswerView() { end(); }
  AnswerView(const AnswerView&) = delete;
  AnswerView& operator=(const AnswerView&) = delete;

  void reasoning(std::string_view text) {
    if (!io_.terminal() || text.empty()) return;
    if (!std::exchange(reasoning_, true) && io_.colour()) io_.write(kDim);
    show(text);
  }

  void content(std::string_view text) {
    if (text.empty()) return;
    if (reasoning_) {
      end_reasoning();
      io_.write("\n");
    }
    show(text);
  }

  void end() {
    end_reasoning();
    if (last_ != '\n') io_.write("\n");
    last_ = '\n';
  }

 private:
  void end_reasoning() {
    if (!std::exchange(reasoning_, false)) return;
    if (io_.colour()) io_.write(kPlain);
    if (std::exchange(last_, '\n') != '\n') io_.write("\n");
  }

  void show(std::string_view text) {
    const std::string safe = io_.terminal() ? harmless(text) : std::string(text);
    io_.write(safe);
    if (!safe.empty()) last_ = safe.back();
  }

  ChatIo& io_;
  bool reasoning_ = false;
  char last_ = '\n';
};

// ---------------------------------------------------------------------------
// Answers that are refusals.

std::string error_text(const ClientResponse& response) {
  const Json body = parse_json(response.body);
  const Json& error = child_of(body, "error");
  if (error.is_string()) return error.get<std::string>();
  return text_at(error, "message");
}

Error refusal(const ClientResponse& response) {
  const std::string said = error_text(response);
  if (response.status == 401 || response.status == 403) {
    return {ErrorCode::kUnauthorized, "The server asks for a key: pass it with --api-key.", ""};
  }
  const ErrorCode code = response.status == 503 ? ErrorCode::kUnavailable : ErrorCode::kEngine;
  if (!said.empty()) return {code, "The server says: " + said, ""};
  return {code, "The server answered " + std::to_string(response.status) + ".", ""};
}

Error unreachable(const Error& error, const Url& url) {
  if (error.code != ErrorCode::kUnavailable) return error;
  return {error.code, "No server at " + url.text() + ". Start one with `holdfast serve`.", ""};
}

Result<void> unless_cancelled(const Error& error) {
  if (error.code == ErrorCode::kCancelled) return {};
  return error;
}

// How far loading has come, where the server tells; negative where it does not.
double loading_progress(const ClientResponse& response) {
  const Json body = parse_json(response.body);
  for (const Json* place : {&body, &child_of(body, "error")}) {
    if (place->is_object() && place->contains("progress")) return number_at(*place, "progress");
  }
  return -1.0;
}

}  // namespace

// ---------------------------------------------------------------------------
// The session.

struct ChatSession::Answer {
  ChatMessage message{"assistant", "", ""};
  std::string finish_reason;
  TurnStats stats;
  bool timed = false;
  bool complete = false;        // [DONE] came
  std::string error;            // sent by the server in the middle of the stream
  std::optional<Error> broken;  // the connection's end, where it was not ours

  [[nodiscard]] bool empty() const { return message.content.empty() && message.reasoning.empty(); }

  void take(const SseEvent& event, AnswerView& view) {
    if (event.data == "[DONE]") {
      complete = true;
      return;
    }
    const Json chunk = parse_json(event.data);
    const Json& failure = child_of(chunk, "error");
    if (!failure.is_null())
      error = failure.is_string() ? failure.get<std::string>() : text_at(failure, "message");
    const Json& choices = child_of(chunk, "choices");
    if (choices.is_array() && !choices.empty()) take_choice(choices.front(), view);
    take_stats(chunk);
  }

 private:
  void take_choice(const Json& choice, AnswerView& view) {
    const Json& delta = child_of(choice, "delta");
    const std::string reasoning = text_at(delta, "reasoning_content");
    const std::string content = text_at(delta, "content");
    message.reasoning += reasoning;
    message.content += content;
    view.reasoning(reasoning);
    view.content(content);
    const std::string reason = text_at(choice, "finish_reason");
    if (!reason.empty()) finish_reason = reason;
  }

  void take_stats(const Json& chunk) {
    const Json& timings = child_of(chunk, "timings");
    const Json& usage = child_of(chunk, "usage");
    if (timings.is_object()) stats = stats_of_timings(timings);
    timed = timed || timings.is_object();
    if (!timed && usage.is_object()) stats = stats_of_usage(usage);
  }
};

ChatSession::ChatSession(ChatOptions options, HttpClient client, ChatIo& io)
    : options_(std::move(options)), client_(std::move(client)), io_(io) {}

std::string ChatSession::messages_json() const {
  Json messages = Json::array();
  if (!options_.system.empty()) {
    messages.push_back({{"role", "system"}, {"content", options_.system}});
  }
  for (const ChatMessage& message : history_) {
    Json entry = {{"role", message.role}, {"content", message.content}};
    if (!message.reasoning.empty()) entry["reasoning_content"] = message.reasoning;
    messages.push_back(std::move(entry));
  }
  return dump(messages, 2);
}

std::string ChatSession::request_json() const {
  Json body = {{"messages", parse_json(messages_json())},
               {"stream", true},
               {"stream_options", {{"include_usage", true}}}};
  if (!options_.model.empty()) body["model"] = options_.model;
  if (options_.temperature) body["temperature"] = *options_.temperature;
  if (options_.max_tokens) body["max_tokens"] = *options_.max_tokens;
  if (!options_.think) body["chat_template_kwargs"] = {{"enable_thinking", false}};
  return dump(body);
}

ClientRequest ChatSession::request_to(std::string target) const {
  ClientRequest request{.target = std::move(target)};
  if (!options_.api_key.empty()) {
    request.headers.emplace_back("Authorization", "Bearer " + options_.api_key);
  }
  return request;
}

Result<void> ChatSession::wait_until_ready() {
  std::optional<ProgressLine> progress;
  while (true) {
    const auto health = client_.fetch(request_to("/health"));
    if (!health) return unreachable(health.error(), client_.url());
    if (health->status != 503) return {};
    if (!progress) progress.emplace(io_.log(), "The server is loading its model");
    progress->update(loading_progress(*health));
    std::this_thread::sleep_for(kLoadingCheckEvery);
    if (io_.interrupted()) return Error{ErrorCode::kCancelled, "stopped", ""};
  }
}

Result<ChatSession::Answer> ChatSession::receive() {
  ClientRequest request = request_to("/v1/chat/completions");
  request.method = "POST";
  request.headers.emplace_back("Content-Type", "application/json");
  request.headers.emplace_back("Accept", "text/event-stream");
  request.body = request_json();
  Answer answer;
  AnswerView view(io_);
  SseParser parser;
  const auto response = client_.fetch(request, [&](std::string_view piece) {
    for (const SseEvent& event : parser.feed(piece)) answer.take(event, view);
  });
  if (response && response->status / 100 != 2) return refusal(*response);
  if (!response && answer.empty()) return unreachable(response.error(), client_.url());
  if (!response && !answer.complete) answer.broken = response.error();
  return answer;
}

// A server that is loading is worth waiting for; then the question is put again.
Result<ChatSession::Answer> ChatSession::receive_when_ready() {
  auto answer = receive();
  if (answer || answer.error().code != ErrorCode::kUnavailable) return answer;
  if (const auto ready = wait_until_ready(); !ready) return ready.error();
  return receive();
}

Result<void> ChatSession::ask(const std::string& text) {
  history_.push_back({"user", text});
  const auto answer = receive_when_ready();
  if (!answer || answer->empty()) history_.pop_back();  // C1
  if (!answer) return unless_cancelled(answer.error());
  if (!answer->empty()) history_.push_back(answer->message);  // C2
  account(answer->stats);
  if (answer->broken) return unless_cancelled(*answer->broken);
  if (!answer->error.empty()) {
    return Error{ErrorCode::kEngine, "The server says: " + answer->error, ""};
  }
  if (answer->finish_reason == "length") io_.note("(The answer reached its limit of tokens.)");
  return {};
}

void ChatSession::account(const TurnStats& stats) {
  last_ = stats;
  ++turns_;
  total_.cached += stats.cached;
  total_.read += stats.read;
  total_.read_ms += stats.read_ms;
  total_.generated += stats.generated;
}

std::optional<std::string> ChatSession::undo() {
  if (history_.size() < 2) return std::nullopt;
  history_.pop_back();
  std::string text = std::move(history_.back().content);
  history_.pop_back();
  return text;
}

std::string stats_line(const TurnStats& stats) {
  std::string line;
  if (stats.cached > 0) line += with_commas(stats.cached) + " cached + ";
  line += with_commas(stats.read) + (stats.cached > 0 ? " new tokens read" : " tokens read");
  if (stats.read_ms > 0) line += " in " + fixed(stats.read_ms / 1000, 2) + " s";
  line += " · " + with_commas(stats.generated) + " tokens";
  if (stats.per_second > 0) line += " at " + fixed(stats.per_second, 1) + " tok/s";
  return line;
}

// ---------------------------------------------------------------------------
// Prompt and commands.

namespace {

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
    if (const auto asked = session_.ask(text); !asked) io_.note(asked.error().message);
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
    io_.note(name + " is not a command" +
             (nearest.empty() ? "" : "; did you mean " + nearest + "?") +
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

  void stats() {
    const TurnStats& total = session_.total();
    const std::int64_t prompt = total.cached + total.read;
    io_.note(std::to_string(session_.turns()) + (session_.turns() == 1 ? " turn · " : " turns · ") +
             with_commas(prompt) + " prompt tokens, " + with_commas(total.cached) +
             " of them cached" +
             (prompt > 0 ? " (" + fixed(100.0 * total.cached / prompt, 1) + "%)" : "") + " · " +
             with_commas(total.generated) + " tokens generated");
  }

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
  if (!asked) io.note(asked.error().message);
  if (asked && io.terminal()) io.note(stats_line(session.last()));
  return asked ? 0 : kExitFailed;
}

// ---------------------------------------------------------------------------
// The real terminal.

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
      : log_(std::move(Logger::open({})).value()), history_path_(history_path(env)) {}

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
  Logger& log() override { return *log_; }

 private:
  static std::optional<std::string> read_plain() {
    std::string line;
    if (!std::getline(std::cin, line)) return std::nullopt;
    return line;
  }

  std::unique_ptr<Logger> log_;
  std::string history_path_;
  std::unique_ptr<LineEditor> editor_;
  const bool terminal_ = isatty(STDOUT_FILENO) != 0;
  const bool colour_ = colour_wanted();
};

std::string read_all_stdin() {
  return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
}

}  // namespace

Result<ChatOptions> parse_chat_options(std::span<const std::string> args, const Environment& env) {
  ChatOptions options;
  take_environment(env, options);
  bool words_only = false;
  for (std::size_t at = 0; at < args.size();) {
    const std::string& argument = args[at];
    if (!words_only && argument.starts_with('-') && argument.size() > 1) {
      if (argument == "--") {
        words_only = true;
        ++at;
      } else if (const auto taken = take_option(args, at, options); !taken) {
        return taken.error();
      }
      continue;
    }
    if (argument == "-" && !words_only)
      options.read_stdin = true;
    else
      add_word(options.question, argument);
    ++at;
  }
  return options;
}

std::string chat_help(int width) {
  std::string text = wrap_text(
      "holdfast chat - talk to a running server. With a question it prints the answer and leaves; "
      "so it does with a question on standard input.",
      width, 0);
  text +=
      "\nExamples:\n"
      "  holdfast chat                                  a conversation\n"
      "  holdfast chat \"Why is the sky blue?\"           one answer\n"
      "  holdfast chat \"Summarise this:\" - < notes.txt  one answer about a file\n"
      "  holdfast chat --url https://example.org --api-key KEY\n"
      "\nOptions:\n";
  for (const ChatOption& option : chat_options()) {
    std::string left = "  " + option.name + (option.value.empty() ? "" : " " + option.value);
    text += left + wrap_text(option.help, width, 22).substr(left.size());
  }
  return text + "\n" +
         wrap_text(
             "HOLDFAST_URL and HOLDFAST_API_KEY in the environment stand in for --url and "
             "--api-key. In a conversation, /help lists the commands.",
             width, 0);
}

int run_chat(const ChatOptions& options, ChatIo& io) {
  auto url = parse_url(options.url);
  if (!url) {
    io.note(url.error().message);
    return kExitUsage;
  }
  // OpenAI clients are given .../v1; our targets have it already.
  if (url->prefix.ends_with("/v1")) url->prefix.resize(url->prefix.size() - 3);
  HttpClient client(*url,
                    {.verify_peer = !options.insecure, .stop = [&io] { return io.interrupted(); }});
  ChatSession session(options, std::move(client), io);
  if (const auto ready = session.wait_until_ready(); !ready) {
    if (io.interrupted()) return kExitInterrupted;
    io.note(ready.error().message);
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
    std::cerr << "holdfast chat: " << options.error().message << "\n";
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
  use_utf8();
  watch_interrupts();
  TerminalIo io(env);
  return run_chat(*options, io);
}

}  // namespace holdfast
