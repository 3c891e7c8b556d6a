// The store on the real disk, with SQLite, and in several processes.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>

#include "tier/cache_folder.h"
#include "tier/testing/blob_maker.h"
#include "tier/testing/temp_folder.h"

namespace holdfast::tier {
namespace {

namespace fs = std::filesystem;

constexpr SpaceKey kSpace{5, 6};

Result<CacheFolder> try_at(const std::string& folder, ByteCount budget = 1 << 24) {
  return CacheFolder::open(folder, {.budget = budget}, 1000);
}
// The folder, which is expected to open.
CacheFolder open_at(const std::string& folder, ByteCount budget = 1 << 24) {
  auto opened = try_at(folder, budget);
  if (!opened) std::fprintf(stderr, "%s\n", opened.error().message.c_str());
  return std::move(opened).value();
}

// Runs in a process of its own; true says that all went well.
bool apart(const std::function<bool()>& act) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(act() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

class DiskStoreProcessTest : public testing::Test {
 protected:
  [[nodiscard]] std::string cache() const { return folder_ / "cache"; }

  TempFolder folder_;
  const BlobMaker maker_{kSpace, counting(400)};
};

bool finds(DiskStore& store, const BlobMaker& maker, TokenPos covered, std::size_t places) {
  const StoreMatch match = store.lookup(kSpace, maker.path());
  if (match.covered != covered || match.places.size() != places) return false;
  for (const RowsHit& hit : match.rows) {
    const auto blob = store.load(match, hit);
    if (!blob || file_of(*blob) != file_of(maker.rows(blob->path.range))) return false;
  }
  for (const PlaceHit& hit : match.places) {
    const auto blob = store.load(match, hit);
    if (!blob || file_of(*blob) != file_of(maker.place(hit.position))) return false;
  }
  return true;
}

TEST_F(DiskStoreProcessTest, SurvivesARestart) {
  for (int round = 0; round < 2; ++round) {
    const CacheFolder store = open_at(cache());
    EXPECT_EQ(store->role(), StoreRole::kWriter);
    ASSERT_TRUE(store->put(maker_.rows({0, 300}), 2000).ok());
    ASSERT_TRUE(store->put(maker_.place(300), 2000).ok());
    EXPECT_TRUE(finds(*store, maker_, 300, 1));
    EXPECT_TRUE(store->check().empty());
    EXPECT_EQ(store->stats().stored, round == 0 ? 2U : 0U);
  }
}

TEST_F(DiskStoreProcessTest, EverythingIsPrivate) {
  const auto before = ::umask(0);
  {
    const CacheFolder store = open_at(cache());
    ASSERT_TRUE(store->put(maker_.rows({0, 300}), 2000).ok());
    for (const auto& entry : fs::recursive_directory_iterator(cache())) {
      struct stat facts {};
      ASSERT_EQ(::lstat(entry.path().c_str(), &facts), 0);
      EXPECT_EQ(facts.st_mode & 0777U, entry.is_directory() ? 0700U : 0600U) << entry.path();
    }
  }
  ::umask(before);
}

TEST_F(DiskStoreProcessTest, TheSecondProcessReads) {
  std::optional<CacheFolder> writer = open_at(cache());
  ASSERT_TRUE((*writer)->put(maker_.rows({0, 200}), 2000).ok());
  EXPECT_TRUE(apart([&] {
    const CacheFolder reader = open_at(cache());
    return reader->role() == StoreRole::kReader && finds(*reader, maker_, 200, 0) &&
           *reader->put(maker_.place(64), 2000) == PutAnswer::kDeclined;
  }));
  ASSERT_TRUE((*writer)->put(maker_.place(64), 2000).ok());
  EXPECT_TRUE((*writer)->check().empty());
  writer.reset();
  EXPECT_TRUE(apart([&] {
    const CacheFolder next = open_at(cache());
    return next->role() == StoreRole::kWriter && finds(*next, maker_, 200, 1);
  }));
}

// One process puts and drops while another looks, loads and must never see a wrong byte.
TEST_F(DiskStoreProcessTest, AReaderBesideABusyWriter) {
  { const CacheFolder made = open_at(cache()); }
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    const CacheFolder writer = open_at(cache(), 6000);
    bool fine = writer->role() == StoreRole::kWriter;
    if (::write(ready[1], "x", 1) != 1) ::_exit(2);
    for (int i = 0; fine && i < 120; ++i) {
      const auto at = static_cast<TokenPos>(i * 7 % 300);
      fine = writer->put(maker_.rows({at, at + 64}), 2000 + i * 1000).ok() &&
             writer->put(maker_.place(at + 64), 2000 + i * 1000).ok();
    }
    ::_exit(fine && writer->check().empty() ? 0 : 1);
  }
  char go = 0;
  ASSERT_EQ(::read(ready[0], &go, 1), 1);
  const CacheFolder reader = open_at(cache());
  int status = 0;
  std::uint64_t loads = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    const StoreMatch match = reader->lookup(kSpace, maker_.path());
    for (const PlaceHit& hit : match.places) {
      const auto blob = reader->load(match, hit);
      if (blob) {
        ASSERT_EQ(file_of(*blob), file_of(maker_.place(hit.position)));
      } else {
        ASSERT_EQ(blob.error().code, ErrorCode::kNotFound) << blob.error().message;
      }
      ++loads;
    }
  }
  EXPECT_EQ(reader->stats().quarantined, 0U);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  std::printf("%llu loads beside the writer\n", static_cast<unsigned long long>(loads));
  ::close(ready[0]);
  ::close(ready[1]);
}

// Killed, not crashed: what was answered is there, the lock is free, the start is never refused.
TEST_F(DiskStoreProcessTest, KilledWhileWriting) {
  std::mt19937 random(3);
  for (int round = 0; round < 12; ++round) {
    int said[2];
    ASSERT_EQ(::pipe(said), 0);
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
      const CacheFolder writer = open_at(cache());
      for (TokenPos at = 1;; at = at % 390 + 1) {
        if (!writer->put(maker_.place(at), 2000).ok()) ::_exit(1);
        if (::write(said[1], &at, sizeof(at)) != sizeof(at)) ::_exit(1);
        const BlobKey old = outline(maker_.place(at % 390 + 1))->key;
        if (at > 380) writer->remove(std::span(&old, 1));
      }
    }
    TokenPos latest = 0;
    for (unsigned n = 1 + random() % 60; n-- > 0;)
      ASSERT_EQ(::read(said[0], &latest, sizeof(latest)), ssize_t{sizeof(latest)});
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status));
    ::close(said[0]);
    ::close(said[1]);
    const CacheFolder store = open_at(cache());
    ASSERT_EQ(store->role(), StoreRole::kWriter);
    EXPECT_TRUE(store->check().empty());
    const StoreMatch match = store->lookup(kSpace, maker_.path());
    const auto found = std::ranges::find(match.places, latest, &PlaceHit::position);
    ASSERT_NE(found, match.places.end()) << "round " << round;
    const auto blob = store->load(match, *found);
    ASSERT_TRUE(blob.ok()) << blob.error().message;
    EXPECT_EQ(file_of(*blob), file_of(maker_.place(latest)));
    EXPECT_EQ(store->stats().quarantined, 0U);
  }
}

