#include "cache/slot_file.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tier/blob_archive.h"
#include "tier/testing/blob_maker.h"
#include "tier/testing/simulated_files.h"

namespace holdfast::cache {
namespace {

using Bytes = std::vector<std::byte>;

constexpr SpaceKey kSpace{7, 8};
constexpr Token kVocabulary = 1000;
const SlotOwner kOwner = slot_owner("a tenant");
const SlotLimits kLimits{kSpace, 4096, kVocabulary, 1 << 20};

Tokens cycling(std::size_t count, Token first = 0) {
  Tokens tokens(count);
  for (std::size_t i = 0; i < count; ++i) tokens[i] = first + static_cast<Token>(i % 7);
  return tokens;
}

SlotState state_of(const Tokens& tokens, bool rows = true, bool snapshot = true) {
  const tier::BlobMaker maker(kSpace, tokens);
  const tier::MakerOptions options{.companion = true};
  SlotState state;
  state.space = kSpace;
  state.tokens = tokens;
  state.exact = state.length() / 2;
  if (rows) state.rows = maker.rows({0, state.length()}, options).rows;
  if (snapshot) state.snapshot = maker.place(state.length(), options).snapshot;
  return state;
}

Bytes file_of_slot(const SlotState& state, const SlotOwner& owner = kOwner) {
  tier::SimulatedFiles files;
  const auto written = write_slot_file(files, "x.bin", state, owner, 5);
  EXPECT_TRUE(written.ok()) << written.error().message;
  const Bytes bytes = files.bytes("x.bin");
  EXPECT_EQ(written.ok() ? *written : 0, bytes.size());
  return bytes;
}

Result<SlotFile> read(const Bytes& bytes, const SlotLimits& limits = kLimits,
                      const SlotOwner& owner = kOwner) {
  tier::MemorySource source(bytes);
  return read_slot_bytes(source, owner, limits);
}

// Why it was refused; empty: it was not.
std::string refusal(const Bytes& bytes, const SlotLimits& limits = kLimits) {
  const auto file = read(bytes, limits);
  if (file) return "";
  EXPECT_EQ(file.error().code, ErrorCode::kInvalidArgument) << file.error().message;
  return file.error().message;
}

void expect_equal(const SlotState& a, const SlotState& b) {
  EXPECT_EQ(a.space, b.space);
  EXPECT_EQ(a.tokens, b.tokens);
  EXPECT_EQ(a.keys, b.keys);
  EXPECT_EQ(a.exact, b.exact);
  ASSERT_EQ(a.rows.size(), b.rows.size());
  for (std::size_t i = 0; i < a.rows.size(); ++i) {
    EXPECT_EQ(a.rows[i].range, b.rows[i].range);
    EXPECT_TRUE(std::ranges::equal(a.rows[i].block->bytes(), b.rows[i].block->bytes()));
    EXPECT_EQ(a.rows[i].block->companion().bytes, b.rows[i].block->companion().bytes);
  }
  ASSERT_EQ(a.snapshot == nullptr, b.snapshot == nullptr);
  if (a.snapshot == nullptr) return;
  EXPECT_EQ(a.snapshot->position(), b.snapshot->position());
  EXPECT_TRUE(std::ranges::equal(a.snapshot->bytes(), b.snapshot->bytes()));
  EXPECT_EQ(a.snapshot->companion().bytes, b.snapshot->companion().bytes);
}

TEST(SlotFileL1, WhatWasWrittenIsReadBack) {
  for (const std::size_t length : {1, 63, 64, 65, 256, 257, 700}) {
    for (const auto& [rows, snapshot] : {std::pair(true, true), {true, false}, {false, true}}) {
      SlotState state = state_of(cycling(length), rows, snapshot);
      const auto file = read(file_of_slot(state));
      ASSERT_TRUE(file.ok()) << file.error().message;
      expect_equal(file->state, state);
      EXPECT_EQ(file->bytes, file_of_slot(state).size());
    }
  }
}

TEST(SlotFileL1, WhatIsFiledUnderKeysIsFoundUnderThem) {
  const Tokens keys = cycling(300, -5000);
  SlotState state = state_of(keys);
  state.keys = keys;
  state.tokens = cycling(300);
  const auto file = read(file_of_slot(state));
  ASSERT_TRUE(file.ok()) << file.error().message;
  expect_equal(file->state, state);
}

TEST(SlotFileL2, EveryCutAndEveryFlippedByteIsNoticed) {
  const Bytes whole = file_of_slot(state_of(cycling(70)));
  ASSERT_EQ(refusal(whole), "");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_NE(refusal(cut), "") << "cut at " << length;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    Bytes damaged = whole;
    damaged[at] ^= std::byte{0x40};
    const auto file = read(damaged);
    EXPECT_FALSE(file.ok()) << "byte " << at;
  }
  Bytes longer = whole;
  longer.push_back(std::byte{0});
  EXPECT_NE(refusal(longer), "");
}

TEST(SlotFileL2, AnotherModelsOrTooLargeAStateIsRefused) {
  const Bytes file = file_of_slot(state_of(cycling(70)));
  SlotLimits limits = kLimits;
  limits.space.low = 9;
  EXPECT_EQ(refusal(file, limits), "it is of another model, or of a server with other settings");
  limits = kLimits;
  limits.tokens_max = 69;
  EXPECT_EQ(refusal(file, limits), "it holds 70 tokens and the context 69");
  limits.tokens_max = 70;
  EXPECT_EQ(refusal(file, limits), "");
  limits.vocabulary = 6;
  EXPECT_EQ(refusal(file, limits), "it holds what is no token");
  limits = kLimits;
  limits.bytes_max = file.size() - 1;
  EXPECT_EQ(refusal(file, limits), "it is larger than any state of this model could be");
}

// Archives that are sound and make no sense.
class Forged : public ::testing::Test {
 protected:
  static Bytes with_blobs(const std::vector<Bytes>& blobs, Bytes note) {
    tier::SimulatedFiles files;
    auto file = files.create("x");
    auto writer = tier::BlobArchiveWriter::begin(*file.value, note);
    for (const Bytes& blob : blobs) {
      const std::span<const std::byte> piece = blob;
      EXPECT_TRUE(writer->add(tier::Pieces(&piece, 1)).ok());
    }
    EXPECT_TRUE(writer->finish().ok());
    return files.bytes("x");
  }
  static Bytes note_of(const Bytes& file) {
    tier::MemorySource source(file);
    return tier::BlobArchiveReader::open(source)->note();
  }

