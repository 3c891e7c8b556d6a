// The program as a whole: the commands that it has.
#pragma once

#include <span>
#include <string>

#include "cli/command_syntax.h"

namespace holdfast::cli {

// The commands, each with half a sentence about it.
[[nodiscard]] CommandSyntax program_syntax();
// `holdfast --help`, wrapped to `width` columns.
[[nodiscard]] std::string overview_help(int width = 80);

// A sentence for a command line that begins with no command, and what was probably meant: the
// nearest command, or the whole line with `serve` in front where it begins with an option or a
// model. REQUIRES: args is not empty.
[[nodiscard]] std::string no_such_command(std::span<const std::string> args);

}  // namespace holdfast::cli
