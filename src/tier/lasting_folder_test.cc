#include "tier/lasting_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tier/testing/blob_maker.h"
#include "tier/testing/temp_folder.h"

namespace holdfast::tier {
namespace {

class Lasting : public ::testing::Test {
 protected:
  Lasting() {
    DiskOptions options;
    options.budget = 1 << 20;
    options.stored_depths = known_;
    auto opened = LastingFolder::open(path_, options, 1);
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    folder_ = std::move(*opened);
    folder_->on_renewed = [this] { ++renewed_; };
  }
  [[nodiscard]] bool put(const RowsBlob& blob) {
    const auto answer = folder_->put(blob, folder_->moment(2));
    return answer && *answer == PutAnswer::kStored;
  }
  [[nodiscard]] TokenPos covered() { return folder_->lookup(kSpace, maker_.path()).covered; }

  static constexpr SpaceKey kSpace{1, 2};
  TempFolder temporary_;
  const std::string path_ = temporary_ / "states";
  const BlobMaker maker_{kSpace, counting(300)};
  std::shared_ptr<StoredDepths> known_ = std::make_shared<StoredDepths>();
  std::unique_ptr<LastingFolder> folder_;
  int renewed_ = 0;
};

TEST_F(Lasting, IsMadeAnewWhereItWasDeleted) {
  EXPECT_TRUE(put(maker_.rows({0, 64})));
  EXPECT_TRUE(put(maker_.rows({64, 128})));
  std::filesystem::remove_all(path_);
  EXPECT_TRUE(put(maker_.rows({0, 128})));
  EXPECT_EQ(renewed_, 1);
  EXPECT_EQ(covered(), 128);
  EXPECT_EQ(known_->size(), 1U) << "LASTING-2";
  EXPECT_EQ(folder_->stats().stored, 3U) << "LASTING-1";
  EXPECT_EQ(folder_->stats().rows_blobs, 1U);
  EXPECT_GT(folder_->stats().failed, 0U);
  EXPECT_EQ(folder_->store().check(), std::vector<std::string>{});
}

TEST_F(Lasting, IsLeftWhereItWasMovedTo) {
  EXPECT_TRUE(put(maker_.rows({0, 64})));
  std::filesystem::rename(path_, temporary_ / "elsewhere");
  EXPECT_TRUE(put(maker_.rows({0, 128}))) << "open files go on, wherever they are";
  EXPECT_EQ(renewed_, 0);
}

TEST_F(Lasting, IsMissedWhileItCannotBeMade) {
  EXPECT_TRUE(put(maker_.rows({0, 64})));
  std::filesystem::remove_all(path_);
  std::ofstream(path_) << "something else";
  EXPECT_FALSE(put(maker_.rows({0, 128})));
  folder_->shrink_to(0, 3);  // and nothing breaks
  std::filesystem::remove(path_);
  EXPECT_TRUE(put(maker_.rows({0, 128})));
  EXPECT_EQ(renewed_, 1);
}

}  // namespace
}  // namespace holdfast::tier
