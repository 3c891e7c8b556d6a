#include "tier/blob.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

#include "tier/blob_layout.h"
#include "tier/testing/blob_maker.h"

namespace holdfast::tier {
namespace {

using Bytes = std::vector<std::byte>;

constexpr SpaceKey kHere{0x1234, 0x5678};

Result<Blob> read(const Bytes& file, Verify verify = Verify::kPartsAndDigest) {
  MemorySource source(file);
  return read_blob(source, verify);
}

std::string why(const Bytes& file) {
  const auto blob = read(file);
  return blob ? "" : blob.error().message;
}

// Makes digests fit again, as someone with bad intentions would.
Bytes sealed(Bytes file) {
  using namespace blob_layout;
  const auto length = get<std::uint32_t>(file, kHeaderLength);
  const std::size_t body = length - kDigestBytes;
  set(std::span(file), body, Sha256().add(std::span(file).first(body)).digest());
  const std::size_t end = file.size() - kDigestBytes;
  set(std::span(file), end, Sha256().add(std::span(file).subspan(length, end - length)).digest());
  return file;
}

template <typename Value>
Bytes with(Bytes file, std::size_t offset, Value value) {
  blob_layout::set(std::span(file), offset, value);
  return sealed(std::move(file));
}

void expect_equal(const BlobPath& a, const BlobPath& b) {
  EXPECT_EQ(a.space, b.space);
  EXPECT_EQ(a.range, b.range);
  EXPECT_EQ(a.anchor, b.anchor);
  EXPECT_EQ(a.tokens, b.tokens);
}

void expect_equal(const ExtentBlock& a, const ExtentBlock& b) {
  EXPECT_EQ(a.range(), b.range());
  EXPECT_EQ(a.checksum(), b.checksum());
  EXPECT_TRUE(std::ranges::equal(a.bytes(), b.bytes()));
  EXPECT_EQ(a.companion().bytes, b.companion().bytes);
  EXPECT_EQ(a.companion().checksum, b.companion().checksum);
}

TEST(BLOB1, RowsComeBack) {
  const BlobMaker maker(kHere, counting(400, 100));
  for (const bool companion : {false, true}) {
    for (const TokenRange range : {TokenRange{0, 1}, {0, 64}, {63, 65}, {100, 300}, {128, 400}}) {
      const RowsBlob blob = maker.rows(range, {.companion = companion}, true);
      const auto encoded = encode(blob, 77);
      ASSERT_TRUE(encoded.ok()) << encoded.error().message;
      const auto back = read(file_of(*encoded));
      ASSERT_TRUE(back.ok()) << back.error().message;
      const auto& rows = std::get<RowsBlob>(back->content);
      expect_equal(rows.path, blob.path);
      ASSERT_EQ(rows.rows.size(), blob.rows.size());
      for (std::size_t i = 0; i < rows.rows.size(); ++i) {
        EXPECT_EQ(rows.rows[i].range, blob.rows[i].range);
        expect_equal(*rows.rows[i].block, *blob.rows[i].block);
      }
      EXPECT_EQ(rows.saves, blob.saves);
      EXPECT_EQ(back->facts.created_ms, 77);
      EXPECT_EQ(back->facts.companion, companion);
      EXPECT_EQ(back->facts.bytes, file_of(*encoded).size());
      EXPECT_EQ(back->facts.key, encoded->facts.key);
    }
  }
}

TEST(BLOB1, PlacesComeBack) {
  const BlobMaker maker(kHere, counting(300, 100));
  for (int parts = 1; parts < 8; ++parts) {
    const MakerOptions options{.companion = (parts & 1) != 0, .logits = (parts & 2) != 0};
    const std::size_t state = (parts & 4) != 0 ? 50 : 0;
    if (state == 0 && !options.logits) continue;  // nothing to keep
    for (const TokenPos position : {1, 64, 65, 300}) {
      const PlaceBlob blob = maker.place(position, options, state);
      const auto back = read(file_of(blob));
      ASSERT_TRUE(back.ok()) << back.error().message;
      const auto& place = std::get<PlaceBlob>(back->content);
      expect_equal(place.path, blob.path);
      EXPECT_EQ(place.marks, blob.marks);
      EXPECT_EQ(place.logits.bytes, blob.logits.bytes);
      ASSERT_EQ(place.snapshot == nullptr, blob.snapshot == nullptr);
      EXPECT_EQ(file_of(*back), file_of(blob));
      if (!place.snapshot) continue;
      EXPECT_EQ(place.snapshot->position(), position);
      EXPECT_TRUE(std::ranges::equal(place.snapshot->bytes(), blob.snapshot->bytes()));
      EXPECT_EQ(place.snapshot->companion().bytes, blob.snapshot->companion().bytes);
    }
  }
}

// Blocks of two paths that parted inside a block: their ranges overlap, their uses do not.
TEST(BLOB1, RowsOfAForkComeBack) {
  const BlobMaker maker(kHere, counting(128, 100));
  RowsBlob blob = maker.rows({64, 80}, {}, true);
  const RowsBlob rest = maker.rows({80, 128});
  blob.path = maker.rows({64, 128}).path;
  blob.rows.push_back(rest.rows[0]);
  const auto back = read(file_of(blob));
  ASSERT_TRUE(back.ok()) << back.error().message;
  const auto& rows = std::get<RowsBlob>(back->content).rows;
  EXPECT_EQ(rows[0].block->range(), (TokenRange{64, 128}));
  EXPECT_EQ(rows[0].range, (TokenRange{64, 80}));
  EXPECT_EQ(rows[1].range, (TokenRange{80, 128}));
}

TEST(Blob, KeyStandsForTheStateAlone) {
  const BlobMaker maker(kHere, counting(200, 100));
  const auto key = [](const auto& blob, std::int64_t now) { return encode(blob, now)->facts.key; };
  EXPECT_EQ(key(maker.place(100), 1), key(maker.place(100, {.logits = true}), 2));
  EXPECT_NE(key(maker.place(100), 1), key(maker.place(101), 1));
  EXPECT_NE(key(maker.rows({0, 100}), 1), key(maker.rows({64, 100}), 1));
  EXPECT_NE(key(maker.place(100), 1), key(BlobMaker({1, 1}, counting(200, 100)).place(100), 1));
  Tokens other = counting(200, 100);
  other[3] = -5;
  EXPECT_NE(key(maker.place(100), 1), key(BlobMaker(kHere, other).place(100), 1));
  const BlobKey any = key(maker.place(7), 1);
  EXPECT_EQ(BlobKey::from_hex(any.hex()), any);
  EXPECT_FALSE(BlobKey::from_hex("zz").has_value());
  EXPECT_FALSE(BlobKey::from_hex(std::string(64, 'A')).has_value());
}

TEST(Blob, DamagedInMemoryIsNotWritten) {
  const BlobMaker maker(kHere, counting(64, 100));
  RowsBlob blob = maker.rows({0, 64});
  blob.rows[0].block = std::make_shared<const ExtentBlock>(TokenRange{0, 64}, StateBytes(64), 1);
  EXPECT_EQ(encode(blob, 0).error().message, "it is damaged in memory");
  PlaceBlob place = maker.place(64, {.logits = true});
  place.logits.checksum ^= 1;
  EXPECT_FALSE(encode(place, 0).ok());
}

TEST(Blob, ADamagedCompanionIsLeftOut) {
  const BlobMaker maker(kHere, counting(64, 100));
  PlaceBlob place = maker.place(64, {.companion = true});
  CheckedBytes bad = place.snapshot->companion();
  bad.checksum ^= 1;
  const auto bytes = place.snapshot->bytes();
  place.snapshot = std::make_shared<const Snapshot>(64, StateBytes(bytes.begin(), bytes.end()),
                                                    hash_bytes(bytes), bad);
  EXPECT_EQ(file_of(place), file_of(maker.place(64)));
}

TEST(Blob, MistakesAreErrors) {
  const BlobMaker maker(kHere, counting(200, 100));
  RowsBlob gap = maker.rows({0, 200});
  gap.rows.erase(gap.rows.begin() + 1);
  EXPECT_EQ(encode(gap, 0).error().message, "its blocks do not cover its range");
  RowsBlob missing = maker.rows({0, 64});
  missing.rows[0].block = nullptr;
  EXPECT_FALSE(encode(missing, 0).ok());
  PlaceBlob moved = maker.place(64);
  moved.path = maker.place(65).path;
  EXPECT_FALSE(encode(moved, 0).ok());
  PlaceBlob empty = maker.place(64, {}, 0);
  EXPECT_EQ(encode(empty, 0).error().message, "there is nothing in it");
  RowsBlob cut = maker.rows({70, 90});
  cut.path.tokens.erase(cut.path.tokens.begin());
  EXPECT_FALSE(encode(cut, 0).ok());
  const BlobMaker large(kHere, counting(300000, 100));
  EXPECT_EQ(encode(large.rows({0, 300000}, {.bytes_per_token = 1}), 0).error().message,
            "more tokens than one blob may hold");
}

// --- damage and ill will ------------------------------------------------------------

std::vector<Bytes> samples() {
  const BlobMaker maker(kHere, counting(150, 100));
  const MakerOptions all{.companion = true, .logits = true};
  return {file_of(maker.rows({70, 150}, all, true)), file_of(maker.rows({0, 10})),
          file_of(maker.place(130, all)), file_of(maker.place(64))};
}

TEST(BLOB1, EveryFlippedBitIsNoticed) {
  for (const Bytes& file : samples()) {
    ASSERT_EQ(why(file), "");
    for (std::size_t at = 0; at < file.size(); ++at) {
      Bytes damaged = file;
      damaged[at] ^= static_cast<std::byte>(1U << (at % 8));
      ASSERT_NE(why(damaged), "") << "byte " << at;
      const bool digest = at + blob_layout::kDigestBytes >= file.size();
      ASSERT_EQ(read(damaged, Verify::kParts).ok(), digest) << "byte " << at;
    }
  }
}

TEST(BLOB1, EveryOtherLengthIsNoticed) {
  for (const Bytes& file : samples()) {
    for (std::size_t size = 0; size < file.size(); ++size) {
      ASSERT_NE(why(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size))), "");
    }
    for (const std::size_t more : {1, 8, 32, 5000}) {
      Bytes longer = file;
      longer.resize(file.size() + more);
      ASSERT_NE(why(longer), "");
    }
  }
}

