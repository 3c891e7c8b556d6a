// `holdfast replay FILE`: what a recorded server decided, again and explained. Who asks for cache
// policies on traces is told of holdfast-policy.
#pragma once

#include <span>
#include <string>

#include "cli/options.h"

namespace holdfast {

// `args` are those after `holdfast replay`. Returns the exit code.
[[nodiscard]] int replay_main(std::span<const std::string> args, const Environment& env);

}  // namespace holdfast
