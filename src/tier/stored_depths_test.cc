#include "tier/stored_depths.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tier/disk_store.h"
#include "tier/testing/blob_maker.h"
#include "tier/testing/simulated_files.h"

namespace holdfast::tier {
namespace {

PathName named(int number) {
  PathName name;
  name.bytes[0] = static_cast<std::byte>(number);
  name.bytes[15] = std::byte{1};
  return name;
}

TEST(StoredDepths, DEPTHS1TheDeepestOfTheseAnchors) {
  StoredDepths ends;
  const std::vector<PathName> path = {named(0), named(1), named(2)};
  EXPECT_EQ(ends.deepest(path), 0);
  ends.add(named(0), 300);
  ends.add(named(1), 128);
  ends.add(named(9), 900);
  EXPECT_EQ(ends.deepest(path), 300);
  EXPECT_EQ(ends.deepest(std::span(path).subspan(1)), 128);
  EXPECT_EQ(ends.deepest({}), 0);
  EXPECT_EQ(ends.size(), 3U);
  ends.remove(named(0), 300);
  EXPECT_EQ(ends.deepest(path), 128);
  EXPECT_TRUE(ends.contains(named(9), 900));
  EXPECT_FALSE(ends.contains(named(0), 300));
  EXPECT_FALSE(ends.contains(named(1), 300));
}

TEST(StoredDepths, DEPTHS2TwiceIsThereUntilItIsRemovedTwice) {
  StoredDepths ends;
  const std::vector<PathName> path = {named(4)};
  ends.add(named(4), 64);
  ends.add(named(4), 64);
  ends.add(named(4), 32);
  ends.remove(named(4), 64);
  EXPECT_EQ(ends.deepest(path), 64);
  ends.remove(named(4), 64);
  EXPECT_EQ(ends.deepest(path), 32);
  ends.remove(named(4), 32);
  EXPECT_EQ(ends.size(), 0U);
}

TEST(StoredDepths, DEPTHS3TheLastAnchorAtWhichSomethingStands) {
  StoredDepths ends;
  const std::vector<PathName> path = {named(0), named(1), named(2), named(3)};
  EXPECT_EQ(ends.agreed(path), 0);
  ends.add(named(0), 300);  // reaches far, and may part from the prompt at its first token
  EXPECT_EQ(ends.agreed(path), 0);
  ends.add(named(2), 130);
  ends.add(named(9), 900);
  EXPECT_EQ(ends.agreed(path), 2 * kBlockTokens);
  EXPECT_EQ(ends.agreed({}), 0);
  ends.remove(named(2), 130);
  EXPECT_EQ(ends.agreed(path), 0);
}

TEST(StoredDepths, OneThreadKeepsItWhileAnotherAsks) {
  StoredDepths ends;
  ends.add(named(1), 10);
  std::jthread keeper([&] {
    for (int i = 0; i < 20'000; ++i) {
      ends.add(named(i % 7), 20);
      ends.remove(named(i % 7), 20);
    }
  });
  const std::vector<PathName> path = {named(1), named(2)};
  for (int i = 0; i < 20'000; ++i) {
    const TokenPos deepest = ends.deepest(path);
    EXPECT_TRUE(deepest == 10 || deepest == 20);
  }
}

// --- as a store keeps it ------------------------------------------------------------------

constexpr SpaceKey kSpace{3, 4};

class StoredDepthsOfAStore : public testing::Test {
 protected:
  void SetUp() override { reopen(); }

  void reopen(ByteCount budget = 1 << 20) {
    store_.reset();
    EXPECT_EQ(ends_->size(), 0U);  // it took its own away
    DiskOptions options;
    options.budget = budget;
    options.stored_depths = ends_;
    store_ = std::move(DiskStore::open(files_, options, now_)).value();
    expect_sound();
  }
  void expect_sound() {
    const auto wrong = store_->check();
    EXPECT_TRUE(wrong.empty()) << wrong.front();
  }
  [[nodiscard]] TokenPos deepest(TokenSpan prompt) const {
    PathNamer names(kSpace);
    names.append(prompt);
    return ends_->deepest(names.anchors());
  }
  [[nodiscard]] TokenPos deepest() const { return deepest(maker_.path()); }
  void damage(const BlobKey& key, std::size_t at) {
    auto bytes = files_.bytes(blob_path(key));
    bytes.at(at) ^= std::byte{4};
    files_.overwrite(blob_path(key), bytes);
  }

