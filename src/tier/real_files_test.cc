#include "tier/real_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "tier/testing/temp_folder.h"

namespace holdfast::tier {
namespace {

using tier::TempFolder;
namespace fs = std::filesystem;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

int put(FileSystem& files, const std::string& path, std::string_view text) {
  const std::span<const std::byte> piece = bytes_of(text);
  return write_file(files, path, Pieces(&piece, 1));
}

unsigned mode_of(const std::string& path) {
  struct stat facts {};
  EXPECT_EQ(::lstat(path.c_str(), &facts), 0) << path;
  return facts.st_mode & 0777U;
}

class RealFilesF : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = RealFiles::open(folder_ / "a/b", RealFiles::Missing::kCreate);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    files_ = std::move(*opened);
  }
  [[nodiscard]] std::string at(const std::string& name) const { return folder_ / ("a/b/" + name); }

  TempFolder folder_;
  std::unique_ptr<RealFiles> files_;
};

TEST_F(RealFilesF, WritesAndReads) {
  ASSERT_EQ(files_->make_folder("x"), 0);
  ASSERT_EQ(put(*files_, "x/1", "hello"), 0);
  EXPECT_EQ(put(*files_, "x/1", "again"), EEXIST);
  EXPECT_EQ(*read_text(*files_, "x/1", 100), "hello");
  EXPECT_EQ(*read_text(*files_, "x/1", 2), "he");
  EXPECT_EQ(files_->rename("x/1", "2"), 0);
  EXPECT_EQ(files_->sync_folder("x"), 0);
  EXPECT_EQ(files_->sync_folder(""), 0);
  EXPECT_EQ(read_text(*files_, "x/1", 9).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(files_->remove("2"), 0);
  EXPECT_EQ(files_->remove("2"), ENOENT);
  EXPECT_EQ(files_->make_folder("x"), EEXIST);
  EXPECT_GT(files_->free_bytes().value, 0U);
}

TEST_F(RealFilesF, WritesMorePiecesThanOneCallTakes) {
  std::string wanted;
  for (int i = 0; i < 5000; ++i) wanted += static_cast<char>('a' + i % 26);
  std::vector<std::span<const std::byte>> pieces;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    pieces.push_back(bytes_of(std::string_view(wanted).substr(i, 1)));
  ASSERT_EQ(write_file(*files_, "many", pieces), 0);
  EXPECT_EQ(*read_text(*files_, "many", 9999), wanted);
}

TEST_F(RealFilesF, ListsWithSizes) {
  ASSERT_EQ(files_->make_folder("x"), 0);
  ASSERT_EQ(put(*files_, "f", "12345"), 0);
  fs::create_symlink("f", at("link"));
  for (int round = 0; round < 2; ++round) {
    auto listed = files_->list("");
    ASSERT_TRUE(listed.ok());
    std::ranges::sort(listed.value, {}, &FolderEntry::name);
    ASSERT_EQ(listed.value.size(), 3U);
    EXPECT_EQ(listed.value[0].bytes, 5U);
    EXPECT_EQ(listed.value[1].kind, FolderEntry::Kind::kOther);
    EXPECT_EQ(listed.value[2].kind, FolderEntry::Kind::kFolder);
  }
  EXPECT_EQ(files_->list("y").error, ENOENT);
}

TEST_F(RealFilesF, REALFS1LinksAreNotFollowed) {
  std::ofstream(folder_ / "outside") << "secret";
  fs::create_directory(folder_ / "elsewhere");
  fs::create_symlink(folder_ / "outside", at("link"));
  fs::create_symlink(folder_ / "elsewhere", at("way"));
  EXPECT_EQ(files_->open("link").error, ELOOP);
  EXPECT_EQ(files_->create("link").error, EEXIST);
  EXPECT_EQ(files_->lock("link").error, ELOOP);
  EXPECT_NE(put(*files_, "way/file", "x"), 0);
  EXPECT_NE(files_->list("way").error, 0);
  EXPECT_NE(files_->make_folder("way/x"), 0);
  EXPECT_NE(files_->sync_folder("way"), 0);
  ASSERT_EQ(put(*files_, "mine", "x"), 0);
  EXPECT_NE(files_->rename("mine", "way/mine"), 0);
  EXPECT_EQ(files_->rename("mine", "link"), 0);  // takes the link's place
  EXPECT_EQ(files_->remove("way"), 0);           // the link itself
  EXPECT_TRUE(fs::is_empty(folder_ / "elsewhere"));
  std::ifstream stream(folder_ / "outside");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), "secret");
}

TEST_F(RealFilesF, REALFS2EverythingIsPrivate) {
  const auto before = ::umask(0);
  ASSERT_EQ(files_->make_folder("x"), 0);
  ASSERT_EQ(put(*files_, "x/f", "1"), 0);
  const auto lock = files_->lock("lock");
  ::umask(before);
  EXPECT_EQ(mode_of(folder_ / "a"), 0700U);
  EXPECT_EQ(mode_of(folder_ / "a/b"), 0700U);
  EXPECT_EQ(mode_of(at("x")), 0700U);
  EXPECT_EQ(mode_of(at("x/f")), 0600U);
  EXPECT_EQ(mode_of(at("lock")), 0600U);
}

TEST_F(RealFilesF, REALFS3OnlyPlainFilesAreOpened) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  EXPECT_EQ(files_->open("pipe").error, EINVAL);
  ASSERT_EQ(files_->make_folder("x"), 0);
  EXPECT_EQ(files_->open("x").error, EINVAL);
}

TEST_F(RealFilesF, OneHoldsTheLock) {
  auto held = files_->lock("lock");
  ASSERT_TRUE(held.ok());
  const auto other = RealFiles::open(folder_ / "a/b", RealFiles::Missing::kFail);
  EXPECT_EQ((*other)->lock("lock").error, EWOULDBLOCK);
  held.value.reset();
  EXPECT_TRUE((*other)->lock("lock").ok());
}

TEST_F(RealFilesF, KnowsThatItsFolderIsGone) {
  EXPECT_TRUE(files_->still_there());
  fs::remove_all(folder_ / "a/b");
  EXPECT_FALSE(files_->still_there());
  EXPECT_EQ(put(*files_, "f", "x"), ENOENT);
  EXPECT_EQ(files_->make_folder("x"), ENOENT);
  fs::create_directory(folder_ / "a/b");
  EXPECT_FALSE(files_->still_there());
}

TEST(RealFiles, TheRootMayBeReachedThroughALink) {
  const TempFolder folder;
  fs::create_directory(folder / "real");
  fs::create_symlink("real", folder / "link");
  const auto files = RealFiles::open(folder / "link", RealFiles::Missing::kFail);
  ASSERT_TRUE(files.ok());
  EXPECT_EQ((*files)->root(), fs::canonical(folder / "real").string());
  EXPECT_EQ(RealFiles::open(folder / "none", RealFiles::Missing::kFail).error().code,
            ErrorCode::kNotFound);
  std::ofstream(folder / "file") << "x";
  EXPECT_FALSE(RealFiles::open(folder / "file/x", RealFiles::Missing::kCreate).ok());
}

}  // namespace
}  // namespace holdfast::tier
