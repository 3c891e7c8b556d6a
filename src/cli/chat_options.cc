// The command line of `holdfast chat`, and its --help.
#include <algorithm>
#include <charconv>
#include <functional>
#include <utility>

#include "cli/chat.h"
#include "cli/small_options.h"
#include "cli/text_wrap.h"

namespace holdfast::cli {
namespace {

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

void add_word(std::string& question, const std::string& word) {
  if (!question.empty()) question += ' ';
  question += word;
}

void take_environment(const Environment& env, ChatOptions& options) {
  if (const auto url = env.find("HOLDFAST_URL"); url != env.end()) options.url = url->second;
  const auto key = env.find("HOLDFAST_API_KEY");
  // The server takes a list of keys there; a client sends one.
  if (key != env.end()) options.api_key = key->second.substr(0, key->second.find(','));
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
      } else if (const auto taken = take_small_option(args, at, options, chat_options(),
                                                      find_chat_option, "holdfast chat");
                 !taken) {
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

}  // namespace holdfast::cli
