#include "cli/server_disk.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <future>

#include "tier/testing/temp_folder.h"

namespace holdfast::cli {
namespace {

using tier::TempFolder;

constexpr Token kVocabulary = 1000;

class ServerDiskTest : public ::testing::Test {
 protected:
  void open() {
    ServeOptions options;
    options.reuse.dir = folder_.path() / "states";
    options.reuse.disk_mib = 64;
    disk_ = ServerDisk::open(options, false, clock_);
    ASSERT_NE(disk_, nullptr);
  }
  // The next life of the server, which remembers or does not.
  void begin_remembering() {
    open();
    history_.clear();
    disk_->remember_answers(history_, kVocabulary);
    disk_->tier().start();
  }
  void say(const tier::RememberedAnswer& said) {
    ASSERT_TRUE(history_.recall(said, kVocabulary));
    history_.on_remembered(said);
  }
  void wait() {
    std::promise<void> done;
    disk_->tier().ask([&] { done.set_value(); });
    done.get_future().wait();
  }
  void end() {
    disk_->finish([] { return false; });
    disk_.reset();
  }
  [[nodiscard]] std::uintmax_t bytes_of_answers() const {
    std::uintmax_t bytes = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder_.path() / "states/answers"))
      bytes += file.file_size();
    return bytes;
  }

  const tier::RememberedAnswer said_{1, {2, 3}, 4, 5, {6, 7, 8}};
  tier::TempFolder folder_;
  env::SteadyClock clock_;
  cache::TokenHistory history_;
  std::unique_ptr<ServerDisk> disk_;
};

TEST_F(ServerDiskTest, AnswersAreThereForTheNextLife) {
  begin_remembering();
  say(said_);
  end();
  begin_remembering();
  EXPECT_EQ(history_.answers(), std::vector{said_});
  end();
}

TEST_F(ServerDiskTest, ClearingLeavesNoAnswerInTheFolder) {
  begin_remembering();
  const auto empty = bytes_of_answers();
  say(said_);
  history_.clear();  // the scheduler's part
  disk_->tier().clear(std::nullopt);
  wait();
  EXPECT_EQ(bytes_of_answers(), empty);
  EXPECT_EQ(disk_->tier().status().left_by_clear, "");
  end();
  begin_remembering();
  EXPECT_EQ(history_.usage(), cache::HistoryUsage{});
  end();
}

TEST_F(ServerDiskTest, AServerWithoutHistoryClearsTheAnswersOfAnEarlierLife) {
  begin_remembering();
  say(said_);
  end();
  open();
  disk_->tier().start();
  disk_->tier().clear(std::nullopt);
  wait();
  EXPECT_EQ(bytes_of_answers(), 0U);
  end();
}

TEST_F(ServerDiskTest, AReaderSaysThatTheFolderStaysAsItIs) {
  begin_remembering();
  say(said_);
  wait();
  const auto before = bytes_of_answers();
  const auto writer = std::move(disk_);
  open();
  disk_->tier().start();
  disk_->tier().clear(std::nullopt);
  wait();
  EXPECT_NE(disk_->tier().status().left_by_clear, "");
  EXPECT_EQ(bytes_of_answers(), before);
  writer->finish([] { return false; });
}

}  // namespace
}  // namespace holdfast::cli
