#include "env/log.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>
#include <vector>

namespace holdfast::env {
namespace {

using namespace std::chrono_literals;

// A logger whose output is a string and whose time stands still until turned.
class LogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("TZ", "UTC", 1);
    tzset();
  }

  std::unique_ptr<Logger> make(LogOptions options = {}) {
    options.sink.write = [this](std::string_view text) { out += text; };
    options.sink.terminal = terminal;
    options.sink.colour = colour;
    options.sink.columns = columns;
    options.now = [this] { return time; };
    return std::move(Logger::open(std::move(options))).value();
  }

  std::string out;
  bool terminal = false;
  bool colour = false;
  int columns = 80;
  // 2026-01-05T12:03:04.123Z
  std::chrono::system_clock::time_point time{std::chrono::milliseconds{1767614584123}};
};

TEST_F(LogTest, TextLineShowsTimeLevelMessageAndFields) {
  make()->write(LogLevel::kInfo, "model loaded",
                {{"ms", 812}, {"share", 0.5}, {"warm", true}, {"path", "/a b.gguf"}});
  EXPECT_EQ(out, "12:03:04.123 info  model loaded ms=812 share=0.5 warm=true path=\"/a b.gguf\"\n");
}

mode_t mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

TEST_F(LogTest, TheFileIsItsOwnersAloneWhateverTheUmask) {
  const std::string path = ::testing::TempDir() + "holdfast_log_mode";
  std::filesystem::remove(path);
  const mode_t before = ::umask(0);
  make({.file = path})->write(LogLevel::kInfo, "x");
  ::umask(before);
  EXPECT_EQ(mode_of(path), 0600U);
  std::filesystem::remove(path);
}

TEST_F(LogTest, AReopenedFileIsANewOne) {
  const std::string path = ::testing::TempDir() + "holdfast_log_reopen";
  const auto logger = make({.file = path});
  logger->write(LogLevel::kInfo, "before");
  std::filesystem::rename(path, path + ".1");
  logger->write(LogLevel::kInfo, "between");
  ASSERT_TRUE(logger->reopen().ok());
  logger->write(LogLevel::kInfo, "after");
  const auto lines = [](const std::string& name) {
    std::ifstream file(name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_EQ(lines(path + ".1"), "12:03:04.123 info  before\n12:03:04.123 info  between\n");
  EXPECT_EQ(lines(path), "12:03:04.123 info  after\n");
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  EXPECT_FALSE(logger->reopen().ok());
  logger->write(LogLevel::kInfo, "to the removed one; nothing breaks");
  std::filesystem::remove(path);
  std::filesystem::remove(path + ".1");
}

TEST_F(LogTest, JsonLineIsAnObjectWithTypedFields) {
  make({.format = LogFormat::kJson})
      ->write(LogLevel::kWarn, "slow \"disk\"\n",
              {{"ms", 812U},
               {"rate", 1.5},
               {"path", "x"},
               {"bad", std::numeric_limits<double>::infinity()}});
  const auto line = nlohmann::json::parse(out);
  EXPECT_EQ(line["time"], "2026-01-05T12:03:04.123Z");
  EXPECT_EQ(line["level"], "warn");
  EXPECT_EQ(line["message"], "slow \"disk\"");
  EXPECT_EQ(line["ms"], 812);
  EXPECT_EQ(line["rate"], 1.5);
  EXPECT_EQ(line["path"], "x");
  EXPECT_TRUE(line["bad"].is_null());
}

TEST_F(LogTest, JsonSurvivesBytesThatAreNotUtf8) {
  make({.format = LogFormat::kJson})->write(LogLevel::kInfo, "a\xff", {{"k", "\xc3"}});
  EXPECT_TRUE(nlohmann::json::accept(out));
}

TEST_F(LogTest, LOG1AMessageNeverForgesALineOrDrivesTheTerminal) {
  make()->write(LogLevel::kInfo, "a\n12:00:00.000 error b\x1b[2J\xc2\x9b", {{"k", "x\ny"}});
  EXPECT_EQ(out, "12:03:04.123 info  a\\n12:00:00.000 error b\\x1b[2J\\xc2\\x9b k=\"x\\ny\"\n");
}

TEST_F(LogTest, LOG1NorDoesAFieldOfAJsonLine) {
  make({.format = LogFormat::kJson})
      ->write(LogLevel::kInfo, "a\x1b\xc2\x9b", {{"k", "\xc2\x9b\n"}});
  EXPECT_EQ(out.find("\xc2\x9b"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(out)["k"], "\xc2\x9b\n");
}

TEST_F(LogTest, LevelsBelowTheChosenOneAreSilent) {
  const auto logger = make({.level = LogLevel::kWarn});
  logger->write(LogLevel::kInfo, "no");
  logger->write(LogLevel::kWarn, "yes");
  EXPECT_EQ(out, "12:03:04.123 warn  yes\n");
}

TEST_F(LogTest, ColourTouchesTheLevelOnly) {
  colour = true;
  make()->write(LogLevel::kError, "bad");
  EXPECT_EQ(out, "12:03:04.123 \x1b[31merror\x1b[0m bad\n");
}

TEST_F(LogTest, FileGetsTheSameLinesWithoutColour) {
  const auto path = std::filesystem::temp_directory_path() / "holdfast_log_test.log";
  std::filesystem::remove(path);
  colour = true;
  make({.file = path})->write(LogLevel::kInfo, "one");
  make({.file = path})->write(LogLevel::kInfo, "two");
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), "12:03:04.123 info  one\n12:03:04.123 info  two\n");
  std::filesystem::remove(path);
}

TEST_F(LogTest, AFileThatCannotBeOpenedIsNamed) {
  const auto opened = Logger::open({.file = "/nowhere/at/all.log"});
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("/nowhere/at/all.log"), std::string::npos);
}