TEST_F(DiskStoreProcessTest, ADamagedOrLostIndexIsMadeAnew) {
  const std::string index = cache() + "/" + SqliteIndex::kFile;
  for (const int kind : {0, 1, 2, 3}) {
    {
      const CacheFolder store = open_at(cache());
      ASSERT_TRUE(store->put(maker_.rows({0, 300}), 2000).ok());
      ASSERT_TRUE(store->put(maker_.place(300), 2000).ok());
    }
    if (kind == 0) fs::remove(index);
    if (kind == 1) std::ofstream(index, std::ios::binary) << std::string(50000, 'x');
    if (kind == 2) fs::resize_file(index, fs::file_size(index) / 2);
    if (kind == 3) {
      fs::remove(index);
      fs::create_directory(index);  // cannot even be replaced
    }
    const CacheFolder store = open_at(cache());
    EXPECT_TRUE(finds(*store, maker_, 300, 1)) << kind;
    EXPECT_TRUE(store->check().empty());
    EXPECT_TRUE(apart([&] { return finds(*open_at(cache()), maker_, 300, 1); })) << kind;
  }
}

TEST_F(DiskStoreProcessTest, LinksInsideAreNotFollowed) {
  const TempFolder elsewhere;
  const auto file = file_of(maker_.place(64));
  const std::string outside = elsewhere / "blob";
  std::ofstream(outside, std::ios::binary)
      .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  { const CacheFolder made = open_at(cache()); }
  const std::string path = cache() + "/" + blob_path(outline(maker_.place(64))->key);
  fs::create_directories(fs::path(path).parent_path());
  fs::create_symlink(outside, path);
  {
    const CacheFolder store = open_at(cache());
    EXPECT_TRUE(finds(*store, maker_, 0, 0));
    EXPECT_EQ(store->verify({}).strangers, 1U);
    EXPECT_EQ(*store->put(maker_.place(64), 2000), PutAnswer::kStored);  // in the link's place
    EXPECT_FALSE(fs::is_symlink(path));
  }
  fs::remove_all(cache() + "/tmp");
  fs::create_directory(elsewhere / "precious");
  std::ofstream(elsewhere / "precious/file") << "x";
  fs::create_directory_symlink(elsewhere / "precious", cache() + "/tmp");
  EXPECT_NE(try_at(cache()).error().message.find("tmp cannot be used"), std::string::npos);
  EXPECT_TRUE(fs::exists(elsewhere / "precious/file"));
}

