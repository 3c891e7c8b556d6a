// How receipts look in a terminal. Pure functions of the server's JSON: what is
// missing there reads as zero or empty.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/options.h"

namespace holdfast::cli {

struct ExplainStyle {
  bool blocks = false;  // the terminal shows Unicode
  int width = 80;
};

// From LC_ALL, LC_CTYPE and LANG, as C libraries read them.
[[nodiscard]] ExplainStyle explain_style(const Environment& env);

// "12,034 of 12,310 prompt tokens reused (97.8%), 276 read in 0.11 s; saved about 4.6 s"
[[nodiscard]] std::string receipt_headline(const nlohmann::json& receipt);
// One receipt in full.
[[nodiscard]] std::string receipt_text(const nlohmann::json& receipt, const ExplainStyle& style);
// A line for each receipt of a list.
[[nodiscard]] std::string receipt_lines(const nlohmann::json& receipts);
// The requests of a session as a table, oldest first, and their sum:
//
//   time      prompt  reused    read  why not more
//   06:41:22  12,310   97.8%  0.11 s
//   06:43:02  12,420    0.0%   4.7 s  evicted, token 12,288
//   2 requests: 12,034 of 24,730 prompt tokens reused (48.7%), 12,696 read in 4.8 s; ...
//
// `receipts` are the server's: newest first.
[[nodiscard]] std::string session_table(const nlohmann::json& receipts);

}  // namespace holdfast::cli
