#include "tier/answer_key.h"

#include <gtest/gtest.h>

#include "tier/answer_log.h"
#include "tier/testing/simulated_files.h"

namespace holdfast::tier {
namespace {

std::optional<Secret> kept_in(FileSystem& files) {
  const auto key = read_answer_key(files);
  EXPECT_TRUE(key.ok());
  return key ? *key : std::nullopt;
}

TEST(AnswerKey, IsTheSameForTheNextProcess) {
  SimulatedFiles files;
  EXPECT_EQ(kept_in(files), std::nullopt);
  const Secret key = random_secret();
  EXPECT_NE(key, random_secret());
  ASSERT_TRUE(write_answer_key(files, key).ok());
  EXPECT_EQ(kept_in(files), key);
  files.lose_power_at(files.calls() + 1);
  files.restart();
  EXPECT_EQ(kept_in(files), key) << "nor does a crash lose it";
}

TEST(AnswerKey, OutlivesTheAnswers) {
  SimulatedFiles files;
  const Secret key = random_secret();
  ASSERT_TRUE(write_answer_key(files, key).ok());
  ASSERT_TRUE(AnswerLog::begin(files, {}).ok());
  ASSERT_TRUE(AnswerLog::erase(files).ok());
  EXPECT_EQ(kept_in(files), key);
}

TEST(AnswerKey, ADamagedOneIsNone) {
  SimulatedFiles files;
  ASSERT_TRUE(write_answer_key(files, random_secret()).ok());
  auto bytes = files.bytes("answers/key");
  files.overwrite("answers/key", {bytes.begin(), bytes.end() - 1});
  EXPECT_EQ(kept_in(files), std::nullopt);
  files.overwrite("answers/key", std::vector<std::byte>(32));
  EXPECT_EQ(kept_in(files), std::nullopt);
  const Secret key = random_secret();
  ASSERT_TRUE(write_answer_key(files, key).ok());
  EXPECT_EQ(kept_in(files), key);
}

// It may be sound: replacing it would make every id foreign that clients hold.
TEST(AnswerKey, OneThatCannotBeReadIsNotTakenForNone) {
  SimulatedFiles files;
  const Secret key = random_secret();
  ASSERT_TRUE(write_answer_key(files, key).ok());
  for (unsigned at = 1; at <= 2; ++at) {  // opening, reading
    SCOPED_TRACE("call " + std::to_string(at));
    files.fail_at(files.calls() + at, EIO);
    EXPECT_FALSE(read_answer_key(files).ok());
  }
  EXPECT_EQ(kept_in(files), key);
}

// Power is lost at each call in turn: the old key or the new one is there, and it can be
// written again.
TEST(AnswerKey, ACrashLeavesOneOfTheTwo) {
  const Secret old = random_secret();
  const Secret next = random_secret();
  for (unsigned at = 1; at < 20; ++at) {
    SCOPED_TRACE("call " + std::to_string(at));
    SimulatedFiles files(at);
    ASSERT_TRUE(write_answer_key(files, old).ok());
    files.lose_power_at(files.calls() + at);
    (void)write_answer_key(files, next);
    files.restart();
    const auto read = kept_in(files);
    EXPECT_TRUE(read == old || read == next);
    EXPECT_TRUE(write_answer_key(files, next).ok());
  }
}

}  // namespace
}  // namespace holdfast::tier
