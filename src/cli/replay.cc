#include "cli/replay.h"

#include <algorithm>
#include <cstdio>

#include "cli/replay_policy.h"
#include "cli/replay_recording.h"

namespace holdfast {

namespace {

bool has(std::span<const std::string> args, std::initializer_list<const char*> names) {
  return std::ranges::any_of(args, [&](const std::string& argument) {
    return std::ranges::find(names, argument) != names.end();
  });
}

}  // namespace

int replay_main(std::span<const std::string> args, const Environment& env) {
  const bool policies = std::ranges::any_of(args, [](const std::string& argument) {
    return argument.starts_with("--policy") || argument.starts_with("--trace");
  });
  const bool helps = has(args, {"--help", "-h", "help"});
  if (helps) {
    std::fputs((policies ? replay_policy_help() : replay_recording_help()).c_str(), stdout);
    if (!policies)
      std::fputs("\nCache policies on traces: holdfast replay --policy --help\n", stdout);
    return 0;
  }
  return policies ? replay_policy_main(args, env) : replay_recording_main(args, env);
}

}  // namespace holdfast
