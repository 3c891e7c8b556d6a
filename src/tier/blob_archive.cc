#include "tier/blob_archive.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <string_view>

#include "base/check.h"
#include "tier/sha256.h"

namespace holdfast::tier {

namespace {

constexpr std::string_view kMagic = "HFARCH1\n";
constexpr std::string_view kMagicOfAnyVersion = "HFARCH";
constexpr ByteCount kNumberBytes = 8;
constexpr ByteCount kDigestBytes = 32;
constexpr ByteCount kEndBytes = 2 * kNumberBytes;
// Large enough that the calls do not count, small beside any blob's own memory.
constexpr ByteCount kCopyBytes = 1 << 20;

using Number = std::array<std::byte, kNumberBytes>;

Number number_bytes(std::uint64_t value) {
  Number bytes;
  std::memcpy(bytes.data(), &value, bytes.size());
  return bytes;
}

std::uint64_t number_of(const Number& bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data(), bytes.size());
  return value;
}

Error malformed(std::string what) {
  return Error{ErrorCode::kInvalidArgument, std::move(what), {}};
}
Error ends_early() { return malformed("it is cut off"); }

}  // namespace

// --- writing -----------------------------------------------------------------------------

Result<BlobArchiveWriter> BlobArchiveWriter::begin(OpenFile& file,
                                                   std::span<const std::byte> note) {
  CHECK(note.size() <= kArchiveNoteBytesMax);
  BlobArchiveWriter writer(file);
  const Number length = number_bytes(note.size());
  const auto magic = std::as_bytes(std::span(kMagic));
  const Sha256Digest digest = Sha256().add(magic).add(length).add(note).digest();
  const std::array<std::span<const std::byte>, 4> pieces = {magic, length, note, digest};
  if (auto written = writer.append(pieces); !written) return written.error();
  return writer;
}

Result<void> BlobArchiveWriter::append(Pieces pieces) {
  if (const int error = append_all(*file_, pieces); error != 0)
    return io_error("the file cannot be written", error);
  for (const auto piece : pieces) bytes_ += piece.size();
  return {};
}

Result<void> BlobArchiveWriter::add(Pieces blob) {
  std::uint64_t size = 0;
  for (const auto piece : blob) size += piece.size();
  CHECK(size > 0);
  const Number length = number_bytes(size);
  std::vector<std::span<const std::byte>> pieces = {length};
  pieces.insert(pieces.end(), blob.begin(), blob.end());
  ++count_;
  return append(pieces);
}

Result<void> BlobArchiveWriter::add(ByteSource& blob) {
  CHECK(blob.size() > 0);
  const Number length = number_bytes(blob.size());
  const std::span<const std::byte> first = length;
  if (auto written = append(Pieces(&first, 1)); !written) return written;
  ++count_;
  std::vector<std::byte> buffer(std::min(blob.size(), kCopyBytes));
  for (ByteCount at = 0; at < blob.size(); at += buffer.size()) {
    const auto part = std::span(buffer).first(std::min<ByteCount>(buffer.size(), blob.size() - at));
    if (auto read = blob.read(at, part); !read) return read;
    const std::span<const std::byte> piece = part;
    if (auto written = append(Pieces(&piece, 1)); !written) return written;
  }
  return {};
}

Result<void> BlobArchiveWriter::finish() {
  const Number none = number_bytes(0);
  const Number count = number_bytes(count_);
  const std::array<std::span<const std::byte>, 2> end = {none, count};
  if (auto written = append(end); !written) return written;
  if (const int error = uninterrupted([&] { return file_->sync(); }); error != 0)
    return io_error("the file cannot be synced", error);
  return {};
}

// --- reading -----------------------------------------------------------------------------

Result<void> SourceWindow::read(ByteCount offset, std::span<std::byte> out) {
  CHECK(offset <= size_ && out.size() <= size_ - offset);
  return whole_->read(offset_ + offset, out);
}

Result<BlobArchiveReader> BlobArchiveReader::open(ByteSource& source) {
  BlobArchiveReader reader(source);
  if (auto begun = reader.read_beginning(); !begun) return begun.error();
  if (auto seen = reader.look_at_end(); !seen) return seen.error();
  return reader;
}

Result<std::uint64_t> BlobArchiveReader::read_number() {
  Number bytes{};
  if (source_->size() - offset_ < bytes.size()) return ends_early();
  if (auto read = source_->read(offset_, bytes); !read) return read.error();
  offset_ += bytes.size();
  return number_of(bytes);
}

Result<void> BlobArchiveReader::read_beginning() {
  std::array<std::byte, kMagic.size()> magic{};
  if (source_->size() < magic.size()) return malformed("it is no file of exported states");
  if (auto read = source_->read(0, magic); !read) return read.error();
  if (std::memcmp(magic.data(), kMagic.data(), magic.size()) != 0) {
    if (std::memcmp(magic.data(), kMagicOfAnyVersion.data(), kMagicOfAnyVersion.size()) == 0)
      return Error{ErrorCode::kUnsupported, "it was made by another version of Holdfast", {}};
    return malformed("it is no file of exported states");
  }
  offset_ = magic.size();
  const auto length = read_number();
  if (!length) return length.error();
  const ByteCount left = source_->size() - offset_;
  if (*length > kArchiveNoteBytesMax) return malformed("its note is longer than it may be");
  if (left < kDigestBytes || *length > left - kDigestBytes) return ends_early();
  try {
    note_.resize(*length);
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kUnavailable, "there is not enough memory for it", {}};
  }
  Sha256Digest digest{};
  if (auto read = source_->read(offset_, note_); !read) return read.error();
  if (auto read = source_->read(offset_ + *length, digest); !read) return read.error();
  if (digest != Sha256().add(magic).add(number_bytes(*length)).add(note_).digest())
    return malformed("its beginning is damaged");
  offset_ += *length + digest.size();
  return {};
}

// A hope, because a blob that was cut may end like this: next() has the last word.
Result<void> BlobArchiveReader::look_at_end() {
  const ByteCount size = source_->size();
  if (size - offset_ < kEndBytes) return {};
  Number none{}, count{};
  if (auto read = source_->read(size - kEndBytes, none); !read) return read.error();
  if (auto read = source_->read(size - kNumberBytes, count); !read) return read.error();
  // Each blob has a length and a byte, so that more than this cannot be true.
  const std::uint64_t most = (size - offset_ - kEndBytes) / (kNumberBytes + 1);
  if (number_of(none) == 0 && number_of(count) <= most) announced_ = number_of(count);
  return {};
}

Result<std::optional<SourceWindow>> BlobArchiveReader::next() {
  const auto length = read_number();
  if (!length) return length.error();
  if (*length == 0) {
    if (auto end = read_end(); !end) return end.error();
    return std::optional<SourceWindow>();
  }
  if (*length > source_->size() - offset_) return ends_early();
  SourceWindow blob(*source_, offset_, *length);
  offset_ += *length;
  ++count_;
  return std::optional(blob);
}

Result<void> BlobArchiveReader::read_end() {
  const auto count = read_number();
  if (!count) return count.error();
  if (*count != count_) return malformed("it does not hold as many blobs as it says");
  if (offset_ != source_->size()) return malformed("it goes on behind its end");
  return {};
}

}  // namespace holdfast::tier