  const Tokens tokens_ = cycling(300);
  const tier::BlobMaker maker_{kSpace, tokens_};
  const Bytes first_ = tier::file_of(maker_.rows({0, 256}));
  const Bytes second_ = tier::file_of(maker_.rows({256, 300}));
  const Bytes place_ = tier::file_of(maker_.place(300));
  const Bytes note_ = note_of(file_of_slot(state_of(tokens_)));
};

TEST_F(Forged, PartsThatDoNotBelongTogetherAreRefused) {
  ASSERT_EQ(refusal(with_blobs({first_, second_, place_}, note_)), "");
  const Bytes early = tier::file_of(maker_.place(256));
  const Bytes alien = tier::file_of(tier::BlobMaker(kSpace, cycling(300, 1)).rows({0, 256}));
  const Bytes elsewhere = tier::file_of(tier::BlobMaker({1, 1}, tokens_).rows({0, 256}));
  const Bytes longer = tier::file_of(tier::BlobMaker(kSpace, cycling(301)).rows({256, 301}));
  for (const auto& blobs : std::vector<std::vector<Bytes>>{{},
                                                           {first_},
                                                           {second_, place_},
                                                           {first_, place_},
                                                           {second_, first_, place_},
                                                           {first_, first_, second_, place_},
                                                           {first_, second_, place_, place_},
                                                           {place_, first_, second_},
                                                           {first_, second_, early},
                                                           {alien, second_, place_},
                                                           {elsewhere, second_, place_},
                                                           {first_, longer, place_}}) {
    const std::string why = refusal(with_blobs(blobs, note_));
    EXPECT_TRUE(why == "its parts do not belong together" || why == "parts of it are missing")
        << blobs.size() << ": " << why;
  }
}

TEST_F(Forged, NotesThatLieAreRefused) {
  const std::vector<Bytes> blobs = {first_, second_, place_};
  constexpr std::size_t kExact = 40, kTokens = 44, kKeys = 48;
  const auto with_number = [&](std::size_t at, std::int32_t value) {
    Bytes note = note_;
    std::memcpy(note.data() + at, &value, sizeof value);
    return refusal(with_blobs(blobs, note));
  };
  EXPECT_EQ(with_number(kExact, 0), "");
  EXPECT_EQ(with_number(kExact, 301), "its note is wrong");
  EXPECT_EQ(with_number(kExact, -1), "its note is wrong");
  for (const std::int32_t count : {0, 1, 299, 301, -1, INT32_MAX, INT32_MIN}) {
    EXPECT_EQ(with_number(kTokens, count), "it is no saved slot") << count;
  }
  for (const std::int32_t count : {1, 300, -300, INT32_MAX}) {
    EXPECT_EQ(with_number(kKeys, count), "it is no saved slot") << count;
  }
  EXPECT_EQ(refusal(with_blobs(blobs, {})), "it is no saved slot");
  EXPECT_EQ(refusal(with_blobs(blobs, Bytes(51))), "it is no saved slot");
  EXPECT_EQ(with_number(52, -1), "it holds what is no token");
}

TEST(SlotFileL4, OnlyItsOwnerReadsOrReplacesAFile) {
  tier::SimulatedFiles files;
  const SlotState state = state_of(cycling(70));
  const SlotOwner other = slot_owner("another tenant");
  ASSERT_TRUE(write_slot_file(files, "x.bin", state, kOwner, 5).ok());
  const Bytes before = files.bytes("x.bin");
  EXPECT_EQ(write_slot_file(files, "x.bin", state, other, 5).error().code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(files.bytes("x.bin"), before);
  const auto theirs = read_slot_file(files, "x.bin", other, kLimits);
  const auto nobodys = read_slot_file(files, "y.bin", other, kLimits);
  EXPECT_EQ(theirs.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(theirs.error().message, nobodys.error().message) << "who asks learns nothing";
  ASSERT_TRUE(write_slot_file(files, "x.bin", state_of(cycling(9)), kOwner, 5).ok());
  EXPECT_EQ(read_slot_file(files, "x.bin", kOwner, kLimits)->state.length(), 9);
}

TEST(SlotFileL4, AFileThatIsNoSavedSlotIsNeverReplaced) {
  tier::SimulatedFiles files;
  for (const Bytes& precious : {Bytes{}, Bytes(100), Bytes(5000, std::byte{7})}) {
    files.overwrite("notes.txt", precious);
    const auto written = write_slot_file(files, "notes.txt", state_of(cycling(9)), kOwner, 5);
    EXPECT_EQ(written.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(files.bytes("notes.txt"), precious);
  }
}

// Fails each call in turn, once and for good, and lets power go at each.
TEST(SlotFileL4, AFileIsThereWholeOrNotAtAllWhateverFails) {
  const SlotState older = state_of(cycling(70));
  const SlotState newer = state_of(cycling(80));
  for (const int how : {0, 1, 2}) {
    for (std::uint64_t call = 1;; ++call) {
      tier::SimulatedFiles files(call);
      ASSERT_TRUE(write_slot_file(files, "x.bin", older, kOwner, 5).ok());
      const std::uint64_t at = files.calls() + call;
      if (how < 2) files.fail_at(at, EIO, how == 1);
      if (how == 2) files.lose_power_at(at);
      const auto written = write_slot_file(files, "x.bin", newer, kOwner, 5);
      const bool reached = files.calls() >= at;
      files.fail_never();
      if (how == 2) files.restart();
      const auto file = read_slot_file(files, "x.bin", kOwner, kLimits);
      ASSERT_TRUE(file.ok()) << how << " at " << call << ": " << file.error().message;
      EXPECT_TRUE(!written || file->state.length() == 80);
      ASSERT_TRUE(write_slot_file(files, "x.bin", older, kOwner, 5).ok());
      for (const std::string& path : files.file_paths()) EXPECT_FALSE(path.ends_with(".part"));
      if (!reached) break;
      ASSERT_LT(call, 1000U);
    }
  }
}

TEST(SlotFile, NamesThatAreNoPlainNamesAreRefused) {
  for (const char* const name :
       {"", ".", "..", ".hidden", "a/b", "/etc/passwd", "..\\x", "a\nb", "a\x7f", "../x", "x/"}) {
    EXPECT_NE(bad_slot_file_name(name), nullptr) << name;
  }
  EXPECT_NE(bad_slot_file_name(std::string_view("a\0b", 3)), nullptr);
  EXPECT_NE(bad_slot_file_name(std::string(201, 'x')), nullptr);
  EXPECT_EQ(bad_slot_file_name(std::string(200, 'x')), nullptr);
  for (const char* const name : {"x.bin", "a b", "slot-1.kv", "日本.bin", "a..b"}) {
    EXPECT_EQ(bad_slot_file_name(name), nullptr) << name;
  }
}

}  // namespace
}  // namespace holdfast::cache
