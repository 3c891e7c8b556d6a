// `holdfast replay FILE`: what a recorded server's cache did, done again here without its model.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "cli/options.h"
#include "record/replayer.h"

namespace holdfast {

struct ReplayRecordingOptions {
  std::string file = {};
  std::string report = {};  // a page to be written; empty: none
  bool json = false;
  bool show_help = false;
};

[[nodiscard]] Result<ReplayRecordingOptions> parse_replay_recording_options(
    std::span<const std::string> args);
[[nodiscard]] std::string replay_recording_help(int width = 80);

// For people, and for programs.
[[nodiscard]] std::string replay_text(const ReplayOutcome& outcome, const std::string& name);
[[nodiscard]] std::string replay_json(const ReplayOutcome& outcome);

// `args` are those after `holdfast replay`. 0: the same decisions; 1: others, or the file cannot be
// read or is not whole.
[[nodiscard]] int replay_recording_main(std::span<const std::string> args, const Environment& env);

}  // namespace holdfast
