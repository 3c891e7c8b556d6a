// Man pages, written from the same tables as --help: `holdfast manual serve`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command_syntax.h"

namespace holdfast::cli {

// "holdfast", "holdfast-serve", ...: the pages that there are.
[[nodiscard]] std::vector<std::string> manual_pages();

// The page in roff, as `man -l` reads it.
[[nodiscard]] std::string manual_page(const CommandSyntax& syntax);

// What `holdfast manual` prints: the page of the command that is named, that of `holdfast` itself,
// or with --list the names of all. An Error is one sentence.
[[nodiscard]] Result<std::string> manual(std::span<const std::string> args);

}  // namespace holdfast::cli
