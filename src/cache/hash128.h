// Hash128: a hash of framed texts and numbers (XXH3), for names that are the same on any machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tree/types.h"

namespace holdfast::cache {

// Every text comes after its length, so that joined texts are not confused.
class Hash128 {
 public:
  Hash128() { XXH3_128bits_reset(&state_); }

  Hash128& bytes(std::span<const std::byte> bytes) {
    XXH3_128bits_update(&state_, bytes.data(), bytes.size());
    return *this;
  }
  // Lowest byte first, whatever the machine.
  Hash128& number(std::uint64_t value) {
    std::array<std::byte, 8> little;
    for (std::byte& byte : little) {
      byte = static_cast<std::byte>(value & 0xff);
      value >>= 8;
    }
    return bytes(little);
  }
  Hash128& text(std::string_view text) {
    return number(text.size()).bytes(std::as_bytes(std::span(text)));
  }
  [[nodiscard]] SpaceKey digest() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(&state_);
    return {hash.high64, hash.low64};
  }

 private:
  XXH3_state_t state_{};
};

}  // namespace holdfast::cache
