// The simulation itself: a model that forgives what a disk does not forgive proves nothing.
#include "tier/testing/simulated_files.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

namespace holdfast::tier {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::string_view text) {
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

int put(FileSystem& files, const std::string& path, std::string_view text) {
  const Bytes bytes = bytes_of(text);
  const std::span<const std::byte> piece = bytes;
  return write_file(files, path, Pieces(&piece, 1));
}

std::string text_of(const SimulatedFiles& files, const std::string& path) {
  const Bytes bytes = files.bytes(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(SimulatedFiles, WhatIsSyncedStays) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SimulatedFiles files(seed);
    ASSERT_EQ(files.make_folder("x"), 0);
    ASSERT_EQ(put(files, "x/1", "hello"), 0);
    ASSERT_EQ(files.sync_folder(""), 0);
    ASSERT_EQ(files.sync_folder("x"), 0);
    ASSERT_EQ(files.rename("x/1", "x/2"), 0);
    ASSERT_EQ(files.sync_folder("x"), 0);
    files.restart();
    ASSERT_EQ(files.file_paths(), std::vector<std::string>{"x/2"}) << "seed " << seed;
    EXPECT_EQ(text_of(files, "x/2"), "hello");
  }
}

TEST(SimulatedFiles, WhatIsNotSyncedMayBeAnything) {
  std::set<std::size_t> name_counts;
  std::set<std::string> contents;
  const std::string wanted(300, 'n');
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SimulatedFiles files(seed);
    ASSERT_EQ(put(files, "synced", "s"), 0);
    {
      auto file = files.create("written");
      const Bytes bytes = bytes_of(wanted);
      const std::span<const std::byte> piece = bytes;
      ASSERT_EQ(append_all(*file.value, Pieces(&piece, 1)), 0);
    }
    ASSERT_EQ(files.rename("synced", "moved"), 0);
    files.restart();
    const auto paths = files.file_paths();
    name_counts.insert(paths.size());
    for (const auto& path : paths)
      if (path == "written") contents.insert(text_of(files, path));
  }
  EXPECT_EQ(name_counts, (std::set<std::size_t>{0, 1, 2, 3}));
  EXPECT_GT(contents.size(), 30U);
  EXPECT_TRUE(contents.contains(wanted) && contents.contains(""));
}

TEST(SimulatedFiles, FaultsComeWhereTheyArePlanned) {
  SimulatedFiles files;
  files.fail_at(2, ENOSPC);
  EXPECT_EQ(put(files, "a", "x"), ENOSPC);  // create, append, and remove again
  EXPECT_TRUE(files.file_paths().empty());
  EXPECT_EQ(put(files, "a", "x"), 0);
  files.fail_at(files.calls() + 1, EIO, true);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(put(files, "b", "x"), EIO);
  files.fail_never();
  files.fail_at(files.calls() + 2, EINTR);
  EXPECT_EQ(put(files, "b", "x"), 0);
  files.move_little();
  const std::string text(1000, 'q');
  EXPECT_EQ(put(files, "c", text), 0);
  EXPECT_EQ(*read_text(files, "c", 2000), text);
}

TEST(SimulatedFiles, PowerAndSpaceEnd) {
  SimulatedFiles files;
  files.set_capacity(10);
  EXPECT_EQ(put(files, "a", "123456789"), 0);
  EXPECT_EQ(put(files, "b", "12"), ENOSPC);
  EXPECT_EQ(files.free_bytes().value, 1U);
  auto lock = files.lock("lock");
  ASSERT_TRUE(lock.ok());
  EXPECT_EQ(files.lock("lock").error, EWOULDBLOCK);
  files.lose_power_at(files.calls() + 1);
  EXPECT_EQ(files.remove("a"), EIO);
  EXPECT_EQ(files.list("").error, EIO);
  files.restart();
  EXPECT_TRUE(files.list("").ok());
  auto second = files.lock("lock");
  EXPECT_TRUE(second.ok());
  lock.value.reset();  // of before the crash: lets nothing go
  EXPECT_EQ(files.lock("lock").error, EWOULDBLOCK);
}

}  // namespace
}  // namespace holdfast::tier
