// JSON that another program wrote: what is missing, or of another type than
// expected, reads as empty. Nothing here throws. Any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace holdfast::cli {

// Text that is not JSON gives a value that has no fields.
[[nodiscard]] nlohmann::json lenient_json(std::string_view text);
// Bytes that are not UTF-8 become U+FFFD. Negative: all in one line.
[[nodiscard]] std::string dump_json(const nlohmann::json& json, int indent = -1);

[[nodiscard]] std::string text_at(const nlohmann::json& json, const char* key);
[[nodiscard]] double number_at(const nlohmann::json& json, const char* key);
// null where there is no such field.
[[nodiscard]] const nlohmann::json& child_of(const nlohmann::json& json, const char* key);

}  // namespace holdfast::cli
