#include <algorithm>
#include <new>
#include <stdexcept>

#include "base/hash.h"
#include "tier/blob.h"
#include "tier/blob_layout.h"

namespace holdfast::tier {

using namespace blob_layout;

// --- the header --------------------------------------------------------------------

namespace {

using Bytes = std::span<const std::byte>;

Result<void> verify_frame(Bytes bytes, ByteCount file_bytes) {
  if (bytes.size() < kFixedBytes + kDigestBytes) return malformed("the file is too short");
  if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
    return malformed("it does not begin like a blob");
  if (get<std::uint32_t>(bytes, kHeaderLength) != bytes.size())
    return malformed("the header's length is wrong");
  const Bytes body = bytes.first(bytes.size() - kDigestBytes);
  if (get<Sha256Digest>(bytes, body.size()) != Sha256().add(body).digest())
    return malformed("the header's digest is wrong");
  if (get<std::uint64_t>(bytes, kPayloadBytes) != file_bytes - bytes.size() - kDigestBytes)
    return malformed("the file's length is not what its header says");
  return {};
}

Result<void> verify_kind(Bytes bytes) {
  const auto kind = get<BlobKind>(bytes, kKind);
  const auto flags = get<std::uint32_t>(bytes, kFlags);
  if (kind != BlobKind::kRows && kind != BlobKind::kPlace) return malformed("its kind is unknown");
  if ((flags & kCompressed) != 0)
    return Error{ErrorCode::kUnsupported, "compressed blobs are not supported by this version", {}};
  if ((flags & ~kHasLogits) != 0)
    return Error{ErrorCode::kUnsupported, "its flags are not supported by this version", {}};
  const bool logits = get<std::uint64_t>(bytes, kLogitsBytes) > 0;
  if (((flags & kHasLogits) != 0) != logits) return malformed("its flags and its logits disagree");
  if (get<std::uint32_t>(bytes, kMarks) >> 16 != 0) return malformed("its marks are unknown");
  return {};
}

// Range and counts: of the tokens, and of the header's own length.
Result<void> verify_range(Bytes bytes) {
  const auto first = get<TokenPos>(bytes, kFirst);
  const auto begin = get<TokenPos>(bytes, kBegin);
  const auto end = get<TokenPos>(bytes, kEnd);
  const bool rows = get<BlobKind>(bytes, kKind) == BlobKind::kRows;
  if (first < 0 || begin < 0 || end > kPositionMax || begin > end || rows != (begin < end) ||
      end == 0 || first != anchor_at(rows ? begin : end - 1))
    return malformed("its range of tokens is not valid");
  const auto tokens = static_cast<std::uint64_t>(end - first);
  if (header_bytes(tokens, get<std::uint32_t>(bytes, kBlocks)) != bytes.size())
    return malformed("the header's counts do not fit its length");
  return {};
}

BlobPath read_path(Bytes bytes) {
  BlobPath path;
  path.space = {get<std::uint64_t>(bytes, kSpace), get<std::uint64_t>(bytes, kSpace + 8)};
  path.anchor = get<PathName>(bytes, kAnchor);
  path.range = {get<TokenPos>(bytes, kBegin), get<TokenPos>(bytes, kEnd)};
  path.tokens.resize(static_cast<std::size_t>(path.range.end - get<TokenPos>(bytes, kFirst)));
  std::memcpy(path.tokens.data(), bytes.data() + kFixedBytes, 4 * path.tokens.size());
  return path;
}

Result<void> verify_names(const BlobPath& path, const PathName& after) {
  if (path.first() == 0 && path.anchor != root_name(path.space))
    return malformed("the name of its beginning is not that of its space");
  PathNamer namer(path.anchor, path.first());
  namer.append(path.tokens);
  if (namer.name() != after) return malformed("its tokens do not have its name");
  return {};
}

std::vector<BlockEntry> read_blocks(Bytes bytes, std::size_t tokens) {
  std::vector<BlockEntry> blocks(get<std::uint32_t>(bytes, kBlocks));
  const std::size_t table = kFixedBytes + tokens_bytes(tokens);
  const Bytes entries = bytes.subspan(table, blocks.size() * sizeof(BlockEntry));
  std::ranges::copy(entries, std::as_writable_bytes(std::span(blocks)).begin());
  return blocks;
}

// What ExtentBlock requires, and that the use lies within it.
bool valid_block(const BlockEntry& block) {
  return 0 <= block.begin && block.begin < block.end && block.end <= kPositionMax &&
         block.begin / kBlockTokens == (block.end - 1) / kBlockTokens &&
         block.begin <= block.use_begin && block.use_begin < block.use_end &&
         block.use_end <= block.end && block.bytes > 0;
}

bool covers(const std::vector<BlockEntry>& blocks, TokenRange range) {
  TokenPos at = range.begin;
  for (const BlockEntry& block : blocks) {
    if (block.use_begin != at) return false;
    at = block.use_end;
  }
  return at == range.end;
}

Result<void> verify_blocks(const Header& header) {
  for (const BlockEntry& block : header.blocks) {
    if (!valid_block(block)) return malformed("a block's range is not valid");
  }
  if (header.facts.kind == BlobKind::kPlace) {
    if (header.blocks.empty()) return {};
    return Error{ErrorCode::kUnsupported, "a place with blocks is not supported any more", {}};
  }
  if (!covers(header.blocks, header.facts.path.range))
    return malformed("its blocks do not cover its range");
  return {};
}

// Adds sizes that hostile hands may have written: the sum sticks at its limit.
class Sum {
 public:
  explicit Sum(std::uint64_t limit) : limit_(limit) {}
  void add(std::uint64_t bytes) {
    beyond_ = beyond_ || bytes > limit_ - total_;
    if (!beyond_) total_ += bytes;
  }
  [[nodiscard]] bool is(std::uint64_t wanted) const { return !beyond_ && total_ == wanted; }