TEST(BLOB2, SealedLiesAreNoticed) {
  using namespace blob_layout;
  const Bytes rows = samples()[0];
  const Bytes place = samples()[2];
  EXPECT_EQ(why(sealed(rows)), "");
  EXPECT_EQ(why(with(rows, kFlags, kCompressed)),
            "compressed blobs are not supported by this version");
  EXPECT_EQ(why(with(rows, kFlags, 8U)), "its flags are not supported by this version");
  EXPECT_EQ(why(with(place, kFlags, 0U)), "its flags and its logits disagree");
  EXPECT_EQ(why(with(rows, kKind, 3U)), "its kind is unknown");
  EXPECT_EQ(why(with(place, kMarks, 1U << 20)), "its marks are unknown");
  for (const std::size_t field : {kFirst, kBegin, kEnd}) {
    for (const TokenPos value : {-1, 0, 1, 64, 1 << 30, INT32_MAX, INT32_MIN}) {
      if (get<TokenPos>(rows, field) == value) continue;
      EXPECT_NE(why(with(rows, field, value)), "") << field << " " << value;
      EXPECT_NE(why(with(place, field, value)), "") << field << " " << value;
    }
  }
  EXPECT_NE(why(with(rows, kBlocks, 0U)), "");
  EXPECT_NE(why(with(rows, kBlocks, UINT32_MAX)), "");
  for (const std::size_t field : {kPrimaryBytes, kCompanionBytes, kLogitsBytes, kPayloadBytes,
                                  kStateBytes, kPlaceCompanionBytes}) {
    for (const std::uint64_t value : {UINT64_MAX, UINT64_MAX - 100, std::uint64_t{1} << 63,
                                      std::uint64_t{1} << 40, std::uint64_t{1}}) {
      EXPECT_NE(why(with(rows, field, value)), "") << field << " " << value;
      EXPECT_NE(why(with(place, field, value)), "") << field << " " << value;
    }
  }
  for (const std::size_t field : {kSpace, kAnchor, kAfter, kFixedBytes}) {
    EXPECT_NE(why(with(samples()[1], field, std::uint64_t{99})), "") << field;
  }
  const Bytes other = file_of(BlobMaker({9, 9}, counting(150, 100)).rows({70, 150}));
  Bytes swapped = rows;  // the header of another path
  std::copy_n(other.begin() + kSpace, kFirst - kSpace, swapped.begin() + kSpace);
  EXPECT_EQ(why(sealed(swapped)), "");  // a valid blob, but of another key
  EXPECT_NE(read(sealed(swapped))->facts.key, read(rows)->facts.key);
}

