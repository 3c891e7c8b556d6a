// Where the options of `holdfast serve` come from: the command line, the environment, the
// config file.
//
// Which of them count is decided here (the precedence stated in options.h); whether their
// values are good is not.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/command_line.h"
#include "cli/options.h"

namespace holdfast::cli {

// What no higher source overrides, in the order in which it is to be applied. An Error is a
// name that no option has, a value that is missing, or a file that cannot be read.
[[nodiscard]] Result<GivenOptions> gather_options(const CommandSyntax& syntax,
                                                  std::span<const std::string> args,
                                                  const Environment& env, const FileReader& files);

// The variable that sets an option: "--ctx-size" is HOLDFAST_CTX_SIZE.
// REQUIRES: the name begins with two dashes.
[[nodiscard]] std::string environment_name(std::string_view long_name);

// A variable that is nearly one of ours is a mistake that nobody would notice.
void note_misspelled(const Environment& env, const OptionNames& names,
                     std::vector<std::string>& notes);

}  // namespace holdfast::cli
