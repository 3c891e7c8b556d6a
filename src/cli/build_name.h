// What this program calls itself, everywhere alike: --version, doctor, GET /props, the recording
// and crash reports.
#pragma once

#include <string>

namespace holdfast::cli {

// "0.2.0"
[[nodiscard]] std::string program_version();
// The commit that was built, such as "0d818f7a41c2"; with a `+` if files were changed since;
// "unknown" where nobody could tell.
[[nodiscard]] std::string build_id();
// "holdfast 0.2.0 (0d818f7a41c2)"
[[nodiscard]] std::string build_name();

}  // namespace holdfast::cli