TEST(BLOB2, SealedLiesOfBlocksAreNoticed) {
  using namespace blob_layout;
  const Bytes rows = samples()[0];
  const std::size_t table = kFixedBytes + tokens_bytes(150 - 64);
  const auto entry = get<BlockEntry>(rows, table);
  ASSERT_EQ(entry.use_begin, 70);
  const auto lie = [&](auto change) {
    BlockEntry changed = entry;
    change(changed);
    return why(with(rows, table, changed));
  };
  EXPECT_EQ(lie([](BlockEntry&) {}), "");
  EXPECT_NE(lie([](BlockEntry& b) { b.begin = -5; }), "");
  EXPECT_NE(lie([](BlockEntry& b) { b.begin = 63; }), "");
  EXPECT_NE(lie([](BlockEntry& b) { b.end = 129; }), "");
  EXPECT_NE(lie([](BlockEntry& b) { b.end = INT32_MAX; }), "");
  EXPECT_NE(lie([](BlockEntry& b) { b.use_begin = 71; }), "");
  EXPECT_NE(lie([](BlockEntry& b) { b.use_end = b.use_begin; }), "");
  EXPECT_NE(lie([](BlockEntry& b) { b.bytes = 0; }), "");
  EXPECT_NE(lie([](BlockEntry& b) { b.bytes += 1; }), "");
  EXPECT_NE(lie([](BlockEntry& b) { b.bytes = UINT64_MAX; }), "");
  EXPECT_NE(lie([](BlockEntry& b) { b.companion_bytes = UINT64_MAX; }), "");
  EXPECT_NE(lie([](BlockEntry& b) { b.checksum ^= 1; }), "");
  EXPECT_NE(lie([](BlockEntry& b) { b.companion_checksum ^= 1; }), "");
}

