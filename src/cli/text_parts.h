// Short texts, taken apart and put together.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

// Without the blanks at both ends.
[[nodiscard]] std::string_view trim(std::string_view text);
// The parts between any of `separators`, trimmed; empty parts are left out.
[[nodiscard]] std::vector<std::string> split(std::string_view text, std::string_view separators);
// "12,034" and "-1,200".
[[nodiscard]] std::string with_commas(std::int64_t number);
[[nodiscard]] std::string fixed(double value, int digits);
[[nodiscard]] std::string join(const std::vector<std::string>& parts, std::string_view separator);

// As a shell wants it: in quotes where it holds more than plain letters.
[[nodiscard]] std::string shell_quoted(const std::string& argument);

}  // namespace holdfast::cli
