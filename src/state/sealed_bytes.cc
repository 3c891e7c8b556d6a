#include "state/sealed_bytes.h"

#include <cstring>

namespace holdfast {

std::vector<std::byte> seal(std::vector<std::byte> bytes, std::uint64_t checksum) {
  const auto raw = std::as_bytes(std::span(&checksum, 1));
  bytes.insert(bytes.end(), raw.begin(), raw.end());
  return bytes;
}

std::optional<Unsealed> unseal(std::span<const std::byte> sealed) {
  if (sealed.size() < kSealBytes) return std::nullopt;
  Unsealed unsealed{sealed.first(sealed.size() - kSealBytes), 0};
  std::memcpy(&unsealed.checksum, sealed.data() + unsealed.bytes.size(), kSealBytes);
  return unsealed;
}

}  // namespace holdfast