 private:
  std::uint64_t limit_;
  std::uint64_t total_ = 0;
  bool beyond_ = false;
};

Result<void> verify_sizes(const Header& header, Bytes bytes) {
  Sum primary(header.payload_bytes), companion(header.payload_bytes), all(header.payload_bytes);
  for (const BlockEntry& block : header.blocks) {
    primary.add(block.bytes);
    companion.add(block.companion_bytes);
  }
  primary.add(header.state_bytes);
  companion.add(header.companion_bytes);
  const auto primary_bytes = get<std::uint64_t>(bytes, kPrimaryBytes);
  const auto companion_bytes = get<std::uint64_t>(bytes, kCompanionBytes);
  for (const std::uint64_t part : {primary_bytes, companion_bytes, header.logits_bytes})
    all.add(part);
  if (!primary.is(primary_bytes) || !companion.is(companion_bytes) || !all.is(header.payload_bytes))
    return malformed("the sizes of its parts do not add up");
  return {};
}

// Rows have no parts of a place; a place has something, and a companion's part only
// beside a snapshot, as in memory.
Result<void> verify_parts(const Header& header) {
  const bool place_parts =
      header.state_bytes > 0 || header.companion_bytes > 0 || header.logits_bytes > 0;
  if (header.facts.kind == BlobKind::kRows) {
    if (place_parts || !header.facts.marks.none()) return malformed("rows with parts of a place");
    return {};
  }
  const bool snapshot = header.state_bytes > 0;
  if (!snapshot && header.companion_bytes > 0) return malformed("a companion without a snapshot");
  if (!snapshot && header.logits_bytes == 0) return malformed("there is nothing in it");
  return {};
}

void read_fields(Bytes bytes, Header& header) {
  header.length = bytes.size();
  header.payload_bytes = get<std::uint64_t>(bytes, kPayloadBytes);
  header.logits_bytes = get<std::uint64_t>(bytes, kLogitsBytes);
  header.logits_checksum = get<std::uint64_t>(bytes, kLogitsChecksum);
  header.state_bytes = get<std::uint64_t>(bytes, kStateBytes);
  header.state_checksum = get<std::uint64_t>(bytes, kStateChecksum);
  header.companion_bytes = get<std::uint64_t>(bytes, kPlaceCompanionBytes);
  header.companion_checksum = get<std::uint64_t>(bytes, kPlaceCompanionChecksum);

  BlobFacts& facts = header.facts;
  facts.key.bytes = Sha256().add(bytes.subspan(kKeyBegin, kKeyEnd - kKeyBegin)).digest();
  facts.kind = get<BlobKind>(bytes, kKind);
  facts.path = read_path(bytes);
  facts.after = get<PathName>(bytes, kAfter);
  facts.bytes = header.length + header.payload_bytes + kDigestBytes;
  facts.companion = get<std::uint64_t>(bytes, kCompanionBytes) > 0;
  facts.logits = header.logits_bytes > 0;
  facts.marks = hints_of(get<std::uint32_t>(bytes, kMarks));
  facts.saves = get<std::uint64_t>(bytes, kSaves);
  facts.created_ms = get<std::int64_t>(bytes, kCreated);
  header.blocks = read_blocks(bytes, facts.path.tokens.size());
}

}  // namespace

Result<Header> blob_layout::parse_header(Bytes bytes, ByteCount file_bytes) {
  if (auto frame = verify_frame(bytes, file_bytes); !frame) return frame.error();
  if (auto kind = verify_kind(bytes); !kind) return kind.error();
  if (auto range = verify_range(bytes); !range) return range.error();
  Header header;
  read_fields(bytes, header);
  if (auto names = verify_names(header.facts.path, header.facts.after); !names)
    return names.error();
  if (auto blocks = verify_blocks(header); !blocks) return blocks.error();
  if (auto sizes = verify_sizes(header, bytes); !sizes) return sizes.error();
  if (auto parts = verify_parts(header); !parts) return parts.error();
  return header;
}

namespace {

Result<Header> read_header(ByteSource& source) {
  const ByteCount size = source.size();
  if (size < kFixedBytes + 2 * kDigestBytes) return malformed("the file is too short");
  std::vector<std::byte> bytes(kFixedBytes);
  if (auto read = source.read(0, bytes); !read) return read.error();
  const auto length = get<std::uint32_t>(bytes, kHeaderLength);
  if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
    return malformed("it does not begin like a blob");
  if (length < kFixedBytes + kDigestBytes || length > kHeaderBytesMax || length % 8 != 0 ||
      length > size - kDigestBytes)
    return malformed("the header's length is not valid");
  bytes.resize(length);
  auto rest = std::span(bytes).subspan(kFixedBytes);
  if (auto read = source.read(kFixedBytes, rest); !read) return read.error();
  return parse_header(bytes, size);
}

// --- the payload -------------------------------------------------------------------

// Reads the parts of a payload in the order in which they lie in the file.
class PayloadReader {
 public:
  PayloadReader(ByteSource& source, const Header& header, Verify verify)
      : source_(source), offset_(header.length), verify_(verify) {}

