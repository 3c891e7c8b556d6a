// The text in Anthropic's content blocks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/json_fields.h"

namespace holdfast::api {

// What a block that stands for text says: text, search_result, tool_reference, and a
// document whose source is text. A block that cannot be read as text is noted as a
// mistake.
[[nodiscard]] std::optional<std::string> read_text_block(const JsonFields& block);

// The field `name`, which holds a string or blocks of text. Empty texts are left out.
[[nodiscard]] std::vector<std::string> read_texts(const JsonFields& fields, std::string_view name);

}  // namespace holdfast::api
