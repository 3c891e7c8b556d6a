// Text of others on its way to a terminal or a line of a log.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::env {

// In one line: control characters of ASCII and U+0080..U+009F are escaped, tabs become blanks. So
// the text can neither forge a line nor drive a terminal.
[[nodiscard]] std::string escaped_line(std::string_view text);
// Line by line. All but the first are indented, so that none passes for a line of its own.
[[nodiscard]] std::string escaped_lines(std::string_view text);

}  // namespace holdfast::env
