// Short texts, taken apart and put together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

// Without the blanks at both ends.
[[nodiscard]] std::string_view trim(std::string_view text);
// The parts between any of `separators`, trimmed; empty parts are left out.
[[nodiscard]] std::vector<std::string> split(std::string_view text, std::string_view separators);
[[nodiscard]] std::string join(const std::vector<std::string>& parts, std::string_view separator);

}  // namespace holdfast
