// The command line of `holdfast chat`, and its --help.
#include <algorithm>
#include <limits>

#include "cli/chat.h"
#include "cli/command_line.h"
#include "cli/option_kinds.h"
#include "cli/text_parts.h"

namespace holdfast::cli {

using namespace option_kinds;

// clang-format off
CommandSyntax chat_syntax(ChatOptions& o) {
  return {
      .command = "holdfast chat",
      .intro = "holdfast chat - talk to a running server. With a question it prints the answer and "
               "leaves; so it does with a question on standard input.",
      .body =
          "Examples:\n"
          "  holdfast chat                                  a conversation\n"
          "  holdfast chat \"Why is the sky blue?\"           one answer\n"
          "  holdfast chat \"Summarise this:\" - < notes.txt  one answer about a file\n"
          "  holdfast chat --url https://example.org --api-key KEY\n",
      .groups = {{"Options", {
          {"--url", "URL", text(o.url), "The server's address."},
          {"--port", "N", local_port(o.url), "The same for a server on this machine: its port."},
          {"--api-key", "KEY", any_text(o.api_key), "Key that the server asks for."},
          {"--system", "TEXT", any_text(o.system), "System message: who the model should be."},
          {"--model", "NAME", any_text(o.model), "Which of the server's models to use."},
          {"--temp, --temperature", "X", real(o.temperature, 0),
           "Temperature. (default: the server's)"},
          {"--max-tokens", "N", whole(o.max_tokens, 1, std::numeric_limits<int>::max()),
           "Most tokens of an answer. (default: the server's)"},
          {"--no-think", "", turn_off(o.think), "Answer at once, without reasoning."},
          {"--insecure", "", flag(o.insecure), "Accept any certificate of an https server."},
          help_option(o.show_help),
      }}},
      .closing = "HOLDFAST_URL and HOLDFAST_API_KEY in the environment stand in for --url and "
                 "--api-key. In a conversation, /help lists the commands."};
}
// clang-format on

namespace {

// Takes `-` out of the words, unless it stands behind `--`. Returns whether there was one.
bool take_dashes(std::vector<std::string>& words, std::span<const std::string> args) {
  const auto mark = std::ranges::find(args, "--");
  const auto behind = mark == args.end() ? 0 : args.end() - mark - 1;
  const auto end = words.end() - std::min<std::ptrdiff_t>(behind, std::ssize(words));
  const auto dashes = std::remove(words.begin(), end, "-");
  const bool taken = dashes != end;
  words.erase(dashes, end);
  return taken;
}

}  // namespace

void take_client_environment(const Environment& env, std::string& url, std::string& api_key) {
  if (const auto found = env.find("HOLDFAST_URL"); found != env.end()) url = found->second;
  const auto key = env.find("HOLDFAST_API_KEY");
  // The server takes a list of keys there; a client sends one.
  if (key != env.end()) api_key = key->second.substr(0, key->second.find(','));
}

Result<ChatOptions> parse_chat_options(std::span<const std::string> args, const Environment& env) {
  ChatOptions options;
  take_client_environment(env, options.url, options.api_key);
  auto line = parse_command_line(chat_syntax(options), args);
  if (!line) return line.error();
  options.read_stdin = take_dashes(line->words, args);
  options.question = join(line->words, " ");
  return options;
}

std::string chat_help(int width) {
  ChatOptions options;
  return command_help(chat_syntax(options), width);
}

}  // namespace holdfast::cli
