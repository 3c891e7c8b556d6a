#include "cli/engine_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace holdfast::cli {
namespace {

namespace fs = std::filesystem;

class EngineWatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(options.reuse.dir);
    std::ofstream(options.reuse.dir + "/FORMAT") << "holdfast cache 1\n";  // a cache folder
  }
  void TearDown() override { fs::remove_all(options.reuse.dir); }

  // An engine with two kinds of batch, one of which has passed.
  EngineWatch watch() {
    CheckedModel checked;
    checked.key = "0123abcd";
    checked.record.passed = {"one"};
    checked.standing.kinds = 2;
    checked.standing.unchecked = 1;
    checked.standing.check = "passed in part";
    return {options, std::move(checked), [this] { ++faults; }};
  }

  static engine::ConformanceReport report(engine::CheckVerdict verdict) {
    engine::ConformanceReport report;
    report.kinds.push_back({.name = "two", .verdict = verdict});
    return report;
  }

  std::optional<CheckRecord> remembered() const {
    return CheckMemory(options.reuse.dir).recall("0123abcd");
  }

  ServeOptions options = [] {
    ServeOptions made;
    made.reuse.dir =
        (fs::temp_directory_path() / ("engine_watch_" + std::to_string(getpid()))).string();
    return made;
  }();
  int faults = 0;
};

TEST_F(EngineWatchTest, WhatPassesIsRemembered) {
  EngineWatch engine = watch();
  EXPECT_EQ(engine.standing().check, "passed in part");
  EXPECT_FALSE(remembered().has_value());
  engine.note(report(engine::CheckVerdict::kPassed));
  EXPECT_EQ(engine.standing().check, "passed");
  ASSERT_TRUE(remembered().has_value());
  EXPECT_EQ(remembered()->passed, (std::set<std::string>{"one", "two"}));
  EXPECT_EQ(faults, 0);
}

TEST_F(EngineWatchTest, AFaultIsRememberedAndReported) {
  EngineWatch engine = watch();
  engine.note(report(engine::CheckVerdict::kFailed));
  EXPECT_EQ(engine.standing().check, "failed");
  ASSERT_TRUE(remembered().has_value());
  EXPECT_EQ(remembered()->failed, std::set<std::string>{"two"});
  EXPECT_EQ(faults, 1);
}

TEST_F(EngineWatchTest, NothingIsRememberedOfAnEngineThatIsNotChecked) {
  options.compute.check_engine = CheckEngine::kOff;
  watch().remember();
  EXPECT_FALSE(remembered().has_value());
}

}  // namespace
}  // namespace holdfast::cli
