#include "cli/check_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace holdfast::cli {
namespace {

CheckRecord record() {
  CheckRecord made;
  made.setting = {"zen4", false, true, false};
  made.words = "without drafts";
  made.fault = "1 slot, 2 tokens: \"it\" is off";
  made.passed = {"1 slot, 1 token", "2 slots, 1 token each"};
  made.failed = {"1 slot, 2 tokens"};
  return made;
}

class CheckMemoryTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void make_ours() { std::ofstream(folder_ / "FORMAT") << "holdfast cache 1\n"; }

  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("holdfast-checks-" + std::to_string(::getpid()));
};

TEST_F(CheckMemoryTest, WhatIsRememberedIsRecalled) {
  make_ours();
  const CheckMemory memory(folder_.string());
  EXPECT_EQ(memory.recall("key"), std::nullopt);
  memory.remember("key", record());
  EXPECT_EQ(memory.recall("key"), record());
  EXPECT_EQ(CheckMemory(folder_.string()).recall("key"), record());
  EXPECT_EQ(memory.recall("other"), std::nullopt);
}

TEST_F(CheckMemoryTest, AFolderThatIsNotOursIsLeftAlone) {
  const CheckMemory memory(folder_.string());
  memory.remember("key", record());
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
  for (const char* none : {"", "off"}) {
    CheckMemory(none).remember("key", record());
    EXPECT_EQ(CheckMemory(none).recall("key"), std::nullopt);
  }
}

TEST_F(CheckMemoryTest, AFileThatIsNoRecordIsNoCheck) {
  make_ours();
  const CheckMemory memory(folder_.string());
  memory.remember("key", record());
  const std::string whole = record_text(record());
  for (const std::string& text :
       {std::string(), std::string("null"), std::string("[]"), std::string("{\"format\": 2}"),
        whole.substr(0, whole.size() / 2), std::string(2 << 20, ' ') + whole}) {
    std::ofstream(folder_ / "checks" / "key.json", std::ios::trunc) << text;
    EXPECT_EQ(memory.recall("key"), std::nullopt) << text.substr(0, 40);
  }
}

}  // namespace
}  // namespace holdfast::cli
