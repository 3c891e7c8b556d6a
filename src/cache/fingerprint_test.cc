#include "cache/fingerprint.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

namespace holdfast::cache {
namespace {

namespace fs = std::filesystem;

Fingerprint facts(std::initializer_list<std::pair<const char*, const char*>> list) {
  Fingerprint fingerprint;
  for (const auto& [name, value] : list) fingerprint.add(name, value);
  return fingerprint;
}

TEST(FingerprintP1, EqualFactsGiveEqualSpaces) {
  EXPECT_EQ(facts({{"a", "1"}, {"b", "2"}}).space("t"), facts({{"a", "1"}, {"b", "2"}}).space("t"));
  EXPECT_EQ(facts({{"a", "1"}}).hex(), facts({{"a", "1"}}).hex());
}

// Disk tiers outlive a process: the numbers must not change with the machine.
TEST(FingerprintP1, TheNumbersAreTheSameEverywhere) {
  EXPECT_EQ(facts({{"model", "abc"}, {"kv", "f16"}}).hex(), "7f5aa9be36157a11a853fe7a4bc111c7");
  EXPECT_EQ(facts({{"model", "abc"}}).space("salt"),
            (SpaceKey{0xf6125833'd93ee032U, 0x965ff79a'27a0b0d5U}));
}

TEST(FingerprintP2, EveryDifferenceCounts) {
  const std::vector<Fingerprint> lists = {
      facts({}),
      facts({{"a", "1"}}),
      facts({{"a", "2"}}),
      facts({{"b", "1"}}),
      facts({{"a", ""}}),
      facts({{"", "a"}}),
      facts({{"", ""}}),
      facts({{"", ""}, {"", ""}}),
      facts({{"a", "1"}, {"b", "2"}}),
      facts({{"b", "2"}, {"a", "1"}}),
      facts({{"a", "1"}, {"a", "1"}}),
      facts({{"a", "2"}, {"b", "1"}}),
  };
  std::set<SpaceKey> spaces;
  std::set<std::string> names;
  for (const Fingerprint& list : lists) {
    spaces.insert(list.space("t"));
    names.insert(list.hex());
  }
  EXPECT_EQ(spaces.size(), lists.size());
  EXPECT_EQ(names.size(), lists.size());
}

TEST(FingerprintP2, JoinedTextsAreNotConfused) {
  const std::vector<Fingerprint> lists = {
      facts({{"ab", "cd"}}),           facts({{"a", "bcd"}}),
      facts({{"abc", "d"}}),           facts({{"abcd", ""}}),
      facts({{"a", "b"}, {"c", "d"}}), facts({{"ab", ""}, {"cd", ""}}),
      facts({{"", "ab"}, {"", "cd"}}),
  };
  std::set<SpaceKey> spaces;
  for (const Fingerprint& list : lists) spaces.insert(list.space(""));
  EXPECT_EQ(spaces.size(), lists.size());
}

TEST(FingerprintP2, TenantsShareNothing) {
  const Fingerprint one = facts({{"a", "1"}});
  EXPECT_NE(one.space("ann"), one.space("bob"));
  EXPECT_NE(one.space(""), one.space("ann"));
  EXPECT_NE(one.space("ann"), one.space(std::string_view("ann\0", 4)));
}

TEST(FingerprintP3, ASaltIsNoFact) {
  const SpaceKey plain = facts({{"a", "1"}, {"b", ""}}).space("");
  for (const char* salt : {"b", "a1", "a=1"}) EXPECT_NE(facts({{"a", "1"}}).space(salt), plain);
}

TEST(Fingerprint, DescribesItselfInOneLine) {
  EXPECT_EQ(facts({{"model", "3f2a"}, {"kv", "f16/f16"}}).describe(), "model=3f2a kv=f16/f16");
  EXPECT_EQ(facts({{"a", "x\ny"}}).describe(), "a=x?y");
  EXPECT_EQ(Fingerprint().describe(), "");
}

// --- files ------------------------------------------------------------------------

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

}  // namespace
}  // namespace holdfast::cache
