#include "tier/response_files.h"

#include <gtest/gtest.h>

#include <random>

#include "tier/testing/simulated_files.h"

namespace holdfast::tier {
namespace {

StoredResponse response(unsigned seed) {
  const std::string n = std::to_string(seed);
  StoredResponse made{"resp_" + n, "tenant", "[\"" + std::string(seed * 37, 'x') + "\"]",
                      "{\"id\":\"resp_" + n + "\"}"};
  for (unsigned i = 0; i < seed % 3; ++i) made.output.push_back({"msg_" + n, "{}"});
  return made;
}

struct Found {
  std::vector<std::uint64_t> numbers;
  std::vector<StoredResponse> responses;
  ResponseFiles::Survey survey;
};

Found all_of(SimulatedFiles& files) {
  Found found;
  found.survey = ResponseFiles(files).read([&](std::uint64_t number, StoredResponse one) {
    found.numbers.push_back(number);
    found.responses.push_back(std::move(one));
  });
  return found;
}

TEST(ResponseFiles, WhatWasWrittenIsThereForTheNext) {
  SimulatedFiles files;
  EXPECT_TRUE(all_of(files).responses.empty()) << "there is no folder yet";
  const ResponseFiles folder(files);
  for (const unsigned i : {2U, 10U, 1U}) ASSERT_TRUE(folder.write(i, response(i)).ok());
  const Found found = all_of(files);
  EXPECT_EQ(found.numbers, (std::vector<std::uint64_t>{1, 2, 10}));
  EXPECT_EQ(found.responses, (std::vector{response(1), response(2), response(10)}));
  EXPECT_EQ(found.survey.last_number, 10U);
  EXPECT_TRUE(found.survey.damaged.empty() && found.survey.unread.empty());
  ASSERT_TRUE(folder.remove(2).ok());
  EXPECT_TRUE(folder.remove(2).ok()) << "it has gone already";
  EXPECT_EQ(all_of(files).numbers, (std::vector<std::uint64_t>{1, 10}));
}

TEST(ResponseFiles, OtherFilesAreLeftAlone) {
  SimulatedFiles files;
  ASSERT_TRUE(ResponseFiles(files).write(1, response(1)).ok());
  files.overwrite("responses/notes.txt", std::vector<std::byte>(10));
  EXPECT_EQ(all_of(files).numbers.size(), 1U);
  const ByteCount bytes = files.bytes("responses/000000000001.hfr").size();
  EXPECT_EQ(*ResponseFiles(files).erase(), bytes);
  EXPECT_EQ(files.file_paths(), std::vector<std::string>{"responses/notes.txt"});
}

TEST(ResponseFiles, ErasedNothingIsLeft) {
  SimulatedFiles files;
  EXPECT_EQ(*ResponseFiles(files).erase(), 0U) << "there is no folder yet";
  for (const unsigned i : {1U, 2U}) ASSERT_TRUE(ResponseFiles(files).write(i, response(i)).ok());
  ASSERT_TRUE(ResponseFiles(files).erase().ok());
  files.lose_power_at(files.calls() + 1);
  files.restart();
  EXPECT_TRUE(all_of(files).responses.empty()) << "nor does a crash bring it back";
}

TEST(ResponseFiles, DamageIsNoticedWhereverItIs) {
  SimulatedFiles files;
  for (const unsigned i : {1U, 2U}) ASSERT_TRUE(ResponseFiles(files).write(i, response(i)).ok());
  const std::string path = "responses/000000000001.hfr";
  const auto whole = files.bytes(path);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    auto damaged = whole;
    damaged[at] ^= std::byte{8};
    for (const auto& bytes : {damaged, std::vector(whole.begin(), whole.begin() + at)}) {
      files.overwrite(path, bytes);
      const Found found = all_of(files);
      EXPECT_EQ(found.responses, std::vector{response(2)}) << at;
      EXPECT_EQ(found.survey.damaged, std::vector<std::uint64_t>{1}) << at;
    }
  }
}

TEST(ResponseFiles, AnyBytesMayBeDecoded) {
  std::minstd_rand random(3);
  const auto good = encode_response(response(2));
  for (int i = 0; i < 5000; ++i) {
    auto bytes = good;
    for (int change = 0; change < 3; ++change)
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    EXPECT_EQ(decode_response(bytes).value_or(response(2)), response(2));
  }
}

// Power may go at any call. A response is there as it was, or is known not to be.
TEST(ResponseFiles, ACrashLeavesNothingWrong) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimulatedFiles files(seed);
    files.lose_power_at(1 + seed % 20);
    for (unsigned i = 1; i <= 4; ++i) static_cast<void>(ResponseFiles(files).write(i, response(i)));
    files.restart();
    const Found found = all_of(files);
    for (std::size_t i = 0; i < found.numbers.size(); ++i)
      EXPECT_EQ(found.responses[i], response(static_cast<unsigned>(found.numbers[i])));
    EXPECT_TRUE(ResponseFiles(files).write(100, response(5)).ok());
  }
}

TEST(ResponseFiles, AFullDiskLeavesNoPart) {
  SimulatedFiles files;
  ASSERT_TRUE(ResponseFiles(files).write(1, response(1)).ok());
  files.set_capacity(files.bytes("responses/000000000001.hfr").size() + 5);
  EXPECT_FALSE(ResponseFiles(files).write(2, response(9)).ok());
  EXPECT_EQ(files.file_paths().size(), 1U);
  files.set_capacity(1 << 20);
  EXPECT_TRUE(ResponseFiles(files).write(3, response(9)).ok());
}

}  // namespace
}  // namespace holdfast::tier