// --- the format never changes ----------------------------------------------------

// The files of the fuzzer's corpus were written by the first version. One that cannot
// be written the same way today is a new format, which needs a new FORMAT.
// HOLDFAST_WRITE_CORPUS=1 rewrites them.
const std::string kCorpus = HOLDFAST_SOURCE_DIR "/fuzz/corpus/blob/";

std::string text_of(const std::string& name) {
  std::ifstream stream(kCorpus + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(Blob, BytesAreThoseOfVersion1) {
  const char* names[] = {"rows_all.hfb", "rows.hfb", "place_all.hfb", "place.hfb"};
  const auto files = samples();
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto* text = reinterpret_cast<const char*>(files[i].data());
    const std::string wanted(text, files[i].size());
    if (std::getenv("HOLDFAST_WRITE_CORPUS") != nullptr)
      std::ofstream(kCorpus + names[i], std::ios::binary) << wanted;
    const std::string found = text_of(names[i]);
    EXPECT_EQ(found.size(), wanted.size()) << names[i];
    EXPECT_TRUE(found == wanted) << names[i];
  }
}

// Earlier versions could have written such a place, and none did.
TEST(Blob, APlaceWithBlocksIsRefused) {
  const std::string text = text_of("place_with_blocks.hfb");
  const auto bytes = std::as_bytes(std::span(text));
  const auto blob = read(Bytes(bytes.begin(), bytes.end()));
  ASSERT_FALSE(blob.ok());
  EXPECT_EQ(blob.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(blob.error().message, "a place with blocks is not supported any more");
}

}  // namespace
}  // namespace holdfast::tier
