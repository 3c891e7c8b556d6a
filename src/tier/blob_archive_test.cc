#include "tier/blob_archive.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tier/blob_transfer.h"
#include "tier/testing/blob_maker.h"
#include "tier/testing/simulated_files.h"

namespace holdfast::tier {
namespace {

using Bytes = std::vector<std::byte>;

constexpr SpaceKey kSpace{7, 8};
constexpr SpaceKey kOther{7, 9};

Bytes bytes_of(std::string_view text) {
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

Bytes archive_of(const std::vector<Bytes>& blobs, const Bytes& note = {}) {
  SimulatedFiles files;
  auto file = files.create("archive");
  auto writer = BlobArchiveWriter::begin(*file.value, note);
  EXPECT_TRUE(writer.ok());
  for (std::size_t i = 0; i < blobs.size(); ++i) {
    const std::span<const std::byte> piece = blobs[i];
    MemorySource source(blobs[i]);
    EXPECT_TRUE((i % 2 == 0 ? writer->add(Pieces(&piece, 1)) : writer->add(source)).ok());
  }
  EXPECT_TRUE(writer->finish().ok());
  EXPECT_EQ(writer->count(), blobs.size());
  EXPECT_EQ(writer->bytes(), files.bytes("archive").size());
  return files.bytes("archive");
}

struct Read {
  std::vector<Bytes> blobs;
  Bytes note;
  std::optional<std::uint64_t> announced;
  std::string error;
};

Read read_all(const Bytes& file) {
  Read read;
  MemorySource source(file);
  auto reader = BlobArchiveReader::open(source);
  if (!reader) {
    read.error = reader.error().message;
    return read;
  }
  read.note = reader->note();
  read.announced = reader->announced();
  for (;;) {
    auto next = reader->next();
    if (!next) read.error = next.error().message;
    if (!next || !next->has_value()) return read;
    Bytes blob((*next)->size());
    EXPECT_TRUE((*next)->read(0, blob).ok());
    read.blobs.push_back(blob);
  }
}

TEST(BlobArchive, ARCHIVE1WhatIsWrittenIsReadBack) {
  const std::vector<Bytes> blobs = {bytes_of("one"), Bytes(3 << 20, std::byte{7}), bytes_of("3")};
  for (const Bytes& note : {Bytes{}, bytes_of("{\"spaces\": 5}")}) {
    const Read read = read_all(archive_of(blobs, note));
    EXPECT_EQ(read.error, "");
    EXPECT_EQ(read.blobs, blobs);
    EXPECT_EQ(read.note, note);
    EXPECT_EQ(read.announced, 3U);
  }
  EXPECT_EQ(read_all(archive_of({})).announced, 0U);
  EXPECT_EQ(read_all(archive_of({})).error, "");
}

TEST(BlobArchive, ARCHIVE1EveryCutIsNoticed) {
  const std::vector<Bytes> blobs = {bytes_of("one"), bytes_of("second"), bytes_of("3")};
  const Bytes whole = archive_of(blobs, bytes_of("note"));
  std::size_t most = 0;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Read read = read_all(Bytes(whole.begin(), whole.begin() + static_cast<long>(size)));
    EXPECT_NE(read.error, "") << size;
    EXPECT_LE(read.blobs.size(), blobs.size());
    most = std::max(most, read.blobs.size());
    EXPECT_TRUE(std::equal(read.blobs.begin(), read.blobs.end(), blobs.begin()));
  }
  EXPECT_EQ(most, blobs.size());
  Bytes longer = whole;
  longer.push_back(std::byte{0});
  EXPECT_EQ(read_all(longer).error, "it goes on behind its end");
}

TEST(BlobArchive, HostileBeginningsAreRefusedInOneSentence) {
  const Bytes whole = archive_of({bytes_of("one")}, bytes_of("note"));
  EXPECT_EQ(read_all({}).error, "it is no file of exported states");
  EXPECT_EQ(read_all(Bytes(100, std::byte{'x'})).error, "it is no file of exported states");
  Bytes other = whole;
  other[6] = std::byte{'2'};
  EXPECT_EQ(read_all(other).error, "it was made by another version of Holdfast");
  for (std::size_t at = 16; at < 52; ++at) {
    Bytes flipped = whole;
    flipped[at] ^= std::byte{1};
    EXPECT_EQ(read_all(flipped).error, "its beginning is damaged");
  }
  for (const std::uint64_t length :
       {std::uint64_t{1000}, kArchiveNoteBytesMax + 1, ~std::uint64_t{0}}) {
    Bytes long_note = whole;
    std::memcpy(long_note.data() + 8, &length, 8);
    EXPECT_NE(read_all(long_note).error, "");
  }
}

TEST(BlobArchive, ARCHIVE2HostileLengthsEndTheReading) {
  const Bytes whole = archive_of({bytes_of("one"), bytes_of("two")});
  const std::size_t second = 48 + 8 + 3;
  for (const std::uint64_t length : {std::uint64_t{20}, std::uint64_t{4}, std::uint64_t{0},
                                     ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
    Bytes odd = whole;
    std::memcpy(odd.data() + second, &length, 8);
    const Read read = read_all(odd);
    EXPECT_NE(read.error, "") << length;
    EXPECT_EQ(read.blobs.front(), bytes_of("one"));
  }
  Bytes count = whole;
  count[count.size() - 8] = std::byte{3};
  EXPECT_EQ(read_all(count).error, "it does not hold as many blobs as it says");
}

TEST(BlobArchive, AWriterThatFailsSaysSo) {
  for (std::uint64_t call = 2; call < 8; ++call) {
    SimulatedFiles files;
    auto file = files.create("archive");
    files.fail_at(call, ENOSPC);
    auto writer = BlobArchiveWriter::begin(*file.value);
    MemorySource blob(std::as_bytes(std::span("blob")));
    const bool ok = writer.ok() && writer->add(blob).ok() && writer->finish().ok();
    EXPECT_EQ(ok, call > 6) << call;  // three appends and a sync follow the making
  }
}

// --- a folder into a file and back --------------------------------------------------------

class TransferTest : public testing::Test {
 protected:
  void SetUp() override {
    store_ = open(files_);
    for (const BlobMaker* maker : {&maker_, &other_}) {
      put(maker->rows({0, 128}, {.companion = true}));
      put(maker->rows({128, 300}));
      put(maker->place(300, {.companion = true, .logits = true}));
    }
    ASSERT_TRUE(store_->describe_space(kSpace, {"a.gguf", "kv=f16", false}).ok());
  }
  static std::unique_ptr<DiskStore> open(SimulatedFiles& files, ByteCount budget = 1 << 20) {
    return std::move(DiskStore::open(files, {.budget = budget}, 1000)).value();
  }
  template <typename AnyBlob>
  void put(const AnyBlob& blob) {
    ASSERT_EQ(*store_->put(blob, 1000), PutAnswer::kStored);
  }
  Bytes exported(std::optional<SpaceKey> space = {}) {
    SimulatedFiles out;
    auto file = out.create("out");
    const auto report = export_blobs(*store_, *file.value, space);
    EXPECT_TRUE(report.ok());
    if (report) last_ = *report;
    return out.bytes("out");
  }
  static ImportReport import(DiskStore& store, const Bytes& file) {
    MemorySource source(file);
    auto report = import_blobs(store, source, 5000);
    EXPECT_TRUE(report.ok()) << report.error().message;
    EXPECT_TRUE(store.check().empty());
    return report ? *report : ImportReport{};
  }
  [[nodiscard]] static TokenPos covered(DiskStore& store, const BlobMaker& maker, SpaceKey space) {
    const StoreMatch match = store.lookup(space, maker.path());
    for (const PlaceHit& hit : match.places) EXPECT_TRUE(store.load(match, hit).ok());
    for (const RowsHit& hit : match.rows) EXPECT_TRUE(store.load(match, hit).ok());
    return match.covered;
  }

  SimulatedFiles files_;
  std::unique_ptr<DiskStore> store_;
  ExportReport last_;
  const BlobMaker maker_{kSpace, counting(400)};
  const BlobMaker other_{kOther, counting(400)};
};

TEST_F(TransferTest, EverythingComesBack) {
  const Bytes file = exported();
  EXPECT_EQ(last_.written, 6U);
  EXPECT_EQ(last_.bytes, file.size());
  SimulatedFiles files;
  auto store = open(files);
  const ImportReport report = import(*store, file);
  EXPECT_EQ(report.stored, 6U);
  EXPECT_EQ(report.announced, 6U);
  EXPECT_TRUE(report.whole());
  EXPECT_EQ(covered(*store, maker_, kSpace), 300);
  EXPECT_EQ(covered(*store, other_, kOther), 300);
  EXPECT_EQ(store->space_notes().at(kSpace).model, "a.gguf");
  EXPECT_EQ(store->space_notes().size(), 1U);
  EXPECT_EQ(import(*store, file).present, 6U);
}

TEST_F(TransferTest, TheBlobsAreInItAsTheyAreInTheirFiles) {
  for (const Bytes& blob : read_all(exported()).blobs) {
    MemorySource source(blob);
    const auto facts = read_facts(source);
    ASSERT_TRUE(facts.ok());
    EXPECT_EQ(blob, files_.bytes(blob_path(facts->key)));
  }
}

TEST_F(TransferTest, OneSpaceAlone) {
  SimulatedFiles files;
  auto store = open(files);
  EXPECT_EQ(import(*store, exported(kOther)).stored, 3U);
  EXPECT_EQ(covered(*store, other_, kOther), 300);
  EXPECT_EQ(covered(*store, maker_, kSpace), 0);
  EXPECT_TRUE(store->space_notes().empty());
}

TEST_F(TransferTest, DamageIsLeftOutOnBothWays) {
  const std::string path = blob_path(outline(maker_.rows({128, 300}))->key);
  Bytes damaged = files_.bytes(path);
  damaged[damaged.size() - 40] ^= std::byte{1};
  files_.overwrite(path, damaged);
  Bytes file = exported();
  EXPECT_EQ(last_.written, 5U);
  EXPECT_EQ(last_.left_out, 1U);
  EXPECT_EQ(last_.why, "a part's checksum is wrong");
  file[file.size() - 20] ^= std::byte{1};  // the last blob's digest
  SimulatedFiles files;
  auto store = open(files);
  const ImportReport report = import(*store, file);
  EXPECT_EQ(report.stored, 4U);
  EXPECT_EQ(report.refused, 1U);
  EXPECT_EQ(report.read, 5U);
  EXPECT_EQ(report.why, "the payload's digest is wrong");
  EXPECT_FALSE(report.whole());
}

TEST_F(TransferTest, ACutFileGivesWhatIsWhole) {
  const Bytes file = exported();
  SimulatedFiles files;
  auto store = open(files);
  const ImportReport report = import(*store, Bytes(file.begin(), file.end() - 100));
  EXPECT_EQ(report.stored, 5U);
  EXPECT_EQ(report.ended, "it is cut off");
  EXPECT_FALSE(report.announced.has_value());
}

TEST_F(TransferTest, TheBudgetHolds) {
  const Bytes file = exported();
  SimulatedFiles files;
  const ByteCount budget = store_->stats().bytes() / 2;
  auto store = open(files, budget);
  const ImportReport report = import(*store, file);
  EXPECT_GT(report.stored, 0U);
  EXPECT_EQ(report.stored + report.declined, 6U);
  EXPECT_LE(store->stats().bytes(), budget);
}

TEST_F(TransferTest, AHostileNoteIsLeft) {
  const std::string hex = hex_of(kSpace);
  const Bytes blob = file_of(maker_.place(64));
  for (const std::string& note :
       {std::string("\xff"), std::string(1 << 20, '['), std::string(2 << 20, ' '),
        "{\"spaces\":{\"" + hex + "\":" + std::string(1 << 19, '[') + std::string(1 << 19, ']') +
            "}}",
        "{\"spaces\":{\"" + hex + "\":{\"model\":[]}}}", std::string("{\"spaces\":[]}")}) {
    SimulatedFiles files;
    auto store = open(files);
    EXPECT_EQ(import(*store, archive_of({blob}, bytes_of(note))).stored, 1U);
    EXPECT_TRUE(store->space_notes().empty());
  }
}

TEST_F(TransferTest, NoArchiveIsAnError) {
  SimulatedFiles files;
  auto store = open(files);
  MemorySource source(std::as_bytes(std::span("this is a text, and no archive of any kind")));
  EXPECT_EQ(import_blobs(*store, source, 1).error().code, ErrorCode::kInvalidArgument);
}

// Each I/O call of the folder fails once: what could be imported is there, and sound.
TEST_F(TransferTest, EachCallFailsOnce) {
  const Bytes file = exported();
  for (std::uint64_t call = 1; call < 80; ++call) {
    SimulatedFiles files(call);
    auto store = open(files);
    files.fail_at(files.calls() + call, EIO);
    MemorySource source(file);
    const auto report = import_blobs(*store, source, 5000);
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(report->stored + report->failed, 6U);
    EXPECT_LE(report->failed, 1U);
    files.fail_never();
    const auto wrong = store->check();
    EXPECT_TRUE(wrong.empty()) << call << " " << wrong.front();
  }
}

}  // namespace
}  // namespace holdfast::tier
