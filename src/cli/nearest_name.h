// What a mistyped name was meant to be.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace holdfast::cli {

// The known name nearest to a mistyped one; empty when none is near.
[[nodiscard]] std::string nearest_name(std::string_view name, std::span<const std::string> known);
// The end of a message about a mistyped name: "; did you mean NEAREST?", or
// `otherwise` where none is near.
[[nodiscard]] std::string did_you_mean(const std::string& nearest, std::string_view otherwise);

}  // namespace holdfast::cli
