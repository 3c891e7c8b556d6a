// `holdfast replay`: requests of the past, once more.
//
//   replay FILE            what a recorded server decided, again and explained
//   replay --policy ...    cache policies on request traces, without a model
#pragma once

#include <span>
#include <string>

#include "cli/options.h"

namespace holdfast {

// `args` are those after `holdfast replay`. Returns the exit code.
[[nodiscard]] int replay_main(std::span<const std::string> args, const Environment& env);

}  // namespace holdfast
