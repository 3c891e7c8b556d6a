// Hashing: XXH3 for bytes in bulk (checksums), fast enough to run at memcpy speed.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>

namespace holdfast {

[[nodiscard]] std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t seed = 0);

// Long enough that two different contents do not meet by chance.
struct WideHash {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  auto operator<=>(const WideHash&) const = default;
};
[[nodiscard]] WideHash wide_hash(std::span<const std::byte> bytes, std::uint64_t seed = 0);

}  // namespace holdfast
