#include "cache/answer_keeper.h"

#include <gtest/gtest.h>

#include "tier/testing/simulated_files.h"

namespace holdfast::cache {
namespace {

constexpr Token kVocabulary = 1000;

tier::RememberedAnswer answer(std::uint64_t key, std::size_t ids = 10) {
  return {key, {1, 2}, 3, 4, Tokens(ids, static_cast<Token>(key % kVocabulary))};
}

class HandClock final : public env::Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return now_; }
  [[nodiscard]] std::int64_t unix_ms() const override { return 0; }
  void advance(std::chrono::seconds by) { now_ += by; }

 private:
  TimePoint now_{};
};

class AnswerKeeperTest : public ::testing::Test {
 protected:
  void SetUp() override {
    keeper_.on_trouble = [this](const std::string& what) { told_.push_back(what); };
    keeper_.on_missed = [this] { ++missed_; };
    keeper_.begin();
  }
  // As a server does: remembered first, then kept.
  void say(const tier::RememberedAnswer& said) {
    ASSERT_TRUE(history_.recall(said, kVocabulary));
    keeper_.keep(said);
  }
  [[nodiscard]] std::vector<std::uint64_t> written() {
    std::vector<std::uint64_t> keys;
    tier::AnswerLog::read(files_,
                          [&](const tier::RememberedAnswer& one) { keys.push_back(one.key); });
    return keys;
  }
  [[nodiscard]] ByteCount bytes_written() {
    ByteCount bytes = 0;
    for (const std::string& path : files_.file_paths()) bytes += files_.bytes(path).size();
    return bytes;
  }
  void fill_disk() { files_.set_capacity(bytes_written() + 5); }
  void make_room() { files_.set_capacity(ByteCount{1} << 30); }
  void wait_out() { clock_.advance(AnswerKeeper::kPauseAfterFailure); }

  tier::SimulatedFiles files_;
  HandClock clock_;
  TokenHistory history_;
  AnswerKeeper keeper_{files_, history_, clock_};
  std::vector<std::string> told_;
  int missed_ = 0;
};

using Keys = std::vector<std::uint64_t>;

TEST_F(AnswerKeeperTest, AFullDiskIsToldOnceAndEachAnswerIsCounted) {
  say(answer(1));
  fill_disk();
  for (std::uint64_t key = 2; key <= 4; ++key) {
    say(answer(key));
    wait_out();
  }
  EXPECT_EQ(missed_, 3);
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_NE(told_[0], "");
  EXPECT_EQ(written(), Keys{1});
}

TEST_F(AnswerKeeperTest, WhenThereIsRoomAgainWhatWasMissedIsWrittenToo) {
  say(answer(1));
  fill_disk();
  say(answer(2));
  make_room();
  say(answer(3));
  EXPECT_EQ(written(), Keys{1}) << "not at once: a disk that fails is left alone for a while";
  wait_out();
  say(answer(4));
  say(answer(5));
  EXPECT_EQ(written(), (Keys{1, 2, 3, 4, 5}));
  EXPECT_EQ(missed_, 2);
  ASSERT_EQ(told_.size(), 2U);
  EXPECT_EQ(told_[1], "");
}

TEST_F(AnswerKeeperTest, TheEndTriesOnceMore) {
  fill_disk();
  say(answer(1));
  make_room();
  keeper_.finish();
  EXPECT_EQ(written(), Keys{1});
}

TEST_F(AnswerKeeperTest, AFullLogIsBegunAnewWithoutWhatIsForgotten) {
  constexpr std::size_t kIds = 1 << 20;
  const std::uint64_t count = tier::AnswerLog::kFileBytesMax / (kIds * sizeof(Token)) + 2;
  for (std::uint64_t key = 1; key <= count; ++key) say(answer(key, kIds));
  EXPECT_EQ(written().back(), count);
  EXPECT_EQ(missed_, 0);
  EXPECT_TRUE(told_.empty());
  EXPECT_LT(bytes_written(), tier::AnswerLog::kFileBytesMax);
}

TEST_F(AnswerKeeperTest, ClearedNothingIsLeftAndItGoesOn) {
  say(answer(1));
  history_.clear();
  EXPECT_TRUE(keeper_.clear().ok());
  EXPECT_EQ(written(), Keys{});
  say(answer(2));
  EXPECT_EQ(written(), Keys{2});
}

TEST_F(AnswerKeeperTest, ClearingRemovesWhereNothingCanBeBegun) {
  say(answer(1));
  fill_disk();
  files_.set_capacity(0);
  history_.clear();
  EXPECT_TRUE(keeper_.clear().ok());
  EXPECT_EQ(written(), Keys{});
  EXPECT_EQ(told_.size(), 1U);
}

TEST_F(AnswerKeeperTest, AFolderThatIsMadeAnewGetsAllThatIsRemembered) {
  say(answer(1));
  tier::SimulatedFiles fresh;
  keeper_.begin_in(fresh);
  say(answer(2));
  Keys keys;
  tier::AnswerLog::read(fresh, [&](const tier::RememberedAnswer& one) { keys.push_back(one.key); });
  EXPECT_EQ(keys, (Keys{1, 2}));
}

}  // namespace
}  // namespace holdfast::cache
