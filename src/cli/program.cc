#include "cli/program.h"

#include <string_view>
#include <vector>

#include "cli/nearest_name.h"
#include "cli/text_parts.h"

namespace holdfast::cli {
namespace {

constexpr std::string_view kBeginnings = R"(Start here:
  holdfast serve               serve the small model that comes along
  holdfast serve -m my.gguf    serve your own
  holdfast chat                in a second terminal

`holdfast serve --help` and `holdfast chat --help` explain every option.
)";

}  // namespace

CommandSyntax program_syntax() {
  return {
      .command = "holdfast",
      .intro =
          "holdfast - serve a large language model from a GGUF file. What has been "
          "computed is never computed again.",
      .commands = {{"serve [options]", "start the server"},
                   {"chat [question]", "talk to a running server in the terminal"},
                   {"launch AGENT", "start a coding agent on it: claude, codex, ..."},
                   {"explain [id]", "what a request reused, and why not more"},
                   {"doctor [-m MODEL]", "look at machine, engine, disk; check the engine"},
                   {"cache [command]", "what is kept on disk: list, verify, trim, move"},
                   {"replay FILE", "what a recorded server did, again and explained"},
                   {"verify-exact", "compare a server that reuses with a cold one"},
                   {"completion SHELL", "for bash, zsh or fish: names and values at the Tab key"},
                   {"manual [COMMAND]", "print a page for man"},
                   {"version", "print the version"}},
      .body = std::string(kBeginnings)};
}

namespace {

std::string with_serve(std::span<const std::string> args) {
  std::string line = args[0].starts_with('-') ? "holdfast serve" : "holdfast serve -m";
  for (const std::string& argument : args) line += " " + shell_quoted(argument);
  return line;
}

}  // namespace

std::string overview_help(int width) { return command_help(program_syntax(), width); }

std::string no_such_command(std::span<const std::string> args) {
  constexpr std::string_view kAsk = " Try 'holdfast --help'.";
  if (args[0].starts_with('-') || args[0].ends_with(".gguf"))
    return "the command comes first; did you mean `" + with_serve(args) + "`?" + kAsk.data();
  std::vector<std::string> known = {"help"};
  for (const SubCommand& command : program_syntax().commands)
    known.push_back(command.usage.substr(0, command.usage.find(' ')));
  const std::string near = nearest_name(args[0], known);
  return "there is no command '" + args[0] + "'" +
         (near.empty() ? "." : "; did you mean '" + near + "'?") + kAsk.data();
}

}  // namespace holdfast::cli
