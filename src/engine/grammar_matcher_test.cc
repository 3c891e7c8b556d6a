// Following grammars: which tokens may come next, and at what price.
#include "engine/grammar_matcher.h"

#include <gtest/gtest.h>

namespace holdfast::engine {
namespace {

// Every character of ASCII, pairs of some, and "é" in two parts.
std::vector<std::string> pieces() {
  std::vector<std::string> all = {"",
                                  "\xC3",
                                  "\xA9",
                                  "é",
                                  "aé",
                                  "a\xC3",
                                  "\xA9"
                                  "b"};
  for (char c = 1; c > 0; ++c) all.emplace_back(1, c);
  for (const char a : {'a', 'b', '"', ' '}) {
    for (const char b : {'a', 'b', '"', ' '}) all.push_back({a, b});
  }
  return all;
}

class Following : public ::testing::Test {
 protected:
  GrammarMatcher& follow(std::string_view text, GrammarLimits limits = {}) {
    auto grammar = Grammar::compile(text, limits, [](auto) { return std::nullopt; });
    EXPECT_TRUE(grammar.ok()) << (grammar ? "" : grammar.error().message);
    matcher_.emplace(std::make_shared<const Grammar>(std::move(*grammar)), limits);
    return *matcher_;
  }

  // The pieces that may come next, in quotes.
  std::string next() {
    std::vector<bool> allowed;
    matcher_->begin_token();
    EXPECT_NE(matcher_->mask(trie_, allowed), Match::kOverBudget);
    std::string text;
    for (std::size_t i = 0; i < allowed.size(); ++i) {
      if (allowed[i]) text += "'" + trie_.piece(static_cast<Token>(i)) + "'";
    }
    return text;
  }

  Match write(const std::string& piece) {
    matcher_->begin_token();
    return matcher_->accept(-1, piece);
  }

  TokenTrie trie_{pieces()};
  std::optional<GrammarMatcher> matcher_;
};

TEST_F(Following, TokensMayCrossElements) {
  follow("root ::= \"a\" [ab]? \"\\\"\"");
  EXPECT_EQ(next(), "'a''aa''ab''a\"'");
  ASSERT_EQ(write("ab"), Match::kYes);
  EXPECT_EQ(next(), "'\"'");
  EXPECT_EQ(write("b"), Match::kNo);
  EXPECT_FALSE(matcher_->complete());
  ASSERT_EQ(write("\""), Match::kYes);
  EXPECT_TRUE(matcher_->complete());
  EXPECT_EQ(next(), "");
}

TEST_F(Following, ACharacterMayComeInParts) {
  follow("root ::= [é] \"b\"");
  EXPECT_EQ(next(), "'\xC3''é'");
  ASSERT_EQ(write("\xC3"), Match::kYes);
  EXPECT_EQ(next(),
            "'\xA9''\xA9"
            "b'");
  ASSERT_EQ(write("\xA9"
                  "b"),
            Match::kYes);
  EXPECT_TRUE(matcher_->complete());
  follow("root ::= [é]*");
  ASSERT_EQ(write("\xC3"), Match::kYes);
  EXPECT_FALSE(matcher_->complete()) << "in the middle of a character";
  follow("root ::= [^é]");
  EXPECT_NE(next().find("'\xC3'"), std::string::npos) << "it may become another character";
}

TEST_F(Following, TokensByTheirNumber) {
  follow("root ::= <[3]> !<[4]>");
  EXPECT_EQ(next(), "'é'");
  matcher_->begin_token();
  ASSERT_EQ(matcher_->accept(3, "é"), Match::kYes);
  EXPECT_EQ(matcher_->allows(4, "aé"), Match::kNo);
  EXPECT_EQ(matcher_->allows(5, "a\xC3"), Match::kYes);
}

// MATCH-3, on grammars with many stacks.
TEST_F(Following, MATCH3TheMaskAgreesWithEachToken) {
  for (const char* text : {"root ::= ([a-b]* \" \"?){9} \"é\"", "root ::= [^a]* \"a\" .*",
                           "root ::= (\"a\" | \"ab\" | \"é\")* \"b\""}) {
    follow(text);
    for (int step = 0; step < 6; ++step) {
      std::vector<bool> allowed;
      matcher_->begin_token();
      if (matcher_->mask(trie_, allowed) == Match::kNo) break;
      std::string last;
      for (std::size_t i = 0; i < allowed.size(); ++i) {
        const std::string& piece = trie_.piece(static_cast<Token>(i));
        matcher_->begin_token();
        EXPECT_EQ(allowed[i], matcher_->allows(static_cast<Token>(i), piece) == Match::kYes)
            << text << " token '" << piece << "'";
        if (allowed[i]) last = piece;
      }
      ASSERT_EQ(write(last), Match::kYes);
    }
  }
}

// Forty rules, each twice the next, the last may be empty: 2^40 stacks.
TEST_F(Following, MATCH1DoublingRulesEndAtTheLimit) {
  std::string text = "root ::= r0\n";
  for (int i = 0; i < 40; ++i) {
    const std::string next = "r" + std::to_string(i + 1);
    text += "r" + std::to_string(i) + " ::= " + next + " " + next + "\n";
  }
  const GrammarMatcher& matcher = follow(text + "r40 ::= \"a\"?");
  EXPECT_FALSE(matcher.begun());
  EXPECT_LT(matcher.moves(), GrammarLimits{}.moves() + 100);
  EXPECT_LT(matcher.bytes(), std::size_t{64} << 20U);
}

// The memory of a long text in a deep grammar is what the text needs now.
TEST_F(Following, MATCH2MemoryIsGivenBack) {
  const GrammarMatcher& matcher =
      follow("root ::= v\nv ::= \"a\" v \"b\" | ([ab]* \" \"?){60} \"x\" | \"a\" v \"c\"");
  std::size_t most = 0;
  for (int i = 0; i < 300; ++i) {
    const Match taken = write("a");
    if (taken == Match::kOverBudget) break;
    ASSERT_EQ(taken, Match::kYes);
    most = std::max(most, matcher.bytes());
  }
  const GrammarLimits limits;
  EXPECT_LE(most, limits.stack_bytes() + limits.moves() * 120);
}

}  // namespace
}  // namespace holdfast::engine
