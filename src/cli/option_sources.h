// Where the options of `holdfast serve` come from: the command line, the environment, the
// config file.
//
// Which of them count is decided here (the precedence stated in options.h); whether their
// values are good is not.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command_line.h"
#include "cli/options.h"

namespace holdfast::cli {

// HOLDFAST_<NAME>, and llama-server's variables.
[[nodiscard]] GivenOptions from_environment(const Environment& env, const OptionNames& names);
[[nodiscard]] GivenOptions from_llama_environment(const Environment& env, const OptionNames& names);
// An Error names the line. (CLI11 reads such files too, but cannot say where a mistake is.)
[[nodiscard]] Result<GivenOptions> from_config(const std::string& path, const FileReader& files,
                                               const OptionNames& names);

// All of it, the config file included where one is named: what no higher source overrides,
// in the order in which it is to be applied.
[[nodiscard]] Result<GivenOptions> gather_options(const CommandSyntax& syntax,
                                                  std::span<const std::string> args,
                                                  const Environment& env, const FileReader& files);

// A variable that is nearly one of ours is a mistake that nobody would notice.
void note_misspelled(const Environment& env, const OptionNames& names,
                     std::vector<std::string>& notes);

}  // namespace holdfast::cli
