#include "tier/space_note.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tier/cache_folder.h"
#include "tier/testing/blob_maker.h"
#include "tier/testing/simulated_files.h"
#include "tier/testing/temp_folder.h"

namespace holdfast::tier {
namespace {

constexpr SpaceKey kSpace{0x3f2a, 0x9c};
constexpr SpaceKey kOther{1, 2};
const SpaceNote kNote{"qwen.gguf", "kv=f16/f16 grid=512", true};

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

TEST(SpaceNote, IsReadBack) {
  EXPECT_EQ(parse_note(note_text(kNote)), kNote);
  const SpaceNote odd{"a\"b\x1b[31m\n", "", false};
  EXPECT_EQ(parse_note(note_text(odd)), odd);
}

TEST(SpaceNote, IsNeverTooLong) {
  const SpaceNote long_one{std::string(100'000, '\x01'), std::string(100'000, '\xff'), true};
  const std::string text = note_text(long_one);
  EXPECT_LE(text.size(), kNoteBytesMax);
  EXPECT_TRUE(parse_note(text).has_value());
}

TEST(SpaceNote, AnythingElseIsUnknown) {
  for (const char* text : {"", "x", "[]", "{}", "7", R"({"model":7})",
                           R"({"model":"","tenant":true})", R"({"model":"a")", "\xff\xfe"}) {
    EXPECT_FALSE(parse_note(text).has_value()) << text;
  }
  std::string padded(kNoteBytesMax, ' ');
  padded += R"({"model":"a"})";
  EXPECT_FALSE(parse_note(padded).has_value());
  EXPECT_FALSE(parse_note(std::string(kNoteBytesMax, '[')).has_value());
  EXPECT_EQ(parse_note(R"({"model":"a","tenant":"yes"})"), (SpaceNote{"a", "", false}));
}

TEST(SpaceNote, SpacesHaveOneName) {
  EXPECT_EQ(hex_of(kSpace), "0000000000003f2a000000000000009c");
  EXPECT_EQ(space_from_hex(hex_of(kSpace)), kSpace);
  const SpaceKey high{~std::uint64_t{0}, std::uint64_t{1} << 63};
  EXPECT_EQ(space_from_hex(hex_of(high)), high);
  for (const char* text :
       {"", "3f", "0000000000003F2A000000000000009C", "0000000000003f2a000000000000009c0",
        "../../../../../../../../etc/passwd"})
    EXPECT_FALSE(space_from_hex(text).has_value()) << text;
}

// --- in a folder --------------------------------------------------------------------------

class SpaceNotesOfAStore : public testing::Test {
 protected:
  void SetUp() override { reopen(); }
  void reopen() {
    store_.reset();
    store_ = std::move(DiskStore::open(files_, {.budget = 1 << 20}, 1000)).value();
  }
  void put(SpaceKey space) {
    const BlobMaker maker(space, Tokens(100, 5));
    ASSERT_EQ(*store_->put(maker.place(64), 1000), PutAnswer::kStored);
  }
  void expect_sound() {
    const auto wrong = store_->check();
    EXPECT_TRUE(wrong.empty()) << wrong.front();
  }
  [[nodiscard]] std::string path(SpaceKey space) const {
    return "spaces/" + hex_of(space) + ".json";
  }

