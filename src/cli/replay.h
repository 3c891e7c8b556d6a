// `holdfast replay FILE`: what a recorded server's cache did, done again here without its model.
// Who asks for cache policies on traces is told of holdfast-policy.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "cli/command_syntax.h"
#include "cli/options.h"
#include "record/replayer.h"

namespace holdfast::cli {

struct ReplayOptions {
  std::string file = {};
  std::string report = {};  // a page to be written; empty: none
  bool json = false;
  bool show_help = false;
};

[[nodiscard]] Result<ReplayOptions> parse_replay_options(std::span<const std::string> args);
[[nodiscard]] CommandSyntax replay_syntax(ReplayOptions& o);
[[nodiscard]] std::string replay_help(int width = 80);

// For people, and for programs.
[[nodiscard]] std::string replay_text(const record::ReplayOutcome& outcome,
                                      const std::string& name);
[[nodiscard]] std::string replay_json(const record::ReplayOutcome& outcome);

// `args` are those after `holdfast replay`. 0: the same decisions; 1: others, or the file cannot be
// read or is not whole; 2: the command line is at fault.
[[nodiscard]] int replay_main(std::span<const std::string> args);

}  // namespace holdfast::cli
