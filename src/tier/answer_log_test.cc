#include "tier/answer_log.h"

#include <gtest/gtest.h>

#include <random>

#include "base/hash.h"
#include "tier/testing/simulated_files.h"

namespace holdfast::tier {
namespace {

RememberedAnswer answer(unsigned seed) {
  std::minstd_rand random(seed + 1);
  RememberedAnswer made{random(), {random(), random()}, random() % 100, 1 + random() % 100, {}};
  made.ids.resize(1 + random() % 50);
  for (Token& id : made.ids) id = static_cast<Token>(random() % 1000);
  made.opening_hash = random();
  for (std::byte& one : made.name.bytes) one = static_cast<std::byte>(random());
  return made;
}

std::vector<RememberedAnswer> all_of(SimulatedFiles& files) {
  std::vector<RememberedAnswer> read;
  AnswerLog::read(files, [&](RememberedAnswer one) { read.push_back(std::move(one)); });
  return read;
}

TEST(AnswerLog, WhatWasAppendedIsThereForTheNext) {
  SimulatedFiles files;
  EXPECT_TRUE(all_of(files).empty());
  {
    auto log = AnswerLog::begin(files, {});
    ASSERT_TRUE(log.ok());
    for (unsigned i = 0; i < 3; ++i) EXPECT_TRUE((*log)->append(answer(i)).ok());
  }
  auto read = all_of(files);
  EXPECT_EQ(read, (std::vector{answer(0), answer(1), answer(2)}));
  read.erase(read.begin());
  auto log = AnswerLog::begin(files, read);
  ASSERT_TRUE(log.ok());
  EXPECT_TRUE((*log)->append(answer(7)).ok());
  EXPECT_EQ(all_of(files), (std::vector{answer(1), answer(2), answer(7)}));
  EXPECT_EQ(files.file_paths(), std::vector<std::string>{"answers/00000002.hfa"});
}

// Byte for byte as the first version wrote it.
TEST(AnswerLog, FilesOfTheFirstVersionAreRead) {
  SimulatedFiles files;
  ASSERT_TRUE(AnswerLog::begin(files, {}).ok());
  const RememberedAnswer wanted{7, {8, 9}, 10, 11, {12, 13}};
  const std::uint64_t fixed[] = {7, 8, 9, 10, 11};
  const Token ids[] = {12, 13};
  std::vector<std::byte> body;
  const std::span<const std::byte> parts[] = {std::as_bytes(std::span(fixed)),
                                              std::as_bytes(std::span(ids))};
  for (const auto part : parts) body.insert(body.end(), part.begin(), part.end());
  const std::uint64_t head[] = {body.size(), hash_bytes(body)};
  std::vector<std::byte> file;
  for (const char c : std::string_view("HFANSW1\n")) file.push_back(static_cast<std::byte>(c));
  const auto head_bytes = std::as_bytes(std::span(head));
  file.insert(file.end(), head_bytes.begin(), head_bytes.end());
  file.insert(file.end(), body.begin(), body.end());
  files.overwrite("answers/00000001.hfa", file);
  EXPECT_EQ(all_of(files), std::vector{wanted});
}

TEST(AnswerLog, ErasedNothingIsLeft) {
  SimulatedFiles files;
  EXPECT_EQ(*AnswerLog::erase(files), 0U) << "there is no folder yet";
  const std::vector<RememberedAnswer> some = {answer(0), answer(1)};
  ASSERT_TRUE(AnswerLog::begin(files, some).ok());
  const ByteCount bytes = files.bytes("answers/00000001.hfa").size();
  EXPECT_EQ(*AnswerLog::erase(files), bytes);
  EXPECT_TRUE(files.file_paths().empty());
  files.lose_power_at(files.calls() + 1);
  files.restart();
  EXPECT_TRUE(all_of(files).empty()) << "nor does a crash bring it back";
}

TEST(AnswerLog, ReadingEndsAtTheFirstDamage) {
  SimulatedFiles files;
  auto log = AnswerLog::begin(files, {});
  ASSERT_TRUE(log.ok());
  for (unsigned i = 0; i < 3; ++i) EXPECT_TRUE((*log)->append(answer(i)).ok());
  const auto whole = files.bytes("answers/00000001.hfa");
  for (std::size_t at = 0; at < whole.size(); ++at) {
    auto damaged = whole;
    damaged[at] ^= std::byte{8};
    files.overwrite("answers/00000001.hfa", damaged);
    for (const RememberedAnswer& one : all_of(files)) {
      EXPECT_TRUE(one == answer(0) || one == answer(1) || one == answer(2)) << at;
    }
    files.overwrite("answers/00000001.hfa", {whole.begin(), whole.begin() + at});
    EXPECT_LT(all_of(files).size(), 3U);
  }
}

TEST(AnswerLog, ACrashLosesAtMostTheLatest) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimulatedFiles files(seed);
    const std::vector<RememberedAnswer> first = {answer(0), answer(1)};
    ASSERT_TRUE(AnswerLog::begin(files, first).ok());
    files.lose_power_at(files.calls() + 1 + seed % 12);
    if (auto log = AnswerLog::begin(files, first)) {
      for (unsigned i = 2; i < 5; ++i) static_cast<void>((*log)->append(answer(i)));
    }
    files.restart();
    const auto left = all_of(files);
    ASSERT_GE(left.size(), 2U);
    EXPECT_EQ(left[0], answer(0));
    EXPECT_EQ(left[1], answer(1));
  }
}

TEST(AnswerLog, AnyBytesMayBeRead) {
  std::minstd_rand random(3);
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::byte> bytes(random() % 200);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 5 == 0 ? random() : 0);
    EXPECT_TRUE(decode_answers(bytes).empty());
  }
}

TEST(AnswerLog, AFullDiskEndsTheLogAndNothingElse) {
  SimulatedFiles files;
  auto log = AnswerLog::begin(files, {});
  ASSERT_TRUE(log.ok());
  EXPECT_TRUE((*log)->append(answer(0)).ok());
  files.set_capacity(files.bytes("answers/00000001.hfa").size() + 5);
  EXPECT_FALSE((*log)->append(answer(1)).ok());
  files.set_capacity(1 << 20);
  EXPECT_FALSE((*log)->has_room_for(answer(2)));
  EXPECT_FALSE((*log)->append(answer(2)).ok()) << "it would not be read";
  EXPECT_EQ(all_of(files), std::vector{answer(0)});
}

}  // namespace
}  // namespace holdfast::tier
