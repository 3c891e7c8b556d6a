// Which regular expressions of a JSON schema can become a grammar.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::engine {

// Why llama-common cannot convert this pattern; nullopt if it can. Without this check the library
// takes any string instead, in silence.
[[nodiscard]] std::optional<std::string> why_not_convertible(std::string_view pattern);

}  // namespace holdfast::engine
