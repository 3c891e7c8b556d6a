#include "tier/disk_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tier/memory_index.h"
#include "tier/testing/blob_maker.h"
#include "tier/testing/simulated_files.h"

namespace holdfast::tier {
namespace {

constexpr SpaceKey kSpace{7, 8};

class DiskStoreTest : public testing::Test {
 protected:
  void SetUp() override { reopen(); }

  void reopen(ByteCount budget = 1 << 20) {
    store_.reset();
    options_.budget = budget;
    options_.stored_depths = std::make_shared<StoredDepths>();
    auto opened = DiskStore::open(files_, options_, now_);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    store_ = std::move(*opened);
  }
  template <typename AnyBlob>
  PutAnswer put(const AnyBlob& blob) {
    auto answer = store_->put(blob, now_);
    EXPECT_TRUE(answer.ok()) << answer.error().message;
    return answer ? *answer : PutAnswer::kDeclined;
  }
  void expect_sound() {
    const auto wrong = store_->check();
    EXPECT_TRUE(wrong.empty()) << wrong.front();
  }
  [[nodiscard]] std::string only_blob() const {
    for (const std::string& path : files_.file_paths())
      if (path.starts_with("blobs/")) return path;
    return {};
  }
  void flip(const std::string& path, std::size_t at) {
    auto bytes = files_.bytes(path);
    bytes[at % bytes.size()] ^= std::byte{4};
    files_.overwrite(path, bytes);
  }

