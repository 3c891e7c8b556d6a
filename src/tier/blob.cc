#include "tier/blob.h"

#include <algorithm>

#include "base/check.h"
#include "base/hash.h"
#include "tier/blob_layout.h"

namespace holdfast::tier {

using namespace blob_layout;

// --- keys and paths ------------------------------------------------------------

std::string BlobKey::hex() const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte value : bytes) {
    text += kDigits[std::to_integer<std::size_t>(value >> 4)];
    text += kDigits[std::to_integer<std::size_t>(value & std::byte{15})];
  }
  return text;
}

namespace {

// -1: not a digit. Capitals are not: a key has one name.
int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

BlobPath path_from(SpaceKey space, const PathNamer& names, TokenSpan path, TokenRange range,
                   TokenPos first) {
  CHECK(range.end <= length_of(path) && range.end <= names.length());
  const auto cell = static_cast<std::size_t>(first / kBlockTokens);
  const TokenSpan own =
      path.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(range.end - first));
  return {space, range, names.anchors().at(cell), Tokens(own.begin(), own.end())};
}

}  // namespace

std::optional<BlobKey> BlobKey::from_hex(std::string_view text) {
  BlobKey key;
  if (text.size() != 2 * key.bytes.size()) return std::nullopt;
  for (std::size_t i = 0; i < key.bytes.size(); ++i) {
    const int high = digit(text[2 * i]);
    const int low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    key.bytes[i] = static_cast<std::byte>(high * 16 + low);
  }
  return key;
}

BlobPath BlobPath::of_rows(SpaceKey space, const PathNamer& names, TokenSpan path,
                           TokenRange range) {
  CHECK(0 <= range.begin && range.begin < range.end);
  return path_from(space, names, path, range, anchor_at(range.begin));
}

BlobPath BlobPath::of_place(SpaceKey space, const PathNamer& names, TokenSpan path,
                            TokenPos position) {
  CHECK(position > 0);
  return path_from(space, names, path, {position, position}, anchor_at(position - 1));
}

// --- writing ---------------------------------------------------------------------

std::uint32_t blob_layout::bits_of(Hints marks) {
  std::uint32_t bits = 0;
  for (std::uint32_t bit = 1; bit < 1U << 16; bit <<= 1) {
    if (marks.has(static_cast<Hint>(bit))) bits |= bit;
  }
  return bits;
}

Hints blob_layout::hints_of(std::uint32_t bits) {
  Hints marks;
  for (std::uint32_t bit = 1; bit < 1U << 16; bit <<= 1) {
    if ((bits & bit) != 0) marks = marks | static_cast<Hint>(bit);
  }
  return marks;
}

namespace {

BlockEntry entry_of(const BlockUse& use) {
  const ExtentBlock& block = *use.block;
  BlockEntry entry;
  entry.begin = block.range().begin;
  entry.end = block.range().end;
  entry.use_begin = use.range.begin;
  entry.use_end = use.range.end;
  entry.bytes = block.bytes().size();
  entry.checksum = block.checksum();
  if (CheckedView(block.companion()).intact()) {
    entry.companion_bytes = block.companion().bytes.size();
    entry.companion_checksum = block.companion().checksum;
  }
  return entry;
}

Result<void> verify_path(const BlobPath& path) {
  if (path.first() < 0 || path.first() % kBlockTokens != 0)
    return malformed("its tokens do not begin at a multiple of 64");
  return {};
}

// What the key is made of.
void set_identity(std::span<std::byte> header, BlobKind kind, const BlobPath& path) {
  PathNamer namer(path.anchor, path.first());
  namer.append(path.tokens);
  set(header, kKind, kind);
  set(header, kSpace, space_bytes(path.space));
  set(header, kAnchor, path.anchor);
  set(header, kAfter, namer.name());
  set(header, kFirst, path.first());
  set(header, kBegin, path.range.begin);
  set(header, kEnd, path.range.end);
}

// REQUIRES: verify_path().
BlobFacts outline_of(BlobKind kind, const BlobPath& path, std::size_t blocks) {
  std::array<std::byte, kFixedBytes> header{};
  set_identity(header, kind, path);
  BlobFacts facts;
  facts.kind = kind;
  facts.path = path;
  facts.after = get<PathName>(header, kAfter);
  facts.key.bytes =
      Sha256().add(std::span(header).subspan(kKeyBegin, kKeyEnd - kKeyBegin)).digest();
  facts.bytes = header_bytes(path.tokens.size(), blocks) + kDigestBytes;
  return facts;
}

void add_to(BlobFacts& facts, const ExtentBlock& block) {
  facts.bytes += block.size();
  facts.companion = facts.companion || !block.companion().empty();
}

// Puts a blob together in the order of the file.
class Encoder {
 public:
  Encoder(BlobKind kind, const BlobPath& path, std::int64_t now_ms) : path_(path) {
    header_.resize(kFixedBytes);
    std::memcpy(header_.data(), kMagic.data(), kMagic.size());
    set_identity(header_, kind, path);
    set(header_, kCreated, now_ms);
  }

