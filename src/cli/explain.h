// `holdfast explain`: what a request reused, and why not more, for people.
//
// It asks a running server for receipts (api/cache_pages.h) and prints them.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "cli/command_syntax.h"
#include "cli/options.h"

namespace holdfast::cli {

struct ExplainOptions {
  std::string url = "http://127.0.0.1:8080";
  std::string api_key = {};
  std::string cache_salt = {};
  std::string id = {};       // of an answer; empty: the latest
  std::string session = {};  // a table of its requests
  int last = 0;              // 0: one receipt in full; else a line for each of this many
  bool json = false;
  bool insecure = false;  // HTTPS with any certificate
  bool show_help = false;
};

// HOLDFAST_URL and HOLDFAST_API_KEY stand in for --url and --api-key.
[[nodiscard]] Result<ExplainOptions> parse_explain_options(std::span<const std::string> args,
                                                           const Environment& env);
[[nodiscard]] CommandSyntax explain_syntax(ExplainOptions& o);
[[nodiscard]] std::string explain_help(int width = 80);

// What is to be printed. An Error is one sentence that says what to do.
[[nodiscard]] Result<std::string> explain(const ExplainOptions& options, const Environment& env);

// `args` are those after `holdfast explain`. Returns the exit code.
[[nodiscard]] int explain_main(std::span<const std::string> args, const Environment& env);

}  // namespace holdfast::cli