  SimulatedFiles files_;
  DiskOptions options_;
  std::int64_t now_ = 1000;
  std::unique_ptr<DiskStore> store_;
  const BlobMaker maker_{kSpace, counting(400)};
};

// --- finding and loading ------------------------------------------------------------------

TEST_F(DiskStoreTest, WhatIsPutIsFoundAndLoaded) {
  const RowsBlob rows = maker_.rows({0, 300}, {.companion = true});
  const PlaceBlob place = maker_.place(290, {.companion = true, .logits = true});
  EXPECT_EQ(put(rows), PutAnswer::kStored);
  EXPECT_EQ(put(place), PutAnswer::kStored);
  for (int round = 0; round < 2; ++round) {
    const StoreMatch match = store_->lookup(kSpace, maker_.path());
    ASSERT_EQ(match.rows.size(), 1U);
    ASSERT_EQ(match.places.size(), 1U);
    EXPECT_EQ(match.covered, 300);
    EXPECT_EQ(match.places[0].position, 290);
    EXPECT_TRUE(match.places[0].logits);
    EXPECT_TRUE(match.places[0].marks.has(Hint::kPromptEnd));
    const auto rows_back = store_->load(match, match.rows[0]);
    ASSERT_TRUE(rows_back.ok()) << rows_back.error().message;
    EXPECT_EQ(file_of(*rows_back), file_of(rows));
    const auto place_back = store_->load(match, match.places[0]);
    ASSERT_TRUE(place_back.ok()) << place_back.error().message;
    EXPECT_EQ(file_of(*place_back), file_of(place));
    expect_sound();
    reopen();
  }
  EXPECT_EQ(store_->lookup({7, 9}, maker_.path()).covered, 0);
}

TEST_F(DiskStoreTest, APromptThatPartsFindsTheRowsBefore) {
  put(maker_.rows({0, 128}));
  put(maker_.rows({128, 300}));
  put(maker_.place(128));
  put(maker_.place(250));
  Tokens prompt = maker_.path();
  prompt[200] = -1;
  const StoreMatch match = store_->lookup(kSpace, prompt);
  EXPECT_EQ(match.covered, 200);
  ASSERT_EQ(match.rows.size(), 2U);
  EXPECT_EQ(match.rows[1].range, (TokenRange{128, 200}));
  ASSERT_EQ(match.places.size(), 1U);
  EXPECT_EQ(match.places[0].position, 128);
  EXPECT_TRUE(store_->load(match, match.rows[1]).ok());
  EXPECT_EQ(store_->lookup(kSpace, TokenSpan(prompt).first(100)).covered, 100);
  EXPECT_EQ(store_->lookup(kSpace, {}).covered, 0);
  prompt[0] = -1;
  EXPECT_EQ(store_->lookup(kSpace, prompt).covered, 0);
}

TEST_F(DiskStoreTest, PlacesBeyondAHoleAreFound) {
  put(maker_.rows({0, 100}));
  put(maker_.rows({110, 200}));
  put(maker_.place(200));
  put(maker_.place(64));
  const StoreMatch match = store_->lookup(kSpace, maker_.path());
  EXPECT_EQ(match.covered, 100);
  ASSERT_EQ(match.places.size(), 2U);
  EXPECT_EQ(match.places[1].position, 200);
  put(maker_.rows({90, 120}));
  EXPECT_EQ(store_->lookup(kSpace, maker_.path()).covered, 200);
}

TEST_F(DiskStoreTest, FewBlobsCover) {
  for (const TokenRange range : {TokenRange{0, 64}, {0, 200}, {64, 128}, {128, 300}, {250, 310}})
    put(maker_.rows(range));
  const StoreMatch match = store_->lookup(kSpace, maker_.path());
  EXPECT_EQ(match.covered, 310);
  EXPECT_EQ(match.rows.size(), 3U);
}

// --- putting ------------------------------------------------------------------------------

TEST_F(DiskStoreTest, ASecondPutWritesNothing) {
  put(maker_.place(64));
  const auto calls = files_.calls();
  EXPECT_EQ(put(maker_.place(64)), PutAnswer::kPresent);
  EXPECT_EQ(files_.calls(), calls);
  EXPECT_EQ(store_->stats().place_blobs, 1U);
}

TEST_F(DiskStoreTest, TheRicherBlobTakesThePlace) {
  EXPECT_EQ(put(maker_.place(64)), PutAnswer::kStored);
  EXPECT_EQ(put(maker_.place(64, {.logits = true})), PutAnswer::kStored);
  EXPECT_EQ(put(maker_.place(64)), PutAnswer::kPresent);
  EXPECT_EQ(put(maker_.place(64, {.companion = true})), PutAnswer::kPresent);  // would lose logits
  EXPECT_EQ(put(maker_.place(64, {.companion = true, .logits = true})), PutAnswer::kStored);
  EXPECT_EQ(store_->stats().place_blobs, 1U);
  const StoreMatch match = store_->lookup(kSpace, maker_.path());
  ASSERT_EQ(match.places.size(), 1U);
  EXPECT_TRUE(match.places[0].logits);
  expect_sound();
}

TEST_F(DiskStoreTest, AnInvalidBlobIsAnErrorAndNothingElse) {
  RowsBlob blob = maker_.rows({0, 64});
  blob.rows[0].block = nullptr;
  EXPECT_EQ(store_->put(blob, now_).error().code, ErrorCode::kInvalidArgument);
  blob = maker_.rows({0, 64});
  blob.rows[0].block = std::make_shared<const ExtentBlock>(TokenRange{0, 64}, StateBytes(64), 1);
  EXPECT_FALSE(store_->put(blob, now_).ok());
  EXPECT_EQ(store_->stats().blobs(), 0U);
  expect_sound();
}

// --- the budget ---------------------------------------------------------------------------

TEST_F(DiskStoreTest, STORE1TheLeastValuableMakesRoom) {
  const ByteCount one = outline(maker_.place(100))->bytes;
  reopen(3 * one + one / 2);
  for (const TokenPos position : {100, 101, 102}) {
    now_ += 60'000;
    PlaceBlob blob = maker_.place(position);
    blob.saves = 10;
    put(blob);
  }
  now_ += 60'000;
  const BlobKey oldest = outline(maker_.place(100))->key;
  store_->touch(std::span(&oldest, 1), now_);
  now_ += 60'000;
  PlaceBlob newcomer = maker_.place(103);
  newcomer.saves = 10;
  EXPECT_EQ(put(newcomer), PutAnswer::kStored);
  std::vector<TokenPos> positions;
  for (const PlaceHit& hit : store_->lookup(kSpace, maker_.path()).places)
    positions.push_back(hit.position);
  EXPECT_EQ(positions, (std::vector<TokenPos>{100, 102, 103}));
  newcomer = maker_.place(104);
  newcomer.saves = 1;
  EXPECT_EQ(put(newcomer), PutAnswer::kDeclined);
  EXPECT_EQ(store_->stats().declined, 1U);
  EXPECT_EQ(store_->stats().dropped, 1U);
  expect_sound();
}

TEST_F(DiskStoreTest, APathBeyondTheBudgetKeepsItsFront) {
  const ByteCount one = outline(maker_.rows({0, 64}))->bytes;
  reopen(3 * one);
  std::vector<PutAnswer> answers;
  for (TokenPos at = 0; at < 384; at += 64) answers.push_back(put(maker_.rows({at, at + 64})));
  EXPECT_EQ(std::ranges::count(answers, PutAnswer::kStored), 3);
  EXPECT_EQ(store_->lookup(kSpace, maker_.path()).covered, 192);
  now_ += 1'000'000;
  EXPECT_EQ(store_->shrink_to(2 * one, now_), one);
  EXPECT_EQ(store_->lookup(kSpace, maker_.path()).covered, 128);
  reopen(one);
  EXPECT_EQ(store_->lookup(kSpace, maker_.path()).covered, 64);
  expect_sound();
  reopen(0);
  EXPECT_EQ(store_->stats().blobs(), 0U);
}

TEST_F(DiskStoreTest, ABlobBeyondTheBudgetDropsNothing) {
  reopen(4000);
  put(maker_.place(64));
  now_ += 1'000'000;
  EXPECT_EQ(put(maker_.place(65, {}, 5000)), PutAnswer::kDeclined);
  EXPECT_EQ(store_->stats().blobs(), 1U);
}

TEST_F(DiskStoreTest, WhatIsUsedNowIsNotDroppedForItsOwnBundle) {
  const ByteCount rows = outline(maker_.rows({0, 64}))->bytes;
  reopen(rows + 100);
  put(maker_.rows({0, 64}));
  PlaceBlob place = maker_.place(64);
  place.saves = 1'000'000;
  EXPECT_EQ(put(place), PutAnswer::kDeclined);
  now_ += 1;
  EXPECT_EQ(put(place), PutAnswer::kStored);
}

TEST_F(DiskStoreTest, AClockThatMovedBackIsHarmless) {
  const ByteCount one = outline(maker_.place(100))->bytes;
  now_ = 1'000'000'000;
  reopen(one * 2);
  put(maker_.place(100));
  now_ = 5000;
  put(maker_.place(101));
  reopen(one * 2);  // the new process has only ever seen the earlier time
  now_ += 1000;
  EXPECT_EQ(put(maker_.place(300)), PutAnswer::kStored);
  expect_sound();
}

TEST_F(DiskStoreTest, TheVolumeKeepsSomeRoom) {
  options_.free_min = 5000;
  files_.set_capacity(5400);
  reopen();
  EXPECT_EQ(put(maker_.place(64)), PutAnswer::kDeclined);
  files_.set_capacity(50000);
  EXPECT_EQ(put(maker_.place(64)), PutAnswer::kStored);
}

TEST_F(DiskStoreTest, AFullDiskCostsOnlyThePut) {
  files_.set_capacity(700);
  EXPECT_EQ(put(maker_.place(64)), PutAnswer::kStored);
  files_.fail_at(files_.calls() + 3, ENOSPC);
  files_.set_capacity(100000);
  EXPECT_EQ(store_->put(maker_.place(65), now_).error().code, ErrorCode::kIo);
  expect_sound();
  EXPECT_EQ(put(maker_.place(65)), PutAnswer::kStored);
}

// --- damage -------------------------------------------------------------------------------

TEST_F(DiskStoreTest, DamageIsAMissAndIsKeptWithANote) {
  put(maker_.rows({0, 100}));
  const std::string path = only_blob();
  const StoreMatch match = store_->lookup(kSpace, maker_.path());
  flip(path, 600);
  EXPECT_EQ(store_->load(match, match.rows[0]).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(store_->stats().quarantined, 1U);
  EXPECT_EQ(store_->stats().quarantine_files, 1U);
  EXPECT_EQ(store_->lookup(kSpace, maker_.path()).covered, 0);
  EXPECT_EQ(store_->load(match, match.rows[0]).error().code, ErrorCode::kNotFound);
  bool noted = false;
  for (const std::string& file : files_.file_paths()) {
    EXPECT_FALSE(file.starts_with("blobs/"));
    noted = noted || file.ends_with(".why");
  }
  EXPECT_TRUE(noted);
  expect_sound();
  EXPECT_EQ(put(maker_.rows({0, 100})), PutAnswer::kStored);
  reopen();
  expect_sound();
  EXPECT_EQ(store_->lookup(kSpace, maker_.path()).covered, 100);
  EXPECT_EQ(store_->stats().quarantine_files, 1U);
}

TEST_F(DiskStoreTest, TheQuarantineIsTheFirstToMakeRoom) {
  put(maker_.rows({0, 100}));
  flip(only_blob(), 600);
  const StoreMatch match = store_->lookup(kSpace, maker_.path());
  EXPECT_FALSE(store_->load(match, match.rows[0]).ok());
  reopen(store_->stats().bytes());
  EXPECT_EQ(store_->stats().quarantine_files, 1U);
  EXPECT_EQ(put(maker_.place(64)), PutAnswer::kStored);
  EXPECT_EQ(store_->stats().quarantine_bytes, 0U);
  expect_sound();
}

TEST_F(DiskStoreTest, ABlobUnderAnotherNameIsNotTakenForIt) {
  put(maker_.place(64));
  const std::string path = only_blob();
  const auto other = file_of(maker_.place(65));
  files_.overwrite(path, other);
  const StoreMatch match = store_->lookup(kSpace, maker_.path());
  EXPECT_FALSE(store_->load(match, match.places[0]).ok());
  EXPECT_EQ(store_->stats().quarantined, 1U);
  files_.overwrite(path, other);
  reopen();
  EXPECT_TRUE(store_->lookup(kSpace, maker_.path()).places.empty());
  expect_sound();
}

TEST_F(DiskStoreTest, HostileFilesAtTheStartAreSetAside) {
  const std::string name = outline(maker_.place(64))->key.hex();
  const std::string shard = "blobs/" + name.substr(0, 2) + "/";
  files_.overwrite(shard + name + ".hfb", std::vector<std::byte>(5000));
  files_.overwrite(shard + "readme.txt", std::vector<std::byte>(5));
  files_.overwrite("blobs/zz/" + name + ".hfb", std::vector<std::byte>(5));
  files_.overwrite("blobs/file", {});
  reopen();
  EXPECT_EQ(store_->stats().quarantined, 1U);
  EXPECT_EQ(store_->stats().blobs(), 0U);
  EXPECT_EQ(store_->verify({}).strangers, 3U);
  EXPECT_EQ(put(maker_.place(64)), PutAnswer::kStored);
  expect_sound();
}

// --- the index is a convenience -----------------------------------------------------------

// An index that outlives the store, and may be given any content.
struct SharedIndex final : BlobIndex {
  explicit SharedIndex(MemoryIndex& kept, int* damaged) : kept_(kept), damaged_(damaged) {}
  Result<void> put(std::span<const IndexEntry> e) override { return guard(kept_.put(e)); }
  Result<void> erase(std::span<const BlobKey> k) override { return guard(kept_.erase(k)); }
  Result<void> touch(std::span<const BlobKey> k, std::int64_t n) override {
    return guard(kept_.touch(k, n));
  }
  Result<void> revalue(std::span<const BlobWorth> w, std::int64_t n) override {
    return guard(kept_.revalue(w, n));
  }
  Result<std::vector<IndexEntry>> along(SpaceKey s, std::span<const PathName> a) override {
    return guard(kept_.along(s, a));
  }
  Result<std::vector<BlobSummary>> list() override { return guard(kept_.list()); }
  Result<std::vector<SpaceTotal>> totals() override { return guard(kept_.totals()); }
  Result<void> clear() override {
    if (*damaged_ > 1) return error();
    *damaged_ = 0;
    return kept_.clear();
  }
  [[nodiscard]] static Error error() { return {ErrorCode::kInvalidArgument, "damaged", {}}; }
  template <typename T>
  Result<T> guard(Result<T> answer) {
    if (*damaged_ > 0) return error();
    return answer;
  }
  MemoryIndex& kept_;
  int* damaged_;
};

class DiskStoreIndexTest : public DiskStoreTest {
 protected:
  void SetUp() override {
    options_.make_index = [this](StoreRole) -> Result<std::unique_ptr<BlobIndex>> {
      return std::unique_ptr<BlobIndex>(std::make_unique<SharedIndex>(kept_, &damaged_));
    };
    reopen();
  }
  MemoryIndex kept_;
  int damaged_ = 0;  // 2: cannot even be cleared
};

TEST_F(DiskStoreIndexTest, StaleEntriesAreForgotten) {
  put(maker_.rows({0, 100}));
  put(maker_.place(100));
  const StoreMatch match = store_->lookup(kSpace, maker_.path());
  files_.erase(blob_path(match.places[0].key));
  EXPECT_EQ(store_->load(match, match.places[0]).error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(store_->lookup(kSpace, maker_.path()).places.empty());
  files_.erase(blob_path(match.rows[0].key));
  reopen();
  EXPECT_EQ(store_->lookup(kSpace, maker_.path()).covered, 0);
  EXPECT_TRUE(kept_.list()->empty());
  expect_sound();
}

TEST_F(DiskStoreIndexTest, UnknownBlobsAreAdopted) {
  put(maker_.rows({0, 100}));
  ASSERT_TRUE(kept_.clear().ok());
  EXPECT_EQ(store_->lookup(kSpace, maker_.path()).covered, 0);
  reopen();
  EXPECT_EQ(store_->lookup(kSpace, maker_.path()).covered, 100);
  ASSERT_TRUE(kept_.clear().ok());
  const VerifyReport report = store_->verify({});
  EXPECT_EQ(report.unknown, 1U);
  EXPECT_EQ(store_->lookup(kSpace, maker_.path()).covered, 100);
  expect_sound();
}

TEST_F(DiskStoreIndexTest, ADamagedIndexIsMadeAnewToAddUpSpaces) {
  put(maker_.rows({0, 100}));
  damaged_ = 1;
  ASSERT_EQ(store_->inventory().space_totals().size(), 1U);
  EXPECT_EQ(store_->stats().index_rebuilds, 1U);
  damaged_ = 2;
  EXPECT_LE(store_->inventory().space_totals().size(), 1U);  // another in its place, or none
  expect_sound();
}

TEST_F(DiskStoreIndexTest, WrongTokensInTheIndexGiveNoWrongState) {
  put(maker_.rows({0, 100}));
  IndexEntry entry = (*kept_.along(kSpace, std::vector{root_name(kSpace)}))[0];
  entry.facts.path.tokens[50] = -7;
  ASSERT_TRUE(kept_.put(std::span(&entry, 1)).ok());
  Tokens prompt = maker_.path();
  prompt[50] = -7;
  const StoreMatch match = store_->lookup(kSpace, prompt);
  ASSERT_EQ(match.covered, 100);
  EXPECT_EQ(store_->load(match, match.rows[0]).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(store_->lookup(kSpace, prompt).covered, 50);  // and the entry is mended
  EXPECT_EQ(store_->lookup(kSpace, maker_.path()).covered, 100);
}

TEST_F(DiskStoreIndexTest, ADamagedIndexIsMadeAnew) {
  put(maker_.rows({0, 100}));
  for (const int damage : {1, 2}) {
    damaged_ = damage;
    EXPECT_EQ(store_->lookup(kSpace, maker_.path()).covered, 100);
    damaged_ = damage;
    EXPECT_EQ(put(maker_.place(64 + damage)), PutAnswer::kStored);
    damaged_ = damage;
    EXPECT_EQ(store_->inventory().blobs().size(), 1U + static_cast<std::size_t>(damage));
    damaged_ = damage;
    reopen();
    EXPECT_EQ(store_->lookup(kSpace, maker_.path()).covered, 100);
    expect_sound();
  }
  EXPECT_GE(store_->stats().index_rebuilds, 1U);
}

TEST_F(DiskStoreIndexTest, VerifyFindsWhatALoadDoesNot) {
  put(maker_.rows({0, 100}));
  put(maker_.place(64));
  put(maker_.place(100));
  const std::string path = blob_path(outline(maker_.place(64))->key);
  flip(path, files_.bytes(path).size() - 1);  // the payload's digest itself
  ByteCount seen = 0;
  const auto progress = [&](ByteCount done, ByteCount total) {
    EXPECT_LE(done, total);
    seen = done;
    return true;
  };
  const VerifyReport report = store_->verify(progress, Rebuild::kYes);
  EXPECT_EQ(report.checked, 3U);
  EXPECT_EQ(report.damaged, 1U);
  EXPECT_EQ(seen, report.checked_bytes);
  EXPECT_EQ(store_->lookup(kSpace, maker_.path()).places.size(), 1U);
  expect_sound();
  EXPECT_TRUE(store_->verify([](ByteCount, ByteCount) { return false; }).stopped);
  expect_sound();
}

// --- whose folder -------------------------------------------------------------------------

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

std::string refused(SimulatedFiles& files, StoreRole role = StoreRole::kWriter) {
  const auto before = files.file_paths();
  DiskOptions options;
  options.role = role;
  const auto opened = DiskStore::open(files, options, 0);
  EXPECT_EQ(files.file_paths(), before);
  return opened ? "" : opened.error().message;
}

TEST(DiskStoreFolder, OnlyOursIsTouched) {
  SimulatedFiles foreign;
  foreign.overwrite("notes.txt", {});
  EXPECT_NE(refused(foreign).find("it holds other things and no FORMAT"), std::string::npos);
  foreign.overwrite("FORMAT", bytes_of("something else\n"));
  EXPECT_NE(refused(foreign).find("its FORMAT is another's"), std::string::npos);
  foreign.overwrite("FORMAT", bytes_of("holdfast cache 2\n"));
  EXPECT_NE(refused(foreign).find("another version (\"holdfast cache 2\")"), std::string::npos);
  foreign.overwrite("FORMAT", bytes_of("holdfast cache 1\nand more"));
  EXPECT_NE(refused(foreign), "");
  SimulatedFiles none;
  EXPECT_NE(refused(none, StoreRole::kReader).find("there is no cache"), std::string::npos);
}

TEST(DiskStoreFolder, AnUnfinishedFolderIsFinished) {
  SimulatedFiles files;
  files.overwrite("lock", {});
  files.overwrite("FORMAT.new", bytes_of("holdf"));
  auto opened = DiskStore::open(files, {.budget = 1000}, 0);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(files.bytes("FORMAT"), bytes_of("holdfast cache 1\n"));
  EXPECT_TRUE((*opened)->check().empty());
}

TEST_F(DiskStoreTest, TmpIsEmptiedByTheWriter) {
  files_.overwrite("tmp/half", std::vector<std::byte>(100));
  reopen();
  expect_sound();
}

TEST_F(DiskStoreTest, WhoComesSecondReads) {
  put(maker_.rows({0, 100}));
  auto second = DiskStore::open(files_, options_, now_);
  ASSERT_TRUE(second.ok());
  DiskStore& reader = **second;
  EXPECT_EQ(reader.role(), StoreRole::kReader);
  const StoreMatch match = reader.lookup(kSpace, maker_.path());
  ASSERT_EQ(match.covered, 100);
  EXPECT_TRUE(reader.load(match, match.rows[0]).ok());
  const auto before = files_.file_paths();
  EXPECT_EQ(*reader.put(maker_.place(64), now_), PutAnswer::kDeclined);
  EXPECT_EQ(reader.remove(std::span(&match.rows[0].key, 1)), 0U);
  EXPECT_EQ(reader.shrink_to(0, now_), 0U);
  flip(only_blob(), 600);
  EXPECT_FALSE(reader.load(match, match.rows[0]).ok());
  EXPECT_EQ(reader.lookup(kSpace, maker_.path()).covered, 0);  // not again
  EXPECT_EQ(reader.verify({}).damaged, 1U);
  EXPECT_EQ(files_.file_paths(), before);
  store_.reset();
  reopen();
  EXPECT_EQ(store_->role(), StoreRole::kWriter);
}

TEST_F(DiskStoreTest, AFolderThatIsCleanedUpMeanwhileIsUsedAgain) {
  put(maker_.rows({0, 100}));
  const StoreMatch match = store_->lookup(kSpace, maker_.path());
  for (const std::string& path : files_.file_paths()) files_.erase(path);
  files_.erase("blobs");
  files_.erase("tmp");
  EXPECT_EQ(store_->load(match, match.rows[0]).error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(store_->put(maker_.place(64), now_).ok());
  EXPECT_EQ(put(maker_.place(64)), PutAnswer::kStored);
  expect_sound();
  reopen();
  EXPECT_EQ(store_->lookup(kSpace, maker_.path()).places.size(), 1U);
}

// --- states that are wrong although they are intact ---------------------------------------

TEST_F(DiskStoreTest, WhatIsDistrustedIsNotOfferedAgain) {
  const BlobMaker other({7, 9}, counting(200));
  put(maker_.rows({0, 300}));
  put(maker_.place(290));
  put(other.rows({0, 200}));
  store_->distrust(kSpace, "it came out otherwise");
  expect_sound();
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(store_->lookup(kSpace, maker_.path()).covered, 0);
    EXPECT_TRUE(store_->lookup(kSpace, maker_.path()).places.empty());
    EXPECT_EQ(store_->lookup({7, 9}, other.path()).covered, 200) << "another's is left alone";
    EXPECT_EQ(store_->stats().quarantine_files, 2U);
    reopen();
  }
  EXPECT_EQ(put(maker_.rows({0, 300})), PutAnswer::kStored) << "computed again, it is taken";
}

TEST_F(DiskStoreTest, AFullFolderDistrustsTheSame) {
  put(maker_.rows({0, 300}));
  put(maker_.place(290));
  reopen(store_->stats().bytes());
  store_->distrust(kSpace, "it came out otherwise");
  expect_sound();
  EXPECT_EQ(store_->lookup(kSpace, maker_.path()).covered, 0);
  EXPECT_LE(store_->stats().bytes(), store_->budget());
}

TEST_F(DiskStoreTest, OneSpaceIsDroppedAndOthersStay) {
  const BlobMaker other({7, 9}, counting(200));
  put(maker_.rows({0, 300}));
  put(maker_.place(290));
  put(other.rows({0, 200}));
  EXPECT_FALSE(store_->drop_space(kSpace)) << "nothing of it stays";
  expect_sound();
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(store_->lookup(kSpace, maker_.path()).covered, 0);
    EXPECT_EQ(store_->lookup({7, 9}, other.path()).covered, 200);
    EXPECT_EQ(store_->stats().quarantine_files, 0U);
    reopen();
  }
}

}  // namespace
}  // namespace holdfast::tier
