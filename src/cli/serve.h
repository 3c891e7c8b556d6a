// `holdfast serve`: wires model, scheduler and API together and runs them until
// a signal comes.
#pragma once

#include "cli/options.h"

namespace holdfast::cli {

// Returns the program's exit status.
[[nodiscard]] int run_server(const Parsed& parsed);

}  // namespace holdfast::cli
