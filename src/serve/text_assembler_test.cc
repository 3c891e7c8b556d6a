#include "serve/text_assembler.h"

#include <gtest/gtest.h>

#include <random>

namespace holdfast::serve {
namespace {

TEST(TextAssembler, HoldsBackWhatMayBecomeAStop) {
  TextAssembler text({"STOP"});
  EXPECT_EQ(text.feed("abc ST").text, "abc ");
  EXPECT_EQ(text.feed("ART").text, "START");
  EXPECT_EQ(text.feed(" ST").text, " ");
  const auto piece = text.feed("OP and more");
  EXPECT_EQ(piece.text, "");
  EXPECT_EQ(piece.stop, "STOP");
  EXPECT_EQ(text.feed("later").text, "");
  EXPECT_EQ(text.flush(), "");
}

TEST(TextAssembler, TheStopThatIsCompleteFirstWins) {
  TextAssembler text({"abcd", "b", "ab"});
  const auto piece = text.feed("xabcd");
  EXPECT_EQ(piece.text, "x");
  EXPECT_EQ(piece.stop, "ab");
}

TEST(TextAssembler, CharactersComeWhole) {
  TextAssembler text({});
  EXPECT_EQ(text.feed("\xE2\x82").text, "");
  EXPECT_EQ(text.feed("\xAC!").text, "\xE2\x82\xAC!");
}

TEST(TextAssembler, BytesThatAreNotUtf8PassThrough) {
  TextAssembler text({});
  EXPECT_EQ(text.feed("\x80\x80\x80\x80x").text, "\x80\x80\x80\x80x");
  EXPECT_EQ(text.feed("\xE2").text, "");
  EXPECT_EQ(text.flush(), "\xE2");
}

// TEXT-1 to TEXT-3 against the whole text searched at once.
TEST(TextAssemblerModel, AgreesWithASearchOfTheWholeText) {
  constexpr unsigned kSeed = 7;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  const std::vector<std::string> alphabet = {"a", "b", "ab", "\xC3\xA4", "\xE2\x82\xAC"};
  for (int round = 0; round < 3000; ++round) {
    std::string whole;
    for (unsigned i = random() % 20; i > 0; --i) whole += alphabet[random() % alphabet.size()];
    std::vector<std::string> stops;
    for (unsigned i = random() % 3; i > 0; --i) {
      std::string stop;
      for (unsigned j = 1 + random() % 3; j > 0; --j) stop += alphabet[random() % alphabet.size()];
      stops.push_back(stop);
    }
    std::size_t first_stop = std::string::npos;
    std::size_t first_end = std::string::npos;
    for (const auto& stop : stops) {
      const std::size_t at = whole.find(stop);
      if (at == std::string::npos || at + stop.size() > first_end) continue;
      first_stop = at + stop.size() < first_end ? at : std::min(at, first_stop);
      first_end = at + stop.size();
    }

    TextAssembler text(stops);
    std::string sent;
    bool stopped = false;
    for (std::size_t at = 0; at < whole.size() && !stopped;) {
      const std::size_t n = 1 + random() % 4;
      const auto piece = text.feed(std::string_view(whole).substr(at, n));
      sent += piece.text;
      stopped = piece.stop.has_value();
      ASSERT_EQ(incomplete_utf8_tail(sent), 0U) << "TEXT-3";
      at += n;
    }
    sent += text.flush();
    ASSERT_EQ(stopped, first_stop != std::string::npos);
    ASSERT_EQ(sent, whole.substr(0, first_stop)) << "TEXT-1, TEXT-2";
  }
}

}  // namespace
}  // namespace holdfast::serve