  [[nodiscard]] Result<StateBytes> next(std::uint64_t size, std::uint64_t checksum) {
    StateBytes bytes(size);  // verify_sizes: all parts together are as long as the file
    if (size == 0) return bytes;
    if (auto read = source_.read(offset_, bytes); !read) return read.error();
    offset_ += size;
    if (hash_bytes(bytes) != checksum) return malformed("a part's checksum is wrong");
    if (verify_ == Verify::kPartsAndDigest) sha_.add(bytes);
    return bytes;
  }

  // After the last part.
  [[nodiscard]] Result<void> verify_digest() {
    if (verify_ != Verify::kPartsAndDigest) return {};
    Sha256Digest written{};
    if (auto read = source_.read(offset_, written); !read) return read.error();
    if (written != sha_.digest()) return malformed("the payload's digest is wrong");
    return {};
  }

 private:
  ByteSource& source_;
  ByteCount offset_;
  const Verify verify_;
  Sha256 sha_;
};

struct Payload {
  std::vector<StateBytes> primary;
  StateBytes state;
  std::vector<CheckedBytes> companion;
  CheckedBytes place_companion;
  CheckedBytes logits;
};

Result<void> read_primary(PayloadReader& reader, const Header& header, Payload& payload) {
  for (const BlockEntry& block : header.blocks) {
    auto bytes = reader.next(block.bytes, block.checksum);
    if (!bytes) return bytes.error();
    payload.primary.push_back(std::move(*bytes));
  }
  auto state = reader.next(header.state_bytes, header.state_checksum);
  if (!state) return state.error();
  payload.state = std::move(*state);
  return {};
}

Result<CheckedBytes> read_checked(PayloadReader& reader, std::uint64_t size,
                                  std::uint64_t checksum) {
  auto bytes = reader.next(size, checksum);
  if (!bytes) return bytes.error();
  if (size == 0) return CheckedBytes{};
  return CheckedBytes{std::move(*bytes), checksum};
}

Result<void> read_rest(PayloadReader& reader, const Header& header, Payload& payload) {
  for (const BlockEntry& block : header.blocks) {
    auto part = read_checked(reader, block.companion_bytes, block.companion_checksum);
    if (!part) return part.error();
    payload.companion.push_back(std::move(*part));
  }
  auto place = read_checked(reader, header.companion_bytes, header.companion_checksum);
  if (!place) return place.error();
  payload.place_companion = std::move(*place);
  auto logits = read_checked(reader, header.logits_bytes, header.logits_checksum);
  if (!logits) return logits.error();
  payload.logits = std::move(*logits);
  return reader.verify_digest();
}

std::vector<BlockUse> make_blocks(const Header& header, Payload& payload) {
  std::vector<BlockUse> uses;
  for (std::size_t i = 0; i < header.blocks.size(); ++i) {
    const BlockEntry& entry = header.blocks[i];
    auto block = std::make_shared<const ExtentBlock>(TokenRange{entry.begin, entry.end},
                                                     std::move(payload.primary[i]), entry.checksum,
                                                     std::move(payload.companion[i]));
    uses.push_back({std::move(block), {entry.use_begin, entry.use_end}});
  }
  return uses;
}

PlaceBlob make_place(const Header& header, Payload& payload) {
  PlaceBlob place{header.facts.path, nullptr, std::move(payload.logits), header.facts.marks,
                  header.facts.saves};
  if (!payload.state.empty()) {
    place.snapshot =
        std::make_shared<const Snapshot>(place.path.range.end, std::move(payload.state),
                                         header.state_checksum, std::move(payload.place_companion));
  }
  return place;
}

Result<Blob> read_content(ByteSource& source, Header& header, Verify verify) {
  PayloadReader reader(source, header, verify);
  Payload payload;
  if (auto primary = read_primary(reader, header, payload); !primary) return primary.error();
  if (auto rest = read_rest(reader, header, payload); !rest) return rest.error();
  if (header.facts.kind == BlobKind::kPlace) {
    PlaceBlob place = make_place(header, payload);
    return Blob{std::move(header.facts), std::move(place)};
  }
  RowsBlob rows{header.facts.path, make_blocks(header, payload), header.facts.saves};
  return Blob{std::move(header.facts), std::move(rows)};
}

Error out_of_memory() { return {ErrorCode::kUnavailable, "there is not enough memory for it", {}}; }

}  // namespace

Result<void> MemorySource::read(ByteCount offset, std::span<std::byte> out) {
  CHECK(offset <= bytes_.size() && out.size() <= bytes_.size() - offset);
  std::ranges::copy(bytes_.subspan(offset, out.size()), out.begin());
  return {};
}

Result<BlobFacts> read_facts(ByteSource& source) {
  try {
    auto header = read_header(source);
    if (!header) return header.error();
    return std::move(header->facts);
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
}

Result<Blob> read_blob(ByteSource& source, Verify verify) {
  try {
    auto header = read_header(source);
    if (!header) return header.error();
    return read_content(source, *header, verify);
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::length_error&) {
    return out_of_memory();
  }
}

}  // namespace holdfast::tier
