// Both indexes do the same, and that of SQLite survives what happens to its file.
#include "tier/blob_index.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "tier/memory_index.h"
#include "tier/real_files.h"
#include "tier/sqlite_index.h"
#include "tier/testing/blob_maker.h"
#include "tier/testing/temp_folder.h"

namespace holdfast::tier {
namespace {

namespace fs = std::filesystem;

class SqliteIndexTest : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = RealFiles::open(folder_.path().string(), RealFiles::Missing::kFail);
    ASSERT_TRUE(opened.ok());
    files_ = std::move(*opened);
    reopen();
  }
  void reopen() {
    index_.reset();
    auto opened = SqliteIndex::open(*files_, StoreRole::kWriter);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    index_ = std::move(*opened);
  }
  void put(const IndexEntry& entry) { ASSERT_TRUE(index_->put(std::span(&entry, 1)).ok()); }

  TempFolder folder_;
  std::unique_ptr<RealFiles> files_;
  std::unique_ptr<BlobIndex> index_;
};

IndexEntry entry_at(SpaceKey space, const Tokens& path, TokenPos position, std::int64_t used_ms) {
  const MakerOptions options{.companion = position % 2 == 0, .logits = position % 3 == 0};
  const PlaceBlob blob = BlobMaker(space, path).place(position, options);
  return {encode(blob, position)->facts, used_ms};
}

bool same(const BlobSummary& a, const BlobSummary& b) {
  return a.key == b.key && a.kind == b.kind && a.space == b.space && a.range == b.range &&
         a.bytes == b.bytes && a.companion == b.companion && a.logits == b.logits &&
         a.marks == b.marks && a.saves == b.saves && a.created_ms == b.created_ms &&
         a.used_ms == b.used_ms;
}

void expect_same(std::vector<BlobSummary> a, std::vector<BlobSummary> b) {
  std::ranges::sort(a, {}, &BlobSummary::key);
  std::ranges::sort(b, {}, &BlobSummary::key);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(same(a[i], b[i]));
}

void expect_same(std::vector<IndexEntry> a, std::vector<IndexEntry> b) {
  const auto key = [](const IndexEntry& entry) { return entry.facts.key; };
  std::ranges::sort(a, {}, key);
  std::ranges::sort(b, {}, key);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(same(summary_of(a[i]), summary_of(b[i])));
    EXPECT_EQ(a[i].facts.path.tokens, b[i].facts.path.tokens);
    EXPECT_EQ(a[i].facts.path.anchor, b[i].facts.path.anchor);
    EXPECT_EQ(a[i].facts.after, b[i].facts.after);
  }
}

// Those of both are what one would count by hand.
void expect_totals(BlobIndex& index) {
  std::map<SpaceKey, SpaceTotal> counted;
  const auto listed = index.list();
  for (const BlobSummary& blob : *listed) {
    SpaceTotal& total = counted[blob.space];
    total.space = blob.space;
    ++total.blobs;
    total.bytes += blob.bytes;
  }
  const auto totals = index.totals();
  ASSERT_TRUE(totals.ok()) << totals.error().message;
  EXPECT_EQ(totals->size(), counted.size());
  for (const SpaceTotal& total : *totals) EXPECT_EQ(total, counted[total.space]);
}

TEST_F(SqliteIndexTest, DoesWhatTheOneInMemoryDoes) {
  MemoryIndex memory;
  std::mt19937 random(5);
  const Tokens path = random_tokens(300, random);
  const SpaceKey spaces[] = {{1, 2}, {UINT64_MAX, 1ULL << 63}};
  for (int step = 0; step < 400; ++step) {
    const SpaceKey space = spaces[random() % 2];
    const auto position = static_cast<TokenPos>(1 + random() % 300);
    const IndexEntry entry = entry_at(space, path, position, step);
    const std::span<const IndexEntry> one(&entry, 1);
    const std::span<const BlobKey> key(&entry.facts.key, 1);
    switch (random() % 6) {
      case 0: ASSERT_TRUE(index_->erase(key).ok() && memory.erase(key).ok()); break;
      case 1: ASSERT_TRUE(index_->touch(key, step).ok() && memory.touch(key, step).ok()); break;
      case 2:
        if (random() % 10 == 0) reopen();
        break;
      default: ASSERT_TRUE(index_->put(one).ok() && memory.put(one).ok());
    }
    PathNamer names(space);
    names.append(TokenSpan(path).first(static_cast<std::size_t>(position)));
    expect_same(*index_->along(space, names.anchors()), *memory.along(space, names.anchors()));
    if (step % 20 != 0) continue;
    expect_same(*index_->list(), *memory.list());
    expect_totals(*index_);
    expect_totals(memory);
  }
  ASSERT_TRUE(index_->clear().ok());
  EXPECT_TRUE(index_->list()->empty());
}

