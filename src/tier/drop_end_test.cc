// Dropping what one conversation has for itself from a folder.
#include <gtest/gtest.h>

#include "tier/disk_store.h"
#include "tier/testing/blob_maker.h"
#include "tier/testing/simulated_files.h"

namespace holdfast::tier {
namespace {

constexpr SpaceKey kSpace{7, 8};

// The first `common` tokens of the path, and others.
Tokens parting_at(std::size_t common, std::size_t length) {
  Tokens tokens = counting(static_cast<TokenPos>(length));
  for (std::size_t i = common; i < length; ++i) tokens[i] += 1000;
  return tokens;
}

class DropEnd : public testing::Test {
 protected:
  void SetUp() override {
    DiskOptions options;
    options.budget = 1 << 20;
    auto opened = DiskStore::open(files_, options, now_);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    store_ = std::move(*opened);
  }
  template <typename AnyBlob>
  void put(const AnyBlob& blob) {
    const auto answer = store_->put(blob, now_);
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    ASSERT_EQ(*answer, PutAnswer::kStored);
  }
  void drop(TokenPos own, TokenPos keep = 0) {
    store_->drop_end({kSpace, counting(400), own, keep});
    const auto wrong = store_->check();
    EXPECT_TRUE(wrong.empty()) << wrong.front();
  }

  SimulatedFiles files_;
  std::int64_t now_ = 1000;
  std::unique_ptr<DiskStore> store_;
  const BlobMaker maker_{kSpace, counting(400)};
};

TEST_F(DropEnd, NothingOfAPathStaysThatNobodyShares) {
  put(maker_.rows({0, 256}));
  put(maker_.place(290));
  put(maker_.rows({256, 400}));
  const BlobMaker same_tokens({9, 9}, counting(400));
  put(same_tokens.rows({0, 200}));
  drop(300);
  EXPECT_EQ(store_->stats().blobs(), 1U);
  EXPECT_EQ(store_->lookup({9, 9}, counting(400)).covered, 200) << "another's";
}

TEST_F(DropEnd, WhatAnotherPathBeginsWithStays) {
  const BlobMaker other(kSpace, parting_at(128, 400));
  put(maker_.rows({0, 128}));
  put(maker_.place(128));
  put(maker_.rows({128, 400}));
  put(maker_.place(390));
  put(other.rows({128, 400}));
  put(other.place(380));
  drop(384);
  const StoreMatch mine = store_->lookup(kSpace, maker_.path());
  EXPECT_EQ(mine.covered, 128);
  ASSERT_EQ(mine.places.size(), 1U);
  EXPECT_EQ(mine.places[0].position, 128);
  const StoreMatch theirs = store_->lookup(kSpace, other.path());
  EXPECT_EQ(theirs.covered, 400);
  EXPECT_EQ(theirs.places.back().position, 380);
}

// Pre-warmed, or asked again.
TEST_F(DropEnd, AnotherEndOfTheSamePromptGoesToo) {
  const BlobMaker again(kSpace, parting_at(386, 400));
  put(maker_.rows({0, 320}));
  put(maker_.rows({320, 400}));
  put(again.place(390));
  drop(340);
  EXPECT_EQ(store_->stats().blobs(), 0U);
}

TEST_F(DropEnd, WhatMemorySaysIsNeededStays) {
  put(maker_.rows({0, 192}));
  put(maker_.rows({192, 400}));
  put(maker_.place(150));
  put(maker_.place(300));
  drop(300, 192);
  const StoreMatch match = store_->lookup(kSpace, maker_.path());
  EXPECT_EQ(match.covered, 192);
  ASSERT_EQ(match.places.size(), 1U);
  EXPECT_EQ(match.places[0].position, 150);
}

}  // namespace
}  // namespace holdfast::tier
