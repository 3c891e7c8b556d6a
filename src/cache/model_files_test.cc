#include "cache/model_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>

namespace holdfast::cache {
namespace {

namespace fs = std::filesystem;

class ModelDigest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "holdfast_digest_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }
  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  void overwrite(const std::string& name, std::uint64_t offset, const std::string& content) const {
    std::fstream file(path(name), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(offset));
    file << content;
    ASSERT_TRUE(file.good());
  }
  [[nodiscard]] std::string digest(const std::string& name) const {
    const auto result = model_digest(path(name));
    EXPECT_TRUE(result.ok()) << result.error().message;
    return result.ok() ? *result : std::string();
  }
  [[nodiscard]] Error refusal(const std::string& name) const {
    const auto result = model_digest(path(name));
    EXPECT_FALSE(result.ok()) << name;
    return result.ok() ? Error{} : result.error();
  }

  fs::path folder_;
};

TEST_F(ModelDigest, IsOfTheBytesAndNotOfTheName) {
  write("a.gguf", "weights");
  write("b.gguf", "weights");
  EXPECT_EQ(digest("a.gguf"), digest("b.gguf"));
  EXPECT_EQ(digest("a.gguf").size(), 32U);
  EXPECT_EQ(digest("a.gguf").find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST_F(ModelDigest, EveryByteOfASmallFileCounts) {
  const std::string original(100, 'x');
  std::set<std::string> seen;
  for (std::size_t i = 0; i < original.size(); ++i) {
    std::string changed = original;
    changed[i] = 'y';
    write("m.gguf", changed);
    seen.insert(digest("m.gguf"));
  }
  for (const std::size_t size : {0, 1, 99, 100, 101}) {
    write("m.gguf", std::string(size, 'x'));
    seen.insert(digest("m.gguf"));
  }
  EXPECT_EQ(seen.size(), original.size() + 5);
}

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// Sparse: zeros that take no place on the disk.
class BigModelDigest : public ModelDigest {
 protected:
  static constexpr std::uint64_t kSize = 80 * kMiB + 12345;
  static constexpr std::uint64_t kStretch = kSize / 4096;

  void SetUp() override {
    ModelDigest::SetUp();
    write("big.gguf", "");
    fs::resize_file(path("big.gguf"), kSize);
  }
  // Whether the digest is another one while `content` stands at `offset`.
  [[nodiscard]] bool notices(std::uint64_t offset, const std::string& content) const {
    overwrite("big.gguf", offset, content);
    const bool other = digest("big.gguf") != zeros();
    overwrite("big.gguf", offset, std::string(content.size(), '\0'));
    return other;
  }
  [[nodiscard]] std::string zeros() const {
    if (zeros_.empty()) zeros_ = digest("big.gguf");
    return zeros_;
  }

 private:
  mutable std::string zeros_;
};

TEST_F(BigModelDigest, EveryByteOfItsEndsCounts) {
  ASSERT_FALSE(zeros().empty());
  for (const std::uint64_t offset :
       {std::uint64_t{0}, 7 * kMiB, 16 * kMiB - 1, kSize - kMiB, kSize - 1}) {
    EXPECT_TRUE(notices(offset, "!")) << offset;
  }
}

TEST_F(BigModelDigest, AChangedStretchIsNoticedWhereverItLies) {
  ASSERT_FALSE(zeros().empty());
  std::mt19937_64 random(5);
  for (int i = 0; i < 25; ++i) {
    const std::uint64_t offset = random() % (kSize - kStretch);
    EXPECT_TRUE(notices(offset, std::string(kStretch + 1, '!'))) << offset;
  }
}

TEST_F(BigModelDigest, APageBetweenTheSampledOnesMayBeMissed) {
  ASSERT_FALSE(zeros().empty());
  int missed = 0;
  for (std::uint64_t page = 0; page < 8; ++page) {
    if (!notices(40 * kMiB + page * 4096, "!")) ++missed;
  }
  EXPECT_GT(missed, 0) << "the header says so: whoever reads all of it should say that instead";
  EXPECT_LT(missed, 8);
}

TEST_F(BigModelDigest, ItsSizeCounts) {
  ASSERT_FALSE(zeros().empty());
  fs::resize_file(path("big.gguf"), kSize + 1);
  EXPECT_NE(digest("big.gguf"), zeros());
}

TEST_F(ModelDigest, EveryPartOfASplitModelCounts) {
  const std::vector<std::string> parts = {"m-00001-of-00003.gguf", "m-00002-of-00003.gguf",
                                          "m-00003-of-00003.gguf"};
  for (const std::string& part : parts) write(part, "weights");
  const std::string original = digest(parts[0]);
  EXPECT_EQ(digest(parts[2]), original) << "whichever part is named";
  for (const std::string& part : parts) {
    write(part, "Weights");
    EXPECT_NE(digest(parts[0]), original) << part;
    write(part, "weights");
  }
  EXPECT_EQ(digest(parts[0]), original);
  write("whole.gguf", "weightsweightsweights");
  EXPECT_NE(digest("whole.gguf"), original);
}

TEST_F(ModelDigest, AMissingPartIsNamed) {
  write("m-00001-of-00002.gguf", "weights");
  const Error error = refusal("m-00001-of-00002.gguf");
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_NE(error.message.find("m-00002-of-00002.gguf"), std::string::npos) << error.message;
}

TEST_F(ModelDigest, ANameThatOnlyLooksLikeAPartIsAFile) {
  write("whole.gguf", "weights");
  for (const char* name : {"m-00003-of-00002.gguf", "m-00000-of-00000.gguf", "m-1-of-2.gguf",
                           "m-0000x-of-00002.gguf", "-00001-of-00001.gguf"}) {
    write(name, "weights");
    EXPECT_EQ(digest(name), digest("whole.gguf")) << name;
  }
}

TEST_F(ModelDigest, AMissingFileIsNamed) {
  const Error error = refusal("none.gguf");
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_NE(error.message.find(path("none.gguf")), std::string::npos) << error.message;
}

TEST_F(ModelDigest, WhatIsNoFileIsRefused) {
  fs::create_directory(path("folder"));
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  for (const char* name : {"folder", "pipe"}) {
    const Error error = refusal(name);
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
    EXPECT_NE(error.message.find(path(name)), std::string::npos) << error.message;
  }
}

TEST_F(ModelDigest, ALinkIsWhatItLeadsTo) {
  write("m.gguf", "weights");
  fs::create_symlink(path("m.gguf"), path("link.gguf"));
  EXPECT_EQ(digest("link.gguf"), digest("m.gguf"));
}

// --- held open while a model is loaded ----------------------------------------------

class ModelFilesTest : public ModelDigest {
 protected:
  [[nodiscard]] ModelFiles opened(const std::string& name,
                                  FileNaming naming = FileNaming::kByDescriptor) const {
    auto files = ModelFiles::open(path(name), naming);
    EXPECT_TRUE(files.ok()) << files.error().message;
    return std::move(files).value();
  }
  // What the engine would read.
  [[nodiscard]] static std::string loaded(const ModelFiles& files) {
    std::string content;
    for (const std::string& name : files.engine_names()) {
      std::ifstream file(name, std::ios::binary);
      content.append(std::istreambuf_iterator<char>(file), {});
    }
    return content;
  }
  void replace(const std::string& name, const std::string& content) const {
    write("new", content);
    fs::rename(path("new"), path(name));
  }
  [[nodiscard]] struct stat status(const std::string& name) const {
    struct stat found {};
    EXPECT_EQ(::stat(path(name).c_str(), &found), 0);
    return found;
  }
  static bool same_change(const struct stat& a, const struct stat& b) {
    return a.st_ctim.tv_sec == b.st_ctim.tv_sec && a.st_ctim.tv_nsec == b.st_ctim.tv_nsec;
  }
  // As a writer leaves it that takes care of the times.
  void set_written(const std::string& name, fs::file_time_type when) const {
    fs::last_write_time(path(name), when);
  }
};

TEST_F(ModelFilesTest, MODELFILE1WhatIsDigestedIsWhatIsLoadedIfItIsReplaced) {
  write("m.gguf", "weights A");
  const std::string digest_a = digest("m.gguf");
  const ModelFiles files = opened("m.gguf");
  replace("m.gguf", "weights B");
  EXPECT_EQ(*files.digest(), digest_a);
  EXPECT_EQ(loaded(files), "weights A");
  EXPECT_TRUE(files.check_unchanged().ok());
}

TEST_F(ModelFilesTest, MODELFILE1WhatIsDigestedIsWhatIsLoadedIfItIsRemoved) {
  write("m.gguf", "weights A");
  const std::string digest_a = digest("m.gguf");
  const ModelFiles files = opened("m.gguf");
  fs::remove(path("m.gguf"));
  EXPECT_EQ(*files.digest(), digest_a);
  EXPECT_EQ(loaded(files), "weights A");
  EXPECT_TRUE(files.check_unchanged().ok());
}

TEST_F(ModelFilesTest, MODELFILE1EveryPartOfASplitModelIsHeld) {
  write("m-00001-of-00002.gguf", "one ");
  write("m-00002-of-00002.gguf", "two");
  const std::string whole = digest("m-00001-of-00002.gguf");
  const ModelFiles files = opened("m-00001-of-00002.gguf");
  replace("m-00002-of-00002.gguf", "another");
  EXPECT_EQ(*files.digest(), whole);
  EXPECT_EQ(loaded(files), "one two");
}

TEST_F(ModelFilesTest, MODELFILE2APathThatLeadsElsewhereIsNoticed) {
  write("m.gguf", "weights A");
  const ModelFiles replaced = opened("m.gguf", FileNaming::kByPath);
  EXPECT_TRUE(replaced.check_unchanged().ok());
  replace("m.gguf", "weights A");
  ASSERT_FALSE(replaced.check_unchanged().ok()) << "another file, though its bytes are the same";
  EXPECT_NE(replaced.check_unchanged().error().message.find("was replaced"), std::string::npos);
  const ModelFiles removed = opened("m.gguf", FileNaming::kByPath);
  fs::remove(path("m.gguf"));
  EXPECT_FALSE(removed.check_unchanged().ok());
}

TEST_F(ModelFilesTest, MODELFILE2AnExchangeThatWasTakenBackIsNoticed) {
  write("m.gguf", "weights A");
  const ModelFiles files = opened("m.gguf", FileNaming::kByPath);
  fs::rename(path("m.gguf"), path("aside"));
  write("m.gguf", "weights B");
  fs::rename(path("aside"), path("m.gguf"));
  EXPECT_FALSE(files.check_unchanged().ok());
}

TEST_F(ModelFilesTest, MODELFILE3AFileThatIsWrittenToIsNoticed) {
  write("m.gguf", "weights A");
  const ModelFiles files = opened("m.gguf");
  ASSERT_TRUE(files.digest().ok());
  overwrite("m.gguf", 8, "B");
  set_written("m.gguf", fs::file_time_type::clock::now() + std::chrono::seconds(5));
  ASSERT_FALSE(files.check_unchanged().ok());
  EXPECT_NE(files.check_unchanged().error().message.find("was changed"), std::string::npos);
}

TEST_F(ModelFilesTest, MODELFILE3AWriterThatTurnsTheClockBackIsNoticed) {
  write("m.gguf", "weights A");
  const auto before = fs::last_write_time(path("m.gguf"));
  const ModelFiles files = opened("m.gguf");
  ASSERT_TRUE(files.digest().ok());
  overwrite("m.gguf", 8, "B");
  // The kernel's clock of files moves in steps; until it has, nothing could be noticed.
  for (struct stat first = status("m.gguf"); same_change(first, status("m.gguf"));)
    set_written("m.gguf", before);
  EXPECT_FALSE(files.check_unchanged().ok());
}

TEST_F(ModelFilesTest, MODELFILE3AnotherModeOrNameIsNoChange) {
  write("m.gguf", "weights A");
  const ModelFiles files = opened("m.gguf");
  ASSERT_TRUE(files.digest().ok());
  fs::permissions(path("m.gguf"), fs::perms::owner_read);
  fs::create_hard_link(path("m.gguf"), path("link.gguf"));
  fs::rename(path("m.gguf"), path("renamed.gguf"));
  EXPECT_TRUE(files.check_unchanged().ok());
}

}  // namespace
}  // namespace holdfast::cache