TEST_F(SqliteIndexTest, ADamagedFileIsReplaced) {
  std::mt19937 random(11);
  const Tokens path = random_tokens(300, random);
  for (int round = 0; round < 60; ++round) {
    std::vector<IndexEntry> entries;
    for (TokenPos p = 1; p <= 60; ++p) entries.push_back(entry_at({1, 1}, path, p * 5, p));
    ASSERT_TRUE(index_->put(entries).ok());
    index_.reset();
    const std::string file = folder_ / SqliteIndex::kFile;
    const auto size = fs::file_size(file);
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    const auto begin = round % 3 == 0 ? 0 : random() % size;
    stream.seekp(static_cast<std::streamoff>(begin));
    for (int i = 0; i < (round % 4 + 1) * 700; ++i) stream.put(static_cast<char>(random()));
    stream.close();
    if (round % 5 == 0) fs::resize_file(file, random() % size);
    reopen();
    if (const auto listed = index_->list(); !listed) {  // noticed on the way: as DiskStore does
      EXPECT_EQ(listed.error().code, ErrorCode::kInvalidArgument) << listed.error().message;
      ASSERT_TRUE(index_->clear().ok());
    }
    PathNamer names({1, 1});
    names.append(path);
    static_cast<void>(index_->along({1, 1}, names.anchors()));
    if (auto put = index_->put(entries); !put) {
      EXPECT_EQ(put.error().code, ErrorCode::kInvalidArgument) << put.error().message;
      ASSERT_TRUE(index_->clear().ok());
      ASSERT_TRUE(index_->put(entries).ok());
    }
  }
}

TEST_F(SqliteIndexTest, AnotherVersionIsReplaced) {
  std::mt19937 random(1);
  put(entry_at({1, 1}, random_tokens(10, random), 5, 1));
  index_.reset();
  const std::string file = folder_ / SqliteIndex::kFile;
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(63);  // user_version, big endian, in the database's header
  stream.put(9);
  stream.close();
  const auto reader = SqliteIndex::open(*files_, StoreRole::kReader);
  EXPECT_FALSE(reader.ok());
  reopen();
  EXPECT_TRUE(index_->list()->empty());
}

TEST_F(SqliteIndexTest, ItsFilesArePrivateAndLinksAreNotFollowed) {
  std::mt19937 random(1);
  put(entry_at({1, 1}, random_tokens(10, random), 5, 1));
  int seen = 0;
  for (const auto& entry : fs::directory_iterator(folder_.path())) {
    struct stat facts {};
    ASSERT_EQ(::lstat(entry.path().c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777U, 0600U) << entry.path();
    ++seen;
  }
  EXPECT_EQ(seen, 3);  // the file, -wal, -shm
  index_.reset();
  const TempFolder elsewhere;
  fs::rename(folder_ / SqliteIndex::kFile, elsewhere / "db");
  fs::create_symlink(elsewhere / "db", folder_ / SqliteIndex::kFile);
  EXPECT_FALSE(SqliteIndex::open(*files_, StoreRole::kReader).ok());
  reopen();  // takes the link's place
  EXPECT_TRUE(index_->list()->empty());
  EXPECT_FALSE(fs::is_symlink(folder_ / SqliteIndex::kFile));
}

TEST_F(SqliteIndexTest, AReaderSeesWhatTheWriterDoes) {
  std::mt19937 random(1);
  const Tokens path = random_tokens(10, random);
  auto reader = SqliteIndex::open(*files_, StoreRole::kReader);
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  EXPECT_TRUE((*reader)->list()->empty());
  put(entry_at({1, 1}, path, 5, 1));
  EXPECT_EQ((*reader)->list()->size(), 1U);
  const IndexEntry other = entry_at({1, 1}, path, 6, 1);
  EXPECT_FALSE((*reader)->put(std::span(&other, 1)).ok());
  const TempFolder empty;
  const auto files = RealFiles::open(empty.path().string(), RealFiles::Missing::kFail);
  EXPECT_FALSE(SqliteIndex::open(**files, StoreRole::kReader).ok());
}

}  // namespace
}  // namespace holdfast::tier
