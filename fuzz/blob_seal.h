// Makes the digests of mutated bytes fit, so that a harness gets behind them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "tier/blob_layout.h"
#include "tier/sha256.h"

namespace holdfast {

// Magic, length of the payload and both digests, as far as the sizes allow.
inline void seal_blob(std::span<std::byte> file) {
  using namespace tier::blob_layout;
  if (file.size() < kFixedBytes + 2 * kDigestBytes) return;
  std::memcpy(file.data(), kMagic.data(), kMagic.size());
  const auto length = get<std::uint32_t>(file, kHeaderLength);
  if (length < kFixedBytes + kDigestBytes || length > file.size() - kDigestBytes) return;
  const std::size_t payload_end = file.size() - kDigestBytes;
  set(file, kPayloadBytes, std::uint64_t{payload_end - length});
  const std::size_t body = length - kDigestBytes;
  set(file, body, tier::Sha256().add(file.first(body)).digest());
  const auto payload = file.subspan(length, payload_end - length);
  set(file, payload_end, tier::Sha256().add(payload).digest());
}

// The beginning's digest of a file of blobs, and each blob's own, as far as the lengths allow.
inline void seal_archive(std::span<std::byte> file) {
  constexpr std::size_t kFront = 16;
  if (file.size() < kFront + 32) return;
  std::memcpy(file.data(), "HFARCH1\n", 8);
  const auto note = tier::blob_layout::get<std::uint64_t>(file, 8);
  if (note > file.size() - kFront - 32) return;
  const auto front = file.first(kFront + note);
  tier::blob_layout::set(file, front.size(), tier::Sha256().add(front).digest());
  for (std::size_t at = front.size() + 32; file.size() - at >= 8;) {
    const auto length = tier::blob_layout::get<std::uint64_t>(file, at);
    at += 8;
    if (length == 0 || length > file.size() - at) return;
    seal_blob(file.subspan(at, length));
    at += length;
  }
}

}  // namespace holdfast
