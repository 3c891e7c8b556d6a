#include "cli/replay.h"

#include <algorithm>
#include <cstdio>

#include "cli/replay_recording.h"

namespace holdfast {

namespace {

constexpr const char* kPoliciesMoved =
    "holdfast: cache policies are compared by holdfast-policy, with the same options. It is built "
    "with the tests: `ninja -C build holdfast-policy` leaves build/holdfast-policy.\n";

bool asks_for_policies(const std::string& argument) {
  return argument.starts_with("--policy") || argument.starts_with("--trace");
}

}  // namespace

int replay_main(std::span<const std::string> args, const Environment& env) {
  if (std::ranges::any_of(args, asks_for_policies)) {
    std::fputs(kPoliciesMoved, stderr);
    return kExitUsage;
  }
  return replay_recording_main(args, env);
}

}  // namespace holdfast
