// Tokens and the places between them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace holdfast {

using Token = std::int32_t;
using Tokens = std::vector<Token>;
using TokenSpan = std::span<const Token>;

// A place between tokens: position p has p tokens before it. It is also the
// length of the prefix that ends there, so lengths are TokenPos too.
using TokenPos = std::int32_t;

using ByteCount = std::uint64_t;

[[nodiscard]] inline TokenPos length_of(TokenSpan tokens) {
  return static_cast<TokenPos>(tokens.size());
}

// Length of the longest common prefix.
[[nodiscard]] TokenPos common_prefix(TokenSpan a, TokenSpan b);

enum class Role { kUnknown, kSystem, kUser, kAssistant, kTool };
[[nodiscard]] const char* role_name(Role role);

// One message of a rendered conversation: tokens [begin, end).
struct MessageSpan {
  Role role = Role::kUnknown;
  TokenPos begin = 0;
  TokenPos end = 0;
};

}  // namespace holdfast
