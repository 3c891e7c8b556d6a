#include "api/openai_fields.h"

namespace holdfast::api {

std::string required_text(const JsonFields& fields, std::string_view name) {
  if (!fields.has(name)) fields.fail(name, "is required");
  return fields.text(name).value_or("");
}

std::string required_name(const JsonFields& fields) {
  const std::optional<std::string> name = fields.text("name");
  if (!name || name->empty()) fields.fail("name", "must be a non-empty string");
  return name.value_or("");
}

std::string read_cache_salt(const JsonFields& body) {
  constexpr std::size_t kSaltBytesMax = 256;
  const auto salt = body.text("cache_salt");
  if (!salt) return "";
  if (salt->empty() || salt->size() > kSaltBytesMax)
    body.fail("cache_salt", "must have 1 to " + std::to_string(kSaltBytesMax) + " bytes");
  return *salt;
}

std::optional<Token> token_of(std::optional<std::int64_t> id, const ChatDefaults& defaults) {
  const std::int64_t end = defaults.vocabulary > 0 ? defaults.vocabulary : kIntMax;
  if (!id || *id < 0 || *id >= end) return std::nullopt;
  return static_cast<Token>(*id);
}

}  // namespace holdfast::api
