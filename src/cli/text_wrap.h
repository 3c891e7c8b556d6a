// Paragraphs for a terminal.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::cli {

// A space at which wrap_text() does not break; it is written as an ordinary one.
inline constexpr char kFixedSpace = '\x01';

// `text` in lines of at most `width` columns, each after `indent` spaces.
[[nodiscard]] std::string wrap_text(std::string_view text, int width, int indent);

}  // namespace holdfast::cli
