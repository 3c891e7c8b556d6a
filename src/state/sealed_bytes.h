// Sealed bytes carry their checksum with them: the last eight bytes are the hash
// of the others. What is kept is sealed when it is saved and looked at when it
// comes back, so damage in between is noticed and is a miss.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace holdfast {

struct Unsealed {
  std::span<const std::byte> bytes;
  std::uint64_t checksum = 0;  // as it was sealed; whoever uses the bytes compares
};

// Appends the checksum.
[[nodiscard]] std::vector<std::byte> seal(std::vector<std::byte> bytes, std::uint64_t checksum);
// Nullopt when there is no room for a seal. Does not hash.
[[nodiscard]] std::optional<Unsealed> unseal(std::span<const std::byte> sealed);

inline constexpr std::size_t kSealBytes = 8;

}  // namespace holdfast
