// The bytes of a blob's header. Used by the two files that write and read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "tier/blob.h"

namespace holdfast::tier::blob_layout {

inline constexpr std::string_view kMagic = "HFBLOB1\n";

// Offsets of the fixed part.
inline constexpr std::size_t kHeaderLength = 8;
inline constexpr std::size_t kKind = 12;
inline constexpr std::size_t kSpace = 16;
inline constexpr std::size_t kAnchor = 32;
inline constexpr std::size_t kAfter = 48;
inline constexpr std::size_t kFirst = 64;
inline constexpr std::size_t kBegin = 68;
inline constexpr std::size_t kEnd = 72;
inline constexpr std::size_t kBlocks = 76;
inline constexpr std::size_t kPrimaryBytes = 80;
inline constexpr std::size_t kCompanionBytes = 88;
inline constexpr std::size_t kLogitsBytes = 96;
inline constexpr std::size_t kPayloadBytes = 104;
inline constexpr std::size_t kSaves = 112;
inline constexpr std::size_t kCreated = 120;
inline constexpr std::size_t kFlags = 128;
inline constexpr std::size_t kMarks = 132;
inline constexpr std::size_t kStateBytes = 136;
inline constexpr std::size_t kStateChecksum = 144;
inline constexpr std::size_t kPlaceCompanionBytes = 152;
inline constexpr std::size_t kPlaceCompanionChecksum = 160;
inline constexpr std::size_t kLogitsChecksum = 168;
inline constexpr std::size_t kFixedBytes = 176;

// The key is the digest of these: which state it is, without how it is held.
inline constexpr std::size_t kKeyBegin = kKind;
inline constexpr std::size_t kKeyEnd = kBlocks;

inline constexpr std::size_t kDigestBytes = 32;
inline constexpr std::size_t kHeaderBytesMax = 1 << 20;
// More than any context; ends of ranges can be added without overflow.
inline constexpr TokenPos kPositionMax = 1 << 30;

inline constexpr std::uint32_t kCompressed = 1;
inline constexpr std::uint32_t kHasLogits = 2;

// One block of rows, in the table behind the tokens.
struct BlockEntry {
  std::int32_t begin = 0, end = 0;          // the block
  std::int32_t use_begin = 0, use_end = 0;  // the rows that belong to this blob's tokens
  std::uint64_t bytes = 0, companion_bytes = 0;
  std::uint64_t checksum = 0, companion_checksum = 0;
};
static_assert(sizeof(BlockEntry) == 48 && std::is_trivially_copyable_v<BlockEntry>);

[[nodiscard]] constexpr std::uint64_t tokens_bytes(std::uint64_t tokens) {
  return (4 * tokens + 7) / 8 * 8;
}
[[nodiscard]] constexpr std::uint64_t header_bytes(std::uint64_t tokens, std::uint64_t blocks) {
  return kFixedBytes + tokens_bytes(tokens) + sizeof(BlockEntry) * blocks + kDigestBytes;
}

template <typename Value>
[[nodiscard]] Value get(std::span<const std::byte> header, std::size_t offset) {
  static_assert(std::is_trivially_copyable_v<Value>);
  Value value;
  std::memcpy(&value, header.subspan(offset, sizeof(Value)).data(), sizeof(Value));
  return value;
}
template <typename Value>
void set(std::span<std::byte> header, std::size_t offset, const Value& value) {
  static_assert(std::is_trivially_copyable_v<Value>);
  std::memcpy(header.subspan(offset, sizeof(Value)).data(), &value, sizeof(Value));
}

[[nodiscard]] inline Error malformed(std::string what) {
  return Error{ErrorCode::kInvalidArgument, std::move(what), {}};
}

[[nodiscard]] std::uint32_t bits_of(Hints marks);
[[nodiscard]] Hints hints_of(std::uint32_t bits);

// A header that has been verified, and the parts of the payload that it announces.
struct Header {
  BlobFacts facts;
  std::uint64_t length = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t logits_bytes = 0, logits_checksum = 0;
  std::uint64_t state_bytes = 0, state_checksum = 0;
  std::uint64_t companion_bytes = 0, companion_checksum = 0;  // the place's own
  std::vector<BlockEntry> blocks;
};

// `bytes` is a whole header; its file has `file_bytes`.
[[nodiscard]] Result<Header> parse_header(std::span<const std::byte> bytes, ByteCount file_bytes);

}  // namespace holdfast::tier::blob_layout
