// Blobs: what the cache folder holds, one file each (docs/formats/cache-folder.md).
//
//   rows    attention rows of some neighbouring tokens     RowsBlob
//   place   what is valid at one position                  PlaceBlob
//
//   RowsBlob --encode--> header | pieces of memory ... | digest --> a file
//            <--read_blob-- verified while it is read <------------'
//
// A blob is complete in itself. Beside its own tokens it carries those back to a
// multiple of 64, its *anchor*, and the name of everything before that. So a
// prompt finds all blobs along its tokens by the names of its anchors alone, and
// whoever reads a blob can verify that its names belong to its tokens.
//
// Any bytes at all may be given to read_facts() and read_blob(). Invariants,
// verified by the tests of the same numbers (blob_test.cc) and by fuzz/fuzz_blob.cc:
//   BLOB-1  what encode() writes is read back byte for byte, and damage to any byte of a file is
//           noticed (that of the payload's own digest only where asked for)
//   BLOB-2  no size from a file is used before it fits the file's length, and never more memory is
//           asked for than the file has bytes
//   BLOB-3  nothing throws; an Error says in one line what is wrong
//
// Codes of Errors: kInvalidArgument - the bytes are not a valid blob; kUnsupported -
// they are one of a kind that this version cannot read; kIo - the source failed;
// kUnavailable - not enough memory. Only the first two say something about the file.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "state/checked_bytes.h"
#include "state/extent_block.h"
#include "state/hints.h"
#include "state/snapshot.h"
#include "state/space.h"
#include "state/tokens.h"
#include "tier/path_name.h"

namespace holdfast::tier {

enum class BlobKind : std::uint32_t { kRows = 1, kPlace = 2 };

// Which state a blob holds, in 256 bits: its file's name. Two blobs of one key stand for
// the same state; one of them may hold more beside it (a companion's part, logits).
struct BlobKey {
  std::array<std::byte, 32> bytes{};
  auto operator<=>(const BlobKey&) const = default;

  [[nodiscard]] std::string hex() const;
  [[nodiscard]] static std::optional<BlobKey> from_hex(std::string_view text);
};

// Where a blob stands: what it is of.
struct BlobPath {
  SpaceKey space;
  TokenRange range;  // rows: the tokens [begin, end); a place: begin = end = its position
  PathName anchor;   // name of the tokens [0, first())
  Tokens tokens;     // [first(), range.end); of a place at least one

  [[nodiscard]] TokenPos first() const { return range.end - length_of(tokens); }

  // Of some tokens, or of one position, of a path whose names are known up to there.
  // REQUIRES: `names` began at 0 and has seen `path`; 0 <= begin < end, or 0 < position.
  [[nodiscard]] static BlobPath of_rows(SpaceKey space, const PathNamer& names, TokenSpan path,
                                        TokenRange range);
  [[nodiscard]] static BlobPath of_place(SpaceKey space, const PathNamer& names, TokenSpan path,
                                         TokenPos position);
};

struct RowsBlob {
  BlobPath path;
  std::vector<BlockUse> rows;  // their ranges cover path.range in order and without gaps
  std::uint64_t saves = 0;     // its share of the tokens that its path saves
};

struct PlaceBlob {
  BlobPath path;
  SnapshotPtr snapshot;  // none where the model has no such part
  CheckedBytes logits;   // of the last token before the position; may be empty
  Hints marks;
  std::uint64_t saves = 0;
};

// What a header says, and what an index keeps of it.
struct BlobFacts {
  BlobKey key;
  BlobKind kind = BlobKind::kRows;
  BlobPath path;
  PathName after;          // name of the tokens [0, path.range.end)
  ByteCount bytes = 0;     // of the whole file
  bool companion = false;  // holds something of a companion's
  bool logits = false;
  Hints marks;
  std::uint64_t saves = 0;
  std::int64_t created_ms = 0;

  // Whether the blob holds a part that the other, of the same key, lacks.
  [[nodiscard]] bool richer_than(const BlobFacts& other) const {
    return (companion && !other.companion) || (logits && !other.logits);
  }
};

// A blob on its way into a file. The payload stays where it is: valid while the blob is.
struct EncodedBlob {
  BlobFacts facts;
  std::vector<std::byte> header;
  std::vector<std::span<const std::byte>> payload;
  Sha256Digest digest{};

  // The whole file, in order. Valid while this is.
  [[nodiscard]] std::vector<std::span<const std::byte>> pieces() const;
};

// What a blob's file will be, without reading its content: which state, how large at most, and
// what is beside it. An Error as that of encode(), for what can be seen from here.
[[nodiscard]] Result<BlobFacts> outline(const RowsBlob& blob);
[[nodiscard]] Result<BlobFacts> outline(const PlaceBlob& blob);

// The Error (kInvalidArgument) says what is wrong with the blob; among other things every
// checksum is compared, so that what was damaged in memory does not get into a file.
// A companion's part that fails this is left out.
[[nodiscard]] Result<EncodedBlob> encode(const RowsBlob& blob, std::int64_t now_ms);
[[nodiscard]] Result<EncodedBlob> encode(const PlaceBlob& blob, std::int64_t now_ms);

// Where bytes come from: a file, or memory.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  [[nodiscard]] virtual ByteCount size() const = 0;
  // Fills `out`, or says why not. REQUIRES: offset + out.size() <= size().
  [[nodiscard]] virtual Result<void> read(ByteCount offset, std::span<std::byte> out) = 0;
};

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::span<const std::byte> bytes) : bytes_(bytes) {}
  [[nodiscard]] ByteCount size() const override { return bytes_.size(); }
  [[nodiscard]] Result<void> read(ByteCount offset, std::span<std::byte> out) override;

 private:
  std::span<const std::byte> bytes_;
};

struct Blob {
  BlobFacts facts;
  std::variant<RowsBlob, PlaceBlob> content;
};

// As it was when it was read: the same bytes, but for fields without a meaning.
[[nodiscard]] Result<EncodedBlob> encode(const Blob& blob);

// How the payload is verified. The parts' checksums cover every byte of it at memory
// speed; the digest, which takes longer than reading from a good disk, adds to them
// that the file is the one that was written even if someone wrote on it.
enum class Verify { kParts, kPartsAndDigest };

// The header alone, verified in itself and against the source's size.
[[nodiscard]] Result<BlobFacts> read_facts(ByteSource& source);
// Everything, straight into the memory where it stays.
[[nodiscard]] Result<Blob> read_blob(ByteSource& source, Verify verify = Verify::kParts);

}  // namespace holdfast::tier
