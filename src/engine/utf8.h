// UTF-8, strictly: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace holdfast::engine {

// The first bytes of a character whose last `missing` bytes are yet to come.
struct Utf8Part {
  std::uint32_t value = 0;
  int missing = 0;
};

struct Utf8Char {
  std::uint32_t code_point = 0;
  std::size_t bytes = 0;
};

// How many bytes follow this first one; -1: none begins a character like that.
[[nodiscard]] inline int utf8_following(unsigned char first) {
  if (first < 0x80) return 0;
  if (first >= 0xC2 && first <= 0xDF) return 1;
  if (first >= 0xE0 && first <= 0xEF) return 2;
  return first >= 0xF0 && first <= 0xF4 ? 3 : -1;
}

// Adds one byte. False if it does not continue the character.
[[nodiscard]] inline bool utf8_add(Utf8Part& part, unsigned char byte) {
  if ((byte & 0xC0U) != 0x80U || part.missing <= 0) return false;
  part.value = (part.value << 6U) | (byte & 0x3FU);
  --part.missing;
  return true;
}

[[nodiscard]] inline Utf8Part utf8_begin(unsigned char first, int following) {
  return {following == 0 ? first : first & ((1U << (6U - static_cast<unsigned>(following))) - 1U),
          following};
}

// A whole character of `bytes` bytes may still be overlong or a surrogate.
[[nodiscard]] inline bool utf8_is_valid(std::uint32_t code_point, std::size_t bytes) {
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  return code_point >= kLeast[bytes] && code_point <= 0x10FFFF &&
         (code_point < 0xD800 || code_point > 0xDFFF);
}

// The character that `text` begins with.
[[nodiscard]] inline std::optional<Utf8Char> decode_utf8(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const int following = utf8_following(static_cast<unsigned char>(text[0]));
  const auto bytes = static_cast<std::size_t>(following + 1);
  if (following < 0 || text.size() < bytes) return std::nullopt;
  Utf8Part part = utf8_begin(static_cast<unsigned char>(text[0]), following);
  for (std::size_t i = 1; i < bytes; ++i) {
    if (!utf8_add(part, static_cast<unsigned char>(text[i]))) return std::nullopt;
  }
  if (!utf8_is_valid(part.value, bytes)) return std::nullopt;
  return Utf8Char{part.value, bytes};
}

}  // namespace holdfast::engine
