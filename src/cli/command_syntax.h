// What a command line may say: the options, sub-commands and --help of one command, as data.
//
// Every command of the program describes itself with a CommandSyntax; command_line.h reads
// command lines by it, and command_help() shows it. The kind of an option refers to the
// field that it sets, so a syntax must not outlive the struct behind it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

// How a text becomes a value; option_kinds.h makes them.
struct OptionKind {
  std::string expects;  // completes "option --parallel needs ..."
  // Stores a good value, and returns whether it is one; if not, the field may be spoilt.
  std::function<bool(std::string_view text)> set;
  std::string shown = {};  // the default in --help; empty: --help says nothing about it
};

enum class Support {
  kFull,
  kCommandLineOnly,  // --help, --version: they win over any mistake elsewhere on the line
  kNoEffect,         // accepted, so that a llama-server command line works here
  kNone,             // refused with its reason, because ignoring it would mislead
};

struct Option {
  std::string names;  // "-m, --model": all of them; those after " / " turn a flag off
  std::string value;  // its name in --help; empty: a flag
  OptionKind kind;
  std::string help;            // what it does; for kNoEffect and kNone the reason
  std::string llama_env = {};  // llama-server's environment variable, or several
  std::string implied = {};    // the value when none is given; empty: one is needed
  Support support = Support::kFull;
  std::vector<std::string> only_of = {};  // the sub-commands that have it; empty: all
};
[[nodiscard]] inline bool is_flag(const Option& option) { return option.value.empty(); }

struct OptionGroup {
  std::string title;  // empty: --help does not show the group
  std::vector<Option> options;
};

struct SubCommand {
  std::string usage;  // "show KEY": its name, and what may follow
  std::string about;  // half a sentence
};

struct CommandSyntax {
  std::string command;                    // "holdfast chat"
  std::string intro = {};                 // one paragraph
  std::vector<SubCommand> commands = {};  // "Commands:" in --help
  std::string body = {};                  // more, with its own lines: examples
  std::vector<OptionGroup> groups = {};
  std::string closing = {};  // one paragraph
  int column = 22;           // where the help of options begins
  // A command whose options are understood too; they are explained there.
  std::string options_of = {};
  bool from_environment = false;  // options can be set as HOLDFAST_<NAME> too
};

// An option under one of its names.
struct NamedOption {
  const Option* option = nullptr;
  std::string name;
  bool off = false;  // this name turns a flag off

  // A flag's value by the name used: `no-mmap = true` means `mmap = false`.
  [[nodiscard]] std::string value(const std::string& text) const;
};

// The options of some groups by name. No two share one. The groups must outlive it.
class OptionNames {
 public:
  explicit OptionNames(const std::vector<OptionGroup>& groups);

  // By "--name" or "--name=value". Underscores are read as dashes, as llama-server reads them.
  [[nodiscard]] std::optional<NamedOption> find(std::string argument) const;
  [[nodiscard]] const std::vector<NamedOption>& all() const { return all_; }

 private:
  std::vector<NamedOption> all_;  // in the order of the groups
  std::map<std::string, std::size_t> by_name_;
};

// The whole --help, in lines of at most `width` columns.
[[nodiscard]] std::string command_help(const CommandSyntax& syntax, int width);
// One entry of it: `left`, and `text` in a column beside it, or below where `left` is long.
[[nodiscard]] std::string help_entry(const std::string& left, std::string_view text, int width,
                                     int column);

}  // namespace holdfast::cli
