#include "cache/request_notes.h"

#include <gtest/gtest.h>

#include "cache/receipt.h"

namespace holdfast::cache {
namespace {

using Sentences = std::vector<std::string>;

TEST(RequestNotes, NothingDoneNothingSaid) {
  EXPECT_EQ(note_sentences(Receipt{}), Sentences{});
  Receipt receipt;
  receipt.notes.answer_asked = receipt.notes.answer_limit = 100;
  EXPECT_EQ(note_sentences(receipt), Sentences{});
}

TEST(RequestNotes, WhatWasLeftOutIsCounted) {
  Receipt receipt;
  receipt.notes.skipped = {"local_shell", "namespace mcp__a", "web_search", "web_search"};
  EXPECT_EQ(
      note_sentences(receipt),
      Sentences{"Left out, because only their maker's servers run them: local_shell, namespace "
                "mcp__a, web_search (2)."});
}

TEST(RequestNotes, ALimitThatTheContextSets) {
  Receipt receipt;
  receipt.notes.answer_limit = 1000;
  EXPECT_EQ(note_sentences(receipt),
            Sentences{"The answer may have up to 1000 tokens, which is what the context leaves; no "
                      "limit was asked for."});
  receipt.notes.answer_asked = 32000;
  EXPECT_EQ(note_sentences(receipt),
            Sentences{"The answer may have up to 1000 tokens, which is what the context leaves; "
                      "32000 were asked for."});
}

// Only what lies behind the line would have been lost with it.
TEST(RequestNotes, WhatTheAttributionLineWouldHaveCost) {
  Receipt receipt;
  EXPECT_EQ(attribution_saved(receipt), 0);
  receipt.notes.attribution_at = 200;
  EXPECT_EQ(
      note_sentences(receipt),
      Sentences{"Claude Code's attribution line was left out (--keep-attribution keeps it)."});
  receipt.restored = 15000;
  EXPECT_EQ(attribution_saved(receipt), 14800);
  EXPECT_NE(note_sentences(receipt).front().find("up to 14800 of the reused tokens"),
            std::string::npos);
}

}  // namespace
}  // namespace holdfast::cache
