// Blobs one behind the other in one file (docs/formats/cache-export.md).
//
//   magic | note | digest || length | blob || length | blob || ... || 0 | count
//
// Used by export and import, and for files that save one slot. Both classes hold at most a
// buffer; a reader's blobs are windows of its source, for read_blob().
//
// Any bytes at all may be given to a reader. Invariants, verified by the tests of the same
// numbers (blob_archive_test.cc) and by fuzz/fuzz_blob_archive.cc:
//   ARCHIVE-1  what a writer wrote is read back byte for byte, and a file that was cut off, or goes
//              on behind its end, is noticed
//   ARCHIVE-2  no length from a file is used before it fits what is left of the file
//   ARCHIVE-3  nothing throws; an Error says in one line what is wrong
//
// Codes of Errors: kInvalidArgument - these bytes are no such file, or are damaged;
// kUnsupported - one of another version; kIo - the file failed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "tier/blob.h"
#include "tier/file_system.h"

namespace holdfast::tier {

inline constexpr ByteCount kArchiveNoteBytesMax = 64 << 20;

class BlobArchiveWriter {
 public:
  // Writes the beginning. REQUIRES: `file` is new and outlives this; the note fits its limit.
  [[nodiscard]] static Result<BlobArchiveWriter> begin(OpenFile& file,
                                                       std::span<const std::byte> note = {});

  // A blob, as EncodedBlob::pieces() or as its file. Not verified here; at least one byte.
  [[nodiscard]] Result<void> add(Pieces blob);
  [[nodiscard]] Result<void> add(ByteSource& blob);
  // Without this the file counts as cut off. Durable when it is answered, its name aside.
  [[nodiscard]] Result<void> finish();

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] ByteCount bytes() const { return bytes_; }  // of the file so far

 private:
  explicit BlobArchiveWriter(OpenFile& file) : file_(&file) {}
  [[nodiscard]] Result<void> append(Pieces pieces);

  OpenFile* file_;
  std::uint64_t count_ = 0;
  ByteCount bytes_ = 0;
};

// Some of the bytes of another source. REQUIRES: they are there.
class SourceWindow final : public ByteSource {
 public:
  SourceWindow(ByteSource& whole, ByteCount offset, ByteCount size)
      : whole_(&whole), offset_(offset), size_(size) {}
  [[nodiscard]] ByteCount size() const override { return size_; }
  [[nodiscard]] Result<void> read(ByteCount offset, std::span<std::byte> out) override;

 private:
  ByteSource* whole_;
  ByteCount offset_, size_;
};

class BlobArchiveReader {
 public:
  // Reads the beginning, and looks at the end. REQUIRES: `source` outlives this.
  [[nodiscard]] static Result<BlobArchiveReader> open(ByteSource& source);

  [[nodiscard]] const std::vector<std::byte>& note() const { return note_; }
  // How many blobs the end record announces; nothing where the file has none.
  [[nodiscard]] std::optional<std::uint64_t> announced() const { return announced_; }

  // The next blob; nothing at the end, and then the count was right. After an Error there is
  // nothing more to read.
  [[nodiscard]] Result<std::optional<SourceWindow>> next();
  // How far it has come.
  [[nodiscard]] ByteCount offset() const { return offset_; }

 private:
  explicit BlobArchiveReader(ByteSource& source) : source_(&source) {}
  [[nodiscard]] Result<void> read_beginning();
  [[nodiscard]] Result<void> look_at_end();
  [[nodiscard]] Result<void> read_end();
  [[nodiscard]] Result<std::uint64_t> read_number();

  ByteSource* source_;
  ByteCount offset_ = 0;
  std::uint64_t count_ = 0;
  std::vector<std::byte> note_;
  std::optional<std::uint64_t> announced_;
};

}  // namespace holdfast::tier
