#include "record/sequence_book.h"

#include <gtest/gtest.h>

#include <random>

namespace holdfast::record {
namespace {

// Both sides, and the sequences as they are: a list that is searched from end to end.
class Book {
 public:
  explicit Book(bool private_form) : private_(private_form) {}

  struct Sequence {
    SequenceWriter::Cursor written;
    SequenceReader::Cursor read;
    Tokens tokens;
    Tokens seen;  // what the reader gave for them
  };

  // The tokens of a sequence at any time, and what the reader made of them.
  void add(Sequence& at, const Tokens& more) {
    TokenPos longest = 0;
    for (const auto& [tokens, seen] : all_) {
      Tokens wanted = at.tokens;
      wanted.insert(wanted.end(), more.begin(), more.end());
      const TokenPos agreed = common_prefix(tokens, wanted) - length_of(at.tokens);
      longest = std::max(longest, agreed);
    }
    const Passage passage = writer_.add(at.written, more);
    EXPECT_EQ(passage.shared, longest);  // BOOK-2
    EXPECT_EQ(static_cast<std::size_t>(passage.shared) + passage.fresh, more.size());
    fresh_ += passage.fresh;
    EXPECT_EQ(writer_.tokens(), fresh_);  // BOOK-3
    const TokenSpan ids = TokenSpan(more).last(passage.fresh);
    const auto read = reader_.read(at.read, passage, private_ ? TokenSpan() : ids);
    ASSERT_TRUE(read.has_value());
    at.tokens.insert(at.tokens.end(), more.begin(), more.end());
    at.seen.insert(at.seen.end(), read->begin(), read->end());
    all_.emplace_back(at.tokens, at.seen);
    ASSERT_EQ(at.seen.size(), at.tokens.size());
  }

  // BOOK-1
  void check() const {
    for (const auto& [tokens, seen] : all_) {
      EXPECT_TRUE(private_ || tokens == seen);
    }
    for (const auto& [tokens, seen] : all_) {
      for (const auto& [others, seen_others] : all_) {
        EXPECT_EQ(common_prefix(tokens, others), common_prefix(seen, seen_others));
      }
    }
  }

 private:
  const bool private_;
  SequenceWriter writer_;
  SequenceReader reader_;
  std::uint64_t fresh_ = 0;
  std::vector<std::pair<Tokens, Tokens>> all_;
};

class SequenceBook : public ::testing::TestWithParam<bool> {};

TEST_P(SequenceBook, SaysExactlyHowFarSequencesAgree) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::minstd_rand random(seed);
    Book book(GetParam());
    std::vector<Book::Sequence> open(3);
    for (int step = 0; step < 60; ++step) {
      Book::Sequence& at = open[random() % open.size()];
      if (random() % 3 == 0) at = {};
      // Few different tokens, so that many sequences agree; sometimes a known one is continued.
      Tokens more(1 + random() % 6);
      for (Token& token : more) token = static_cast<Token>(random() % 3);
      if (random() % 4 == 0) {
        const Book::Sequence& other = open[random() % open.size()];
        if (!other.tokens.empty()) more = other.tokens;
      }
      book.add(at, more);
    }
    book.check();
  }
}

INSTANTIATE_TEST_SUITE_P(BothForms, SequenceBook, ::testing::Bool(),
                         [](const auto& form) { return form.param ? "Private" : "Named"; });

TEST(SequenceBookReader, RefusesPassagesThatAreNotThere) {
  SequenceReader reader;
  SequenceReader::Cursor cursor;
  EXPECT_FALSE(reader.read(cursor, {.from = 0, .shared = 1, .fresh = 0}, {}).has_value());
  const Tokens three = {1, 2, 3};
  ASSERT_TRUE(reader.read(cursor, {.from = 0, .shared = 0, .fresh = 3}, three).has_value());
  SequenceReader::Cursor other;
  EXPECT_FALSE(reader.read(other, {.from = 0, .shared = 4, .fresh = 0}, {}).has_value());
  EXPECT_FALSE(reader.read(other, {.from = 1, .shared = 1, .fresh = 0}, {}).has_value());
  EXPECT_EQ(reader.read(other, {.from = 0, .shared = 3, .fresh = 0}, {}), three);
}

}  // namespace
}  // namespace holdfast::record