TEST_F(DiskStoreProcessTest, AFolderThatVanishesCostsMissesOnly) {
  const CacheFolder store = open_at(cache());
  ASSERT_TRUE(store->put(maker_.rows({0, 200}), 2000).ok());
  const StoreMatch match = store->lookup(kSpace, maker_.path());
  fs::remove_all(cache());
  EXPECT_FALSE(store.still_there());
  EXPECT_EQ(store->load(match, match.rows[0]).error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(store->put(maker_.place(64), 2000).ok());
  static_cast<void>(store->lookup(kSpace, maker_.path()));
  store->touch(std::span(&match.rows[0].key, 1), 3000);
  store->shrink_to(0, 3000);
  static_cast<void>(store->verify({}, Rebuild::kYes));
  const CacheFolder again = open_at(cache());
  EXPECT_TRUE(again->put(maker_.place(64), 2000).ok());
  EXPECT_TRUE(again->check().empty());
}

// As an ordinary user: root may do everything.
TEST_F(DiskStoreProcessTest, WithoutPermissionThereIsAnErrorOrAReader) {
  fs::permissions(folder_.path(), fs::perms::all);
  EXPECT_TRUE(apart([&] {
    constexpr uid_t kNobody = 65534;
    if (::geteuid() == 0 && ::setuid(kNobody) != 0) return false;
    {
      const CacheFolder store = open_at(cache());
      if (!store->put(maker_.rows({0, 200}), 2000).ok()) return false;
      fs::permissions(cache() + "/tmp", fs::perms::none);
      if (store->put(maker_.place(64), 2000).ok()) return false;
      if (!finds(*store, maker_, 200, 0)) return false;
      fs::permissions(cache() + "/tmp", fs::perms::owner_all);
      if (!store->put(maker_.place(64), 2000).ok()) return false;
    }
    fs::permissions(cache() + "/lock", fs::perms::none);
    const CacheFolder reader = open_at(cache());
    if (reader->role() != StoreRole::kReader) return false;
    if (!finds(*reader, maker_, 200, 1)) return false;
    fs::permissions(cache() + "/FORMAT", fs::perms::none);
    return !try_at(cache()).ok();
  }));
}

}  // namespace
}  // namespace holdfast::tier
