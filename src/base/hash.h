// Hashing: XXH3 for bytes in bulk (checksums), fast enough to run at memcpy speed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace holdfast {

[[nodiscard]] std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t seed = 0);

}  // namespace holdfast
