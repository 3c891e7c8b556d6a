// Secrets of 32 bytes, and what is made with them; by OpenSSL.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "tier/sha256.h"

namespace holdfast::tier {

using Secret = std::array<std::byte, 32>;

// Bytes that nobody can guess.
void fill_random(std::span<std::byte> bytes);
[[nodiscard]] Secret random_secret();

[[nodiscard]] Sha256Digest hmac_sha256(const Secret& key, std::span<const std::byte> bytes);

// In a time that does not depend on where they differ.
// REQUIRES: equal lengths.
[[nodiscard]] bool equal_secrets(std::span<const std::byte> a, std::span<const std::byte> b);

}  // namespace holdfast::tier
