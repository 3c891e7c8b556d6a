// Bytes of a state together with the checksum that their maker gave them. Whoever
// uses the bytes compares.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "base/hash.h"
#include "state/state_bytes.h"

namespace holdfast {

struct CheckedBytes {
  StateBytes bytes;
  std::uint64_t checksum = 0;

  [[nodiscard]] static CheckedBytes of(StateBytes bytes) {
    const std::uint64_t checksum = hash_bytes(bytes);
    return {std::move(bytes), checksum};
  }
  [[nodiscard]] bool empty() const { return bytes.empty(); }
};

// The same where it is kept by somebody else.
struct CheckedView {
  CheckedView() = default;
  CheckedView(const CheckedBytes& kept)  // NOLINT(google-explicit-constructor): a view of it
      : bytes(kept.bytes), checksum(kept.checksum) {}

  [[nodiscard]] bool intact() const { return !bytes.empty() && hash_bytes(bytes) == checksum; }

  std::span<const std::byte> bytes;
  std::uint64_t checksum = 0;
};

}  // namespace holdfast
