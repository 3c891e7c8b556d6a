// Keys from a file, their roles, and reading the file again.
#include "api/access.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "api/file_watch.h"

namespace holdfast::api {
namespace {

HttpRequest with_key(const std::string& key) {
  HttpRequest request{.method = "GET", .path = "/v1/models"};
  if (!key.empty()) request.headers.emplace_back("Authorization", "Bearer " + key);
  return request;
}

std::vector<ApiKey> parsed(const std::string& text) { return parse_key_file(text).value(); }

std::string wrong(const std::string& text) {
  const auto keys = parse_key_file(text);
  return keys ? "no error" : keys.error().message;
}

TEST(KeyFile, HasKeysAloneAndKeysWithNamesRolesAndLimits) {
  const auto keys = parsed(
      "# ours\n\n sk-1:2 \r\nalice: sk-a\n"
      "ops: sk-o: admin\nbob: sk-b: user requests=2 queue=4 rate=60\neve: sk-e: rate=1\n");
  ASSERT_EQ(keys.size(), 5U);
  EXPECT_EQ(keys[0].key, "sk-1:2");
  EXPECT_EQ(keys[0].name, "line 3");
  EXPECT_FALSE(keys[0].role);
  EXPECT_EQ(keys[1].name, "alice");
  EXPECT_EQ(keys[1].key, "sk-a");
  EXPECT_EQ(keys[2].role, KeyRole::kAdmin);
  EXPECT_EQ(keys[3].limits, (KeyLimits{.requests = 2, .queue = 4, .rate = 60}));
  EXPECT_EQ(keys[4].limits, (KeyLimits{.rate = 1}));
}

TEST(KeyFile, MistakesNameTheLineAndNeverTheKey) {
  EXPECT_EQ(wrong("# nobody\n"), "it holds no key");
  const std::string role = wrong("a: sk-1: boss\n");
  EXPECT_NE(role.find("line 1: 'boss' is neither a role"), std::string::npos) << role;
  EXPECT_EQ(role.find("sk-1"), std::string::npos);
  EXPECT_NE(wrong("k\na: s: rate=0\n").find("line 2: 'rate=0'"), std::string::npos);
  EXPECT_NE(wrong("a: s: rate=x\n").find("'rate=x'"), std::string::npos);
  EXPECT_NE(wrong("a: s\nb: s\n").find("line 2"), std::string::npos) << "one key, two names";
  EXPECT_NE(wrong("a: s\na: t\n").find("line 2"), std::string::npos) << "one name, two keys";
  EXPECT_NE(wrong(": s\n"), "no error");
}

TEST(ApiKeys, RolesAreThoseOfTheFile) {
  const ApiKeys keys({"given"}, parsed("ops: o: admin\nfigures: f: metrics\nalice: a\n"), "");
  EXPECT_EQ(keys.who(with_key("o"))->role, KeyRole::kAdmin);
  EXPECT_EQ(keys.who(with_key("f"))->role, KeyRole::kMetrics);
  EXPECT_EQ(keys.who(with_key("a"))->role, KeyRole::kUser);
  EXPECT_EQ(keys.who(with_key("given"))->role, KeyRole::kUser);
  EXPECT_EQ(keys.who(with_key("given"))->name, "key 1");
  EXPECT_FALSE(keys.who(with_key("b")) || keys.who(with_key("")));
  EXPECT_NE(keys.who(with_key("a"))->key_name, keys.who(with_key("o"))->key_name);
}

TEST(ApiKeys, TheOnlyKeyIsTheOwners) {
  EXPECT_EQ(ApiKeys({"k"}, {}, "").who(with_key("k"))->role, KeyRole::kAdmin);
  EXPECT_EQ(ApiKeys({}, parsed("a: k: user\n"), "").who(with_key("k"))->role, KeyRole::kUser);
  EXPECT_EQ(ApiKeys({}, {}, "").who(with_key(""))->role, KeyRole::kAdmin) << "no keys at all";
}

class KeyFileTest : public ::testing::Test {
 protected:
  void SetUp() override { write("alice: a\nbob: b\n"); }
  void TearDown() override { std::filesystem::remove(path_); }
  void write(const std::string& text) const { std::ofstream(path_) << text; }

  const std::string path_ =
      std::filesystem::temp_directory_path() / ("holdfast-keys-" + std::to_string(::getpid()));
};

TEST_F(KeyFileTest, KEYS2AFileThatCannotBeUsedChangesNothing) {
  ApiKeys keys({}, parsed("alice: a\nbob: b\n"), path_);
  for (const char* text : {"", "# nobody\n", "alice: a: boss\n"}) {
    write(text);
    EXPECT_FALSE(keys.reload());
    EXPECT_TRUE(keys.who(with_key("a")) && keys.required());
  }
  std::filesystem::remove(path_);
  EXPECT_FALSE(keys.reload());
  EXPECT_TRUE(keys.who(with_key("a")) && !keys.who(with_key("")));
}

TEST_F(KeyFileTest, KEYS3ReloadSaysWhoCameAndWentAndNoKey) {
  ApiKeys keys({"given"}, parsed("alice: sk-a\nbob: sk-b\n"), path_);
  write("alice: sk-new\ncarol: sk-c: admin\n");
  ::testing::internal::CaptureStderr();
  EXPECT_TRUE(keys.reload());
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("came=carol went=bob"), std::string::npos) << log;
  EXPECT_EQ(log.find("sk-"), std::string::npos) << log;
  EXPECT_FALSE(keys.who(with_key("sk-a")) || keys.who(with_key("sk-b")));
  EXPECT_TRUE(keys.who(with_key("sk-new")) && keys.who(with_key("given")));
  EXPECT_EQ(keys.who(with_key("sk-c"))->role, KeyRole::kAdmin);
}

TEST_F(KeyFileTest, AWatchTellsOfEachNewVersionOnce) {
  std::mutex mutex;
  std::condition_variable told;
  int count = 0;
  FileWatch watch(
      path_,
      [&] {
        const std::lock_guard lock(mutex);
        ++count;
        told.notify_all();
      },
      std::chrono::milliseconds(1));
  const auto wait_for = [&](int wanted) {
    std::unique_lock lock(mutex);
    return told.wait_for(lock, std::chrono::seconds(20), [&] { return count == wanted; });
  };
  write("alice: another and longer\n");
  EXPECT_TRUE(wait_for(1));
  std::filesystem::rename(path_, path_ + ".old");
  EXPECT_TRUE(wait_for(2)) << "it is gone, which is news too";
  std::filesystem::rename(path_ + ".old", path_);
  EXPECT_TRUE(wait_for(3));
}

}  // namespace
}  // namespace holdfast::api