TEST_F(LogTest, LOG2LinesOfThreadsDoNotMix) {
  const auto logger = make();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) logger->write(LogLevel::kInfo, "line");
    });
  }
  for (auto& thread : threads) thread.join();
  std::istringstream lines(out);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    ASSERT_EQ(line, "12:03:04.123 info  line");
  }
  EXPECT_EQ(count, 400);
}

TEST_F(LogTest, ProgressInALogIsOneLineAtEachEnd) {
  const auto logger = make();
  {
    ProgressLine progress(*logger, "loading model");
    for (int i = 0; i < 50; ++i) {
      time += 50ms;
      progress.update(i / 50.0);
    }
  }
  EXPECT_EQ(out,
            "12:03:04.123 info  loading model\n"
            "12:03:06.623 info  loading model: done ms=2500\n");
}

TEST_F(LogTest, ProgressOnATerminalIsThrottledAndErased) {
  terminal = true;
  const auto logger = make();
  ProgressLine progress(*logger, "loading model");
  progress.update(0.5);
  time += 99ms;
  progress.update(0.6);
  EXPECT_EQ(out, "\r\x1b[Kloading model [############............] 50%");
  time += 1ms;
  progress.update(-1);
  out.clear();
  progress.finish();
  progress.finish();
  EXPECT_EQ(out, "\r\x1b[K");
}

TEST_F(LogTest, LOG3ALogLineGoesAboveTheBar) {
  terminal = true;
  const auto logger = make();
  ProgressLine progress(*logger, "load");
  time += 3s;
  progress.update(-1);
  out.clear();
  logger->write(LogLevel::kInfo, "hello");
  EXPECT_EQ(out, "\r\x1b[K12:03:07.123 info  hello\nload 3 s");
}

TEST_F(LogTest, TheBarFitsANarrowTerminal) {
  terminal = true;
  columns = 20;
  const auto logger = make();
  ProgressLine progress(*logger, "loading a model with a long name");
  progress.update(1.0);
  EXPECT_LE(out.size(), std::string("\r\x1b[K").size() + 19);
}

}  // namespace
}  // namespace holdfast::env
