// Random blobs, for tests. All content follows from the tokens and the position, so
// that bytes of another path or place are told apart at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "base/hash.h"
#include "tier/blob.h"

namespace holdfast::tier {

// Bytes that stand for the tokens before `at` and for nothing else.
inline StateBytes content_of(SpaceKey space, TokenSpan before, std::size_t size, unsigned salt) {
  std::uint64_t word = hash_bytes(std::as_bytes(before), space.high * 31 + space.low + salt);
  StateBytes bytes(size);
  for (std::byte& value : bytes) {
    word = word * 6364136223846793005ULL + 1442695040888963407ULL;
    value = static_cast<std::byte>(word >> 56);
  }
  return bytes;
}

// from, from + 1, ...
inline Tokens counting(std::size_t count, Token from = 0) {
  Tokens tokens(count);
  for (std::size_t i = 0; i < count; ++i) tokens[i] = from + static_cast<Token>(i);
  return tokens;
}

struct MakerOptions {
  std::size_t bytes_per_token = 3;
  bool companion = false;
  bool logits = false;
};

// Blobs of one path, which begins at 0.
class BlobMaker {
 public:
  BlobMaker(SpaceKey space, Tokens path) : space_(space), path_(std::move(path)), names_(space) {
    names_.append(path_);
  }

  [[nodiscard]] const Tokens& path() const { return path_; }

  // Rows in blocks that end at multiples of 64; with `wider`, the last block goes on
  // behind the range.
  [[nodiscard]] RowsBlob rows(TokenRange range, const MakerOptions& options = {},
                              bool wider = false) const {
    RowsBlob blob{BlobPath::of_rows(space_, names_, path_, range), {}, 0};
    for (TokenPos at = range.begin; at < range.end;) {
      const TokenPos boundary = anchor_at(at) + kBlockTokens;
      const TokenPos end = std::min(boundary, range.end);
      const TokenPos block_end = wider ? std::min(boundary, length_of(path_)) : end;
      blob.rows.push_back({block({at, block_end}, options), {at, end}});
      at = end;
    }
    blob.saves = static_cast<std::uint64_t>(range.length());
    return blob;
  }

  [[nodiscard]] PlaceBlob place(TokenPos position, const MakerOptions& options = {},
                                std::size_t state_bytes = 40) const {
    PlaceBlob blob;
    blob.path = BlobPath::of_place(space_, names_, path_, position);
    StateBytes state = content(position, state_bytes, 1);
    const std::uint64_t checksum = state.empty() ? 0 : hash_bytes(state);
    CheckedBytes companion;
    if (options.companion) companion = CheckedBytes::of(content(position, 9, 2));
    if (state_bytes > 0) {
      blob.snapshot = std::make_shared<const Snapshot>(position, std::move(state), checksum,
                                                       std::move(companion));
    }
    if (options.logits) blob.logits = CheckedBytes::of(content(position, 16, 3));
    blob.marks = Hints(Hint::kPromptEnd) | Hint::kJunction;
    blob.saves = static_cast<std::uint64_t>(position);
    return blob;
  }

 private:
  [[nodiscard]] StateBytes content(TokenPos end, std::size_t size, unsigned salt) const {
    return content_of(space_, TokenSpan(path_).first(static_cast<std::size_t>(end)), size, salt);
  }
  [[nodiscard]] ExtentBlockPtr block(TokenRange range, const MakerOptions& options) const {
    const auto tokens = static_cast<std::size_t>(range.length());
    StateBytes bytes = content(range.end, tokens * options.bytes_per_token, 4);
    const std::uint64_t checksum = hash_bytes(bytes);
    CheckedBytes companion;
    if (options.companion) companion = CheckedBytes::of(content(range.end, tokens, 5));
    return std::make_shared<const ExtentBlock>(range, std::move(bytes), checksum,
                                               std::move(companion));
  }

  SpaceKey space_;
  Tokens path_;
  PathNamer names_;
};

inline std::vector<std::byte> file_of(const EncodedBlob& blob) {
  std::vector<std::byte> bytes;
  for (const auto piece : blob.pieces()) bytes.insert(bytes.end(), piece.begin(), piece.end());
  return bytes;
}

// The bytes of a file that holds the blob, made at time 0: equal for equal blobs.
template <typename AnyBlob>
std::vector<std::byte> file_of(const AnyBlob& blob) {
  auto encoded = encode(blob, 0);
  return encoded ? file_of(*encoded) : std::vector<std::byte>{};
}
inline std::vector<std::byte> file_of(const Blob& blob) {
  return std::visit([](const auto& content) { return file_of(content); }, blob.content);
}

inline Tokens random_tokens(std::size_t count, std::mt19937& random) {
  Tokens tokens(count);
  for (Token& token : tokens) token = static_cast<Token>(random());
  return tokens;
}

}  // namespace holdfast::tier
