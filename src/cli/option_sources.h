// Where options come from: the command line, the environment, the config file.
//
// Each source becomes a list of assignments, still as text. Which of them count
// is decided here (the precedence stated in options.h); whether their values
// are good is not.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/option_table.h"
#include "cli/options.h"

namespace holdfast::cli {

// The lowest first.
enum class OptionSource { kConfig, kLlamaEnvironment, kEnvironment, kCommandLine };

// One option given somewhere.
struct Assignment {
  const Option* option = nullptr;
  std::string value;
  std::string subject;  // how a message names it: "option --port", "a.conf:3: port"
  std::string name;
  OptionSource source = OptionSource::kCommandLine;
};
using Assignments = std::vector<Assignment>;

// What each source says, in its own order. An Error is a name that no option
// has, a value that is missing, or a file that cannot be read.
[[nodiscard]] Result<Assignments> from_arguments(std::span<const std::string> args);
[[nodiscard]] Assignments from_environment(const Environment& env);
[[nodiscard]] Result<Assignments> from_config(const std::string& path, const FileReader& files);

// All of it, the config file included where one is named: what no higher source
// overrides, in the order in which it is to be applied.
[[nodiscard]] Result<Assignments> gather_assignments(std::span<const std::string> args,
                                                     const Environment& env,
                                                     const FileReader& files);

// A variable that is nearly one of ours is a mistake that nobody would notice.
void note_misspelled(const Environment& env, std::vector<std::string>& notes);

}  // namespace holdfast::cli