  SimulatedFiles files_;
  std::int64_t now_ = 1000;
  std::shared_ptr<StoredDepths> ends_ = std::make_shared<StoredDepths>();
  std::unique_ptr<DiskStore> store_;
  const BlobMaker maker_{kSpace, [] {
                           Tokens tokens(400);
                           for (std::size_t i = 0; i < 400; ++i) tokens[i] = static_cast<Token>(i);
                           return tokens;
                         }()};
};

TEST_F(StoredDepthsOfAStore, FollowsWhatIsPutAndRemoved) {
  EXPECT_EQ(deepest(), 0);
  ASSERT_TRUE(store_->put(maker_.rows({0, 200}), now_).ok());
  EXPECT_EQ(deepest(), 200);
  ASSERT_TRUE(store_->put(maker_.place(290), now_).ok());
  EXPECT_EQ(deepest(), 290);
  EXPECT_EQ(deepest(TokenSpan(maker_.path()).first(256)), 290);  // a hope: names of 256 tokens
  EXPECT_EQ(deepest(TokenSpan(maker_.path()).first(255)), 200);
  ASSERT_TRUE(store_->put(maker_.place(290, {.logits = true}), now_).ok());  // takes the place
  EXPECT_EQ(ends_->size(), 2U);
  const BlobKey place = outline(maker_.place(290))->key;
  EXPECT_GT(store_->remove(std::span(&place, 1)), 0U);
  EXPECT_EQ(deepest(), 200);
  Tokens other = maker_.path();
  other[3] = -1;
  EXPECT_EQ(deepest(other), 200);  // parts before 64: the name of nothing is the same
  expect_sound();
}

TEST_F(StoredDepthsOfAStore, IsThereFromTheStart) {
  ASSERT_TRUE(store_->put(maker_.place(290), now_).ok());
  reopen();
  EXPECT_EQ(deepest(), 290);
  store_.reset();
  EXPECT_EQ(deepest(), 0);
}

TEST_F(StoredDepthsOfAStore, WhatIsDroppedForRoomIsNotKnown) {
  const ByteCount one = outline(maker_.rows({0, 64}))->bytes;
  for (const TokenPos at : {0, 64, 128})
    ASSERT_TRUE(store_->put(maker_.rows({at, at + 64}), now_).ok());
  EXPECT_EQ(deepest(), 192);
  store_->shrink_to(2 * one, now_ + 1);
  EXPECT_EQ(deepest(), 128);
  expect_sound();
  reopen(one);
  EXPECT_EQ(deepest(), 64);
}

TEST_F(StoredDepthsOfAStore, DamageIsNotKnown) {
  ASSERT_TRUE(store_->put(maker_.rows({0, 64}), now_).ok());
  ASSERT_TRUE(store_->put(maker_.place(290), now_).ok());
  ASSERT_TRUE(store_->put(maker_.place(350), now_).ok());
  damage(outline(maker_.place(350))->key, 340);  // in its payload
  EXPECT_EQ(store_->verify({}).damaged, 1U);
  EXPECT_EQ(deepest(), 290);
  const StoreMatch match = store_->lookup(kSpace, maker_.path());
  damage(match.places[0].key, 100);
  EXPECT_FALSE(store_->load(match, match.places[0]).ok());
  EXPECT_EQ(deepest(), 64);
  expect_sound();
}

TEST_F(StoredDepthsOfAStore, SurvivesALostIndex) {
  ASSERT_TRUE(store_->put(maker_.rows({0, 64}), now_).ok());
  ASSERT_TRUE(store_->put(maker_.place(290), now_).ok());
  store_->verify({}, Rebuild::kYes);
  EXPECT_EQ(ends_->size(), 2U);
  EXPECT_EQ(deepest(), 290);
  expect_sound();
  damage(outline(maker_.rows({0, 64}))->key, 100);  // its header: set aside when it is adopted
  reopen();                                         // the index in memory was lost
  EXPECT_EQ(ends_->size(), 1U);
}

TEST_F(StoredDepthsOfAStore, AFileThatCannotBeReadHasNoEnd) {
  ASSERT_TRUE(store_->put(maker_.place(290), now_).ok());
  store_.reset();
  bool seen = false;
  for (std::size_t call = 1; call < 60 && !seen; ++call) {
    files_.fail_at(files_.calls() + call, EIO);
    DiskOptions options{.budget = 1 << 20, .stored_depths = ends_};
    auto opened = DiskStore::open(files_, options, now_);
    if (!opened || (*opened)->stats().blobs() == 0) continue;
    seen = ends_->size() == 0;  // held, and nobody knows where it stands
    const auto report = (*opened)->verify({});
    EXPECT_EQ(report.checked, 1U);
    EXPECT_EQ(deepest(), 290);
    EXPECT_TRUE((*opened)->check().empty());
  }
  EXPECT_TRUE(seen);
  EXPECT_EQ(ends_->size(), 0U);
}

TEST_F(StoredDepthsOfAStore, AReaderLeavesItAlone) {
  ASSERT_TRUE(store_->put(maker_.place(290), now_).ok());
  const auto reader = DiskStore::open(files_, {.budget = 1 << 20, .stored_depths = ends_}, now_);
  ASSERT_TRUE(reader.ok());
  ASSERT_EQ((*reader)->role(), StoreRole::kReader);
  EXPECT_EQ(ends_->size(), 1U);
}

}  // namespace
}  // namespace holdfast::tier
