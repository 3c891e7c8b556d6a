#include "record/recording_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "tier/testing/temp_folder.h"

namespace holdfast::record {
namespace {

using tier::TempFolder;

std::string content_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

TEST(RecordingFile, WritesInOrderAndIsItsOwnersAlone) {
  const tier::TempFolder folder;
  const std::string path = folder / "made.hfrec";
  auto target = make_recording_file(path);
  ASSERT_TRUE(target.ok());
  std::string expected;
  {
    RecordingFile file(std::move(*target));
    for (int i = 0; i < 500; ++i) {
      const std::string piece = "piece " + std::to_string(i) + "\n";
      expected += piece;
      ASSERT_TRUE(file.write(piece).ok());
    }
    file.finish();
    EXPECT_EQ(file.written(), expected.size());
  }
  EXPECT_EQ(content_of(path), expected);
  struct stat facts {};
  ASSERT_EQ(::stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
}

TEST(RecordingFile, NeverWritesOverAnother) {
  const tier::TempFolder folder;
  const std::string path = folder / "there.hfrec";
  std::ofstream(path) << "mine";
  const auto target = make_recording_file(path);
  ASSERT_FALSE(target.ok());
  EXPECT_NE(target.error().message.find("there already"), std::string::npos);
  EXPECT_EQ(content_of(path), "mine");
  EXPECT_FALSE(make_recording_file(folder / "no/such/folder").ok());
}

// Has room for this many bytes.
class SmallDisk final : public RecordingTarget {
 public:
  SmallDisk(std::size_t room, std::string& held) : room_(room), held_(held) {}
  Result<void> append(std::string_view bytes) override {
    const std::size_t fits = std::min(bytes.size(), room_ - held_.size());
    whole_ = held_.size();
    held_ += bytes.substr(0, fits);
    if (fits == bytes.size()) return {};
    return Error{ErrorCode::kIo, "No space left on device.", ""};
  }
  void take_back() override { held_.resize(whole_); }

 private:
  const std::size_t room_;
  std::string& held_;
  std::size_t whole_ = 0;
};

TEST(RecordingFile, AFullDiskEndsItWithWholePieces) {
  std::string held;
  RecordingFile file(std::make_unique<SmallDisk>(25, held));
  bool refused = false;
  for (int i = 0; i < 1'000'000 && !refused; ++i) refused = !file.write("0123456789").ok();
  EXPECT_TRUE(refused);
  EXPECT_FALSE(file.write("more").ok());
  file.finish();
  EXPECT_EQ(held, "01234567890123456789");
  EXPECT_EQ(file.written(), 20U);
  ASSERT_TRUE(file.failure().has_value());
  EXPECT_NE(file.failure()->message.find("No space left"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::record
