#include "tier/quota_files.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "tier/testing/simulated_files.h"

namespace holdfast::tier {
namespace {

int write(FileSystem& files, const std::string& name, std::size_t bytes) {
  const std::vector<std::byte> content(bytes);
  const std::span<const std::byte> piece(content);
  return write_file(files, name, Pieces(&piece, 1));
}

TEST(QuotaFiles, QUOTA1TheFilesTogetherStayWithinIt) {
  const auto real = std::make_shared<SimulatedFiles>();
  const auto files = with_quota(real, 100);
  EXPECT_EQ(write(*files, "a", 60), 0);
  EXPECT_EQ(write(*files, "b", 41), EDQUOT);
  EXPECT_EQ(write(*files, "b", 40), 0);
  EXPECT_EQ(write(*files, "c", 1), EDQUOT);
  EXPECT_EQ(files->remove("a"), 0);
  EXPECT_EQ(write(*files, "c", 60), 0);
}

TEST(QuotaFiles, QUOTA1AFileThatGrowsIsCounted) {
  const auto real = std::make_shared<SimulatedFiles>();
  const auto files = with_quota(real, 100);
  auto file = files->create("a");
  ASSERT_TRUE(file.ok());
  const std::vector<std::byte> content(60);
  const std::span<const std::byte> piece(content);
  EXPECT_EQ(append_all(*file.value, Pieces(&piece, 1)), 0);
  EXPECT_EQ(append_all(*file.value, Pieces(&piece, 1)), EDQUOT);
}

TEST(QuotaFiles, WhatIsThereAlreadyIsCounted) {
  const auto real = std::make_shared<SimulatedFiles>();
  EXPECT_EQ(write(*real, "before", 200), 0);
  EXPECT_EQ(write(*with_quota(real, 100), "a", 1), EDQUOT);
  EXPECT_EQ(write(*with_quota(real, 201), "a", 1), 0);
}

}  // namespace
}  // namespace holdfast::tier
