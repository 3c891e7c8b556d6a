#include "cli/sse_parser.h"

#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

using Events = std::vector<SseEvent>;

Events parse(std::string_view text) { return SseParser().feed(text); }

TEST(SseParserTest, OneEvent) {
  EXPECT_EQ(parse("data: {\"a\":1}\n\n"), (Events{{"message", "{\"a\":1}"}}));
}

TEST(SseParserTest, SeveralEventsAndTypes) {
  EXPECT_EQ(parse("data: 1\n\nevent: error\ndata: 2\n\ndata: [DONE]\n\n"),
            (Events{{"message", "1"}, {"error", "2"}, {"message", "[DONE]"}}));
}

TEST(SseParserTest, DataLinesAreJoined) {
  EXPECT_EQ(parse("data: 1\ndata:\ndata: 2\n\n"), (Events{{"message", "1\n\n2"}}));
}

TEST(SseParserTest, OnlyOneSpaceAfterTheColonIsDropped) {
  EXPECT_EQ(parse("data:x\n\ndata:  y\n\n"), (Events{{"message", "x"}, {"message", " y"}}));
}

TEST(SseParserTest, CommentsAndOtherFieldsAreSilent) {
  EXPECT_EQ(parse(": ping\n\nid: 7\nretry: 10\nfoo\n\ndata: x\n\n"), (Events{{"message", "x"}}));
}

TEST(SseParserTest, AnEventWithoutDataIsNone) {
  EXPECT_EQ(parse("event: e\n\ndata: x\n\n"), (Events{{"message", "x"}}));
}

TEST(SseParserTest, EmptyDataIsAnEvent) { EXPECT_EQ(parse("data\n\n"), (Events{{"message", ""}})); }

TEST(SseParserTest, AnIncompleteEventIsNone) {
  EXPECT_EQ(parse("data: x\n"), Events{});
  EXPECT_EQ(parse("data: x"), Events{});
}

TEST(SseParserTest, AByteOrderMarkIsDropped) {
  EXPECT_EQ(parse("\xEF\xBB\xBF"
                  "data: x\n\n"),
            (Events{{"message", "x"}}));
}

// However the bytes are cut in two, and whatever ends the lines.
TEST(SseParserTest, CutsAnywhereGiveTheSameEvents) {
  for (const std::string end : {"\n", "\r", "\r\n"}) {
    const std::string text =
        "event: a" + end + "data: 1" + end + "data: \xC3\xA9" + end + end + "data: 2" + end + end;
    const Events whole = {{"a", "1\n\xC3\xA9"}, {"message", "2"}};
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
      SseParser parser;
      Events events = parser.feed(std::string_view(text).substr(0, cut));
      for (SseEvent& event : parser.feed(std::string_view(text).substr(cut))) {
        events.push_back(std::move(event));
      }
      EXPECT_EQ(events, whole) << "cut at " << cut;
    }
  }
}

}  // namespace
}  // namespace holdfast::cli
