// Every command of the program, as data: what man pages and completions are printed from.
#pragma once

#include <functional>
#include <string>

#include "cli/command_syntax.h"

namespace holdfast::cli {

using CommandVisitor = std::function<void(const CommandSyntax&)>;

// `holdfast` itself first, then its commands that have options. A syntax lives for its visit.
void visit_commands(const CommandVisitor& visit);

// "serve" of "holdfast serve"; empty for `holdfast` itself.
[[nodiscard]] std::string name_of(const CommandSyntax& syntax);
// "ls" of "ls", "show" of "show KEY".
[[nodiscard]] std::string first_word(const std::string& usage);
// "talk to a running server" of "holdfast chat - talk to a running server. With a question ...".
[[nodiscard]] std::string about(const CommandSyntax& syntax);
// What follows it in the introduction.
[[nodiscard]] std::string more_about(const CommandSyntax& syntax);

}  // namespace holdfast::cli