  template <typename Value>
  void note(std::size_t offset, const Value& value) {
    set(header_, offset, value);
  }

  void add_block(const BlockUse& use) {
    const BlockEntry entry = entry_of(use);
    add_primary(use.block->bytes(), use.block->checksum());
    if (entry.companion_bytes > 0) add_companion(use.block->companion().bytes);
    blocks_.push_back(entry);
  }
  void add_primary(std::span<const std::byte> bytes, std::uint64_t checksum) {
    if (bytes.empty()) return;
    damaged_ = damaged_ || hash_bytes(bytes) != checksum;
    primary_bytes_ += bytes.size();
    primary_.push_back(bytes);
  }
  void add_companion(std::span<const std::byte> bytes) {
    companion_bytes_ += bytes.size();
    companion_.push_back(bytes);
  }
  void add_logits(const CheckedBytes& logits) {
    damaged_ = damaged_ || !CheckedView(logits).intact();
    note(kFlags, kHasLogits);
    note(kLogitsBytes, std::uint64_t{logits.bytes.size()});
    note(kLogitsChecksum, logits.checksum);
    logits_ = logits.bytes;
  }

  [[nodiscard]] Result<EncodedBlob> finish() {
    if (damaged_) return malformed("it is damaged in memory");
    if (header_bytes(path_.tokens.size(), blocks_.size()) > kHeaderBytesMax)
      return malformed("more tokens than one blob may hold");
    EncodedBlob encoded;
    gather_payload(encoded);
    finish_header();
    const ByteCount file_bytes = header_.size() + payload_bytes_ + kDigestBytes;
    auto header = parse_header(header_, file_bytes);  // what is written can be read
    if (!header) return header.error();
    encoded.facts = std::move(header->facts);
    encoded.header = std::move(header_);
    return encoded;
  }

 private:
  void gather_payload(EncodedBlob& encoded) {
    encoded.payload = std::move(primary_);
    encoded.payload.insert(encoded.payload.end(), companion_.begin(), companion_.end());
    if (!logits_.empty()) encoded.payload.push_back(logits_);
    Sha256 sha;
    for (const auto piece : encoded.payload) sha.add(piece);
    encoded.digest = sha.digest();
    payload_bytes_ = primary_bytes_ + companion_bytes_ + logits_.size();
  }

  void finish_header() {
    const std::size_t length = header_bytes(path_.tokens.size(), blocks_.size());
    note(kHeaderLength, static_cast<std::uint32_t>(length));
    note(kBlocks, static_cast<std::uint32_t>(blocks_.size()));
    note(kPrimaryBytes, primary_bytes_);
    note(kCompanionBytes, companion_bytes_);
    note(kPayloadBytes, payload_bytes_);
    header_.resize(length);
    std::byte* at = header_.data() + kFixedBytes;
    std::ranges::copy(std::as_bytes(std::span(path_.tokens)), at);
    at += tokens_bytes(path_.tokens.size());
    std::ranges::copy(std::as_bytes(std::span(blocks_)), at);
    const std::size_t body = length - kDigestBytes;
    set(header_, body, Sha256().add(std::span(header_).first(body)).digest());
  }

