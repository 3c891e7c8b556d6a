// Reads the command line of a command by its syntax (command_syntax.h).
//
// CLI11 takes the line apart; command_line.cc is the one file that includes it. Ours are the
// names of several letters after one dash (llama-server's -ngl), and the messages.
//
//   --name VALUE, --name=VALUE   a value may begin with a dash, unless it names an option
//   --flag, --flag=off           also with the names that turn a flag off
//   everything else              words, and so is everything behind `--`
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command_syntax.h"

namespace holdfast::cli {

// An option that was given somewhere, with its value still as text.
struct GivenOption {
  const Option* option = nullptr;  // of the syntax
  std::string name;                // the one that was used
  std::string value;
  std::string subject;  // how a message names it: "option --port", "a.conf:3: port"
};
using GivenOptions = std::vector<GivenOption>;

struct CommandLine {
  std::string command = {};   // the sub-command; empty: none was named
  GivenOptions options = {};  // in their order
  std::vector<std::string> words = {};
};

// An Error is a name that no option has, or a value that is missing. Where the line asks
// for help (Support::kCommandLineOnly), it has those options alone.
[[nodiscard]] Result<CommandLine> read_command_line(const CommandSyntax& syntax,
                                                    std::span<const std::string> args);
// Stores the value. An Error names it and what would be good.
[[nodiscard]] Result<void> set_option(const GivenOption& given);
// Both: reads the line and sets its options.
[[nodiscard]] Result<CommandLine> parse_command_line(const CommandSyntax& syntax,
                                                     std::span<const std::string> args);

}  // namespace holdfast::cli