  SimulatedFiles files_;
  std::unique_ptr<DiskStore> store_;
};

TEST_F(SpaceNotesOfAStore, AreKeptAndCheapTheSecondTime) {
  EXPECT_TRUE(store_->space_notes().empty());  // a folder without spaces/
  ASSERT_TRUE(store_->describe_space(kSpace, kNote).ok());
  const auto calls = files_.calls();
  ASSERT_TRUE(store_->describe_space(kSpace, kNote).ok());
  EXPECT_EQ(files_.calls(), calls);
  expect_sound();
  files_.restart();
  reopen();
  EXPECT_EQ(store_->space_notes(), (std::map<SpaceKey, SpaceNote>{{kSpace, kNote}}));
  const auto before = files_.bytes(path(kSpace));
  ASSERT_TRUE(store_->describe_space(kSpace, kNote).ok());
  EXPECT_EQ(files_.bytes(path(kSpace)), before);
  EXPECT_EQ(store_->stats().failed, 0U);
  EXPECT_EQ(store_->stats().bytes(), 0U);  // outside of the budget
}

TEST_F(SpaceNotesOfAStore, BrokenAndHostileOnesAreUnknownAndReplaced) {
  files_.overwrite(path(kSpace), bytes_of("{\"model\": \"half"));
  files_.overwrite(path(kOther), std::vector<std::byte>(1 << 20, std::byte{'['}));
  files_.overwrite("spaces/readme.txt", bytes_of("hello"));
  EXPECT_TRUE(store_->space_notes().empty());
  ASSERT_TRUE(store_->describe_space(kSpace, kNote).ok());
  EXPECT_EQ(store_->space_notes().size(), 1U);
  reopen();
  expect_sound();
}

TEST_F(SpaceNotesOfAStore, TidyRemovesThoseWithoutBlobs) {
  put(kSpace);
  ASSERT_TRUE(store_->describe_space(kSpace, kNote).ok());
  ASSERT_TRUE(store_->describe_space(kOther, kNote).ok());
  files_.overwrite("spaces/readme.txt", bytes_of("hello"));
  EXPECT_EQ(store_->tidy_space_notes(), 2U);
  EXPECT_EQ(store_->space_notes().count(kSpace), 1U);
  EXPECT_EQ(store_->space_notes().size(), 1U);
  ASSERT_TRUE(store_->describe_space(kOther, kNote).ok());  // it is not taken for present
  EXPECT_EQ(store_->space_notes().size(), 2U);
}

TEST_F(SpaceNotesOfAStore, SpacesAreAddedUp) {
  EXPECT_TRUE(store_->inventory().space_totals().empty());
  put(kSpace);
  put(kOther);
  ByteCount bytes = 0;
  for (const SpaceTotal& total : store_->inventory().space_totals()) {
    EXPECT_EQ(total.blobs, 1U);
    bytes += total.bytes;
  }
  EXPECT_EQ(store_->inventory().space_totals().size(), 2U);
  EXPECT_EQ(bytes, store_->stats().bytes());
}

TEST_F(SpaceNotesOfAStore, TheirNumberIsBounded) {
  put({9, 0});
  ASSERT_TRUE(store_->describe_space({9, 0}, kNote).ok());
  for (std::uint64_t i = 1; i < SpaceNotes::kNotesMax + 10; ++i)
    ASSERT_TRUE(store_->describe_space({9, i}, kNote).ok());
  EXPECT_LE(store_->space_notes().size(), SpaceNotes::kNotesMax);
  EXPECT_EQ(store_->space_notes().count({9, 0}), 1U);
}

TEST_F(SpaceNotesOfAStore, AReaderReadsAndWritesNone) {
  ASSERT_TRUE(store_->describe_space(kSpace, kNote).ok());
  auto reader = std::move(DiskStore::open(files_, {.budget = 1 << 20}, 1000)).value();
  ASSERT_EQ(reader->role(), StoreRole::kReader);
  ASSERT_TRUE(reader->describe_space(kOther, kNote).ok());
  EXPECT_EQ(reader->tidy_space_notes(), 0U);
  EXPECT_EQ(reader->space_notes().size(), 1U);
}

// Each I/O call fails once: an Error or a note, and nothing half.
TEST(SpaceNotesFaults, EachCallFailsOnce) {
  for (std::uint64_t call = 1; call < 20; ++call) {
    SimulatedFiles files(call);
    auto store = std::move(DiskStore::open(files, {.budget = 1 << 20}, 1000)).value();
    files.fail_at(files.calls() + call, EIO);
    const bool ok = store->describe_space(kSpace, kNote).ok();
    files.fail_never();
    EXPECT_TRUE(store->check().empty());
    EXPECT_LE(ok ? 1U : 0U, store->space_notes().size());
    EXPECT_TRUE(store->describe_space(kSpace, kNote).ok());
    EXPECT_EQ(store->space_notes().at(kSpace), kNote);
  }
}

TEST(SpaceNotesReal, ArePrivateAndNoLinkIsFollowed) {
  TempFolder folder;
  auto cache = CacheFolder::open(folder / "cache", {.budget = 1 << 20}, 1000);
  ASSERT_TRUE(cache.ok());
  ASSERT_TRUE((*cache)->describe_space(kSpace, kNote).ok());
  struct stat facts {};
  ASSERT_EQ(::stat((folder / "cache/spaces").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0700U);
  ASSERT_EQ(::stat((folder / ("cache/spaces/" + hex_of(kSpace) + ".json")).c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600U);
  std::filesystem::create_symlink(folder / "cache/FORMAT",
                                  folder / ("cache/spaces/" + hex_of(kOther) + ".json"));
  EXPECT_EQ((*cache)->space_notes().size(), 1U);
  cache = CacheFolder::open(folder / "cache", {.budget = 1 << 20}, 1000);
  ASSERT_TRUE(cache.ok());
}

}  // namespace
}  // namespace holdfast::tier