  const BlobPath& path_;
  std::vector<std::byte> header_;
  std::vector<BlockEntry> blocks_;
  std::vector<std::span<const std::byte>> primary_, companion_;
  std::span<const std::byte> logits_;
  std::uint64_t primary_bytes_ = 0, companion_bytes_ = 0, payload_bytes_ = 0;
  bool damaged_ = false;
};

void add_snapshot(Encoder& encoder, const Snapshot& snapshot) {
  encoder.add_primary(snapshot.bytes(), snapshot.checksum());
  encoder.note(kStateBytes, std::uint64_t{snapshot.bytes().size()});
  encoder.note(kStateChecksum, snapshot.checksum());
  if (!CheckedView(snapshot.companion()).intact()) return;
  encoder.add_companion(snapshot.companion().bytes);
  encoder.note(kPlaceCompanionBytes, std::uint64_t{snapshot.companion().bytes.size()});
  encoder.note(kPlaceCompanionChecksum, snapshot.companion().checksum);
}

}  // namespace

Result<BlobFacts> outline(const RowsBlob& blob) {
  if (auto path = verify_path(blob.path); !path) return path.error();
  BlobFacts facts = outline_of(BlobKind::kRows, blob.path, blob.rows.size());
  facts.saves = blob.saves;
  for (const BlockUse& use : blob.rows) {
    if (use.block == nullptr) return malformed("a block of its rows is not there");
    add_to(facts, *use.block);
  }
  return facts;
}

Result<BlobFacts> outline(const PlaceBlob& blob) {
  if (auto path = verify_path(blob.path); !path) return path.error();
  BlobFacts facts = outline_of(BlobKind::kPlace, blob.path, 0);
  facts.saves = blob.saves;
  facts.marks = blob.marks;
  facts.logits = !blob.logits.empty();
  facts.bytes += blob.logits.bytes.size();
  if (blob.snapshot == nullptr) return facts;
  facts.bytes += blob.snapshot->size();
  facts.companion = !blob.snapshot->companion().empty();
  return facts;
}

Result<EncodedBlob> encode(const RowsBlob& blob, std::int64_t now_ms) {
  if (auto path = verify_path(blob.path); !path) return path.error();
  Encoder encoder(BlobKind::kRows, blob.path, now_ms);
  encoder.note(kSaves, blob.saves);
  for (const BlockUse& use : blob.rows) {
    if (use.block == nullptr) return malformed("a block of its rows is not there");
    encoder.add_block(use);
  }
  return encoder.finish();
}

Result<EncodedBlob> encode(const PlaceBlob& blob, std::int64_t now_ms) {
  if (auto path = verify_path(blob.path); !path) return path.error();
  if (blob.snapshot != nullptr && blob.snapshot->position() != blob.path.range.end)
    return malformed("its snapshot belongs to another position");
  Encoder encoder(BlobKind::kPlace, blob.path, now_ms);
  encoder.note(kSaves, blob.saves);
  encoder.note(kMarks, bits_of(blob.marks));
  if (blob.snapshot != nullptr) add_snapshot(encoder, *blob.snapshot);
  if (!blob.logits.empty()) encoder.add_logits(blob.logits);
  return encoder.finish();
}

Result<EncodedBlob> encode(const Blob& blob) {
  return std::visit([&](const auto& content) { return encode(content, blob.facts.created_ms); },
                    blob.content);
}

std::vector<std::span<const std::byte>> EncodedBlob::pieces() const {
  std::vector<std::span<const std::byte>> all = {header};
  all.insert(all.end(), payload.begin(), payload.end());
  all.emplace_back(digest);
  return all;
}

}  // namespace holdfast::tier
