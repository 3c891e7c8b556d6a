// Where the running program lies. What was installed with it is found from there, so that a whole
// installation can be moved.
#pragma once

#include <string>

namespace holdfast::env {

// Links resolved; empty where the system does not say.
[[nodiscard]] std::string program_path();

}  // namespace holdfast::env
