// Readings that several parts of an OpenAI request share. A mistake is noted in
// the fields, as JsonFields does it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "api/json_fields.h"
#include "api/openai_request.h"
#include "state/tokens.h"

namespace holdfast::api {

inline constexpr std::int64_t kIntMax = std::numeric_limits<std::int32_t>::max();

// A text that must be there, but may be empty.
[[nodiscard]] std::string required_text(const JsonFields& fields, std::string_view name);
// The field "name", which must not be empty.
[[nodiscard]] std::string required_name(const JsonFields& fields);
// Empty: none was given.
[[nodiscard]] std::string read_cache_salt(const JsonFields& body);
// nullopt when `id` is no token of the vocabulary.
[[nodiscard]] std::optional<Token> token_of(std::optional<std::int64_t> id,
                                            const ChatDefaults& defaults);

}  // namespace holdfast::api
