#include "cache/token_history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>

#include "engine/testing/fake.h"

namespace holdfast::cache {
namespace {

constexpr SpaceKey kSpace{1, 2};
constexpr SpaceKey kOtherTenant{1, 3};

// --- a vocabulary that has more than one way to say a text ----------------------

struct Habits {
  bool begins = false;               // add_special puts <bos> first
  bool ends = false;                 // ... and </end> last
  bool space_after_control = false;  // and at the begin: SentencePiece's dummy prefix
  bool space_first = false;          // at the begin of whatever is tokenised
  bool no_control_first = false;     // there, control tokens are read as text
  bool two_ends = false;             // </alt> ends turns too
  bool no_ends = false;              // the template shows no turn end
};

// The longest token that fits, from left to right. "ab" is one token, and may be
// sampled as "a" "b"; bytes that no token names are tokens themselves.
class GreedyText final : public engine::TextModel {
 public:
  explicit GreedyText(Habits habits = {}) : habits_(habits) {}

  [[nodiscard]] const engine::ModelCard& card() const override { return card_; }
  [[nodiscard]] Tokens tokenize(std::string_view text, bool add_special, bool) const override {
    Tokens tokens;
    if (add_special && habits_.begins) tokens.push_back(id("<bos>"));
    if (habits_.space_first) tokens.push_back(' ');
    bool after_control = true;
    while (!text.empty()) {
      const Token control = longest(text, 0, kControls);
      if (after_control && control < 0 && habits_.space_after_control) tokens.push_back(' ');
      const bool as_text = habits_.no_control_first && tokens.empty();
      Token token = longest(text, as_text ? kControls : 0, std::size(kPieces));
      if (token < 0) token = static_cast<unsigned char>(text.front());
      after_control = control >= 0;
      tokens.push_back(token);
      text.remove_prefix(piece(token, true).size());
    }
    if (add_special && habits_.ends) tokens.push_back(id("</end>"));
    return tokens;
  }
  [[nodiscard]] std::string piece(Token token, bool special) const override {
    if (token < 256) return std::string(1, static_cast<char>(token));
    const auto index = static_cast<std::size_t>(token - 256);
    return index < kControls && !special ? std::string() : std::string(kPieces[index]);
  }
  [[nodiscard]] bool ends_generation(Token token) const override { return token == id("</end>"); }
  [[nodiscard]] std::vector<Tokens> turn_ends() const override {
    if (habits_.no_ends) return {};
    std::vector<Tokens> ends{{id("</end>"), '\n'}, {id("</end>")}};
    if (habits_.two_ends) ends.push_back({id("</alt>")});
    return ends;
  }
  [[nodiscard]] Result<engine::RenderedChat> render(const engine::ChatInput&) const override {
    return engine::RenderedChat{};
  }
  [[nodiscard]] std::vector<MessageSpan> message_spans(const engine::RenderedChat&,
                                                       TokenSpan) const override {
    return {};
  }
  [[nodiscard]] Result<std::unique_ptr<engine::Sampler>> make_sampler(
      const engine::SamplingParams&, const engine::ReplyFormat*) const override {
    return Error{ErrorCode::kUnsupported, "This vocabulary samples nothing.", ""};
  }
  [[nodiscard]] std::unique_ptr<engine::ReplyParser> make_parser(
      const engine::ReplyFormat&) const override {
    return nullptr;
  }

  [[nodiscard]] static Token id(std::string_view piece) {
    if (piece.size() == 1) return static_cast<unsigned char>(piece.front());
    const auto found = std::ranges::find(kPieces, piece);
    EXPECT_NE(found, std::end(kPieces)) << piece;
    return static_cast<Token>(256 + (found - std::begin(kPieces)));
  }

  static constexpr std::size_t kControls = 4;
  static constexpr std::string_view kPieces[] = {"<bos>", "<turn>", "</end>", "</alt>", "ab",
                                                 "abc",   "bc",     "\n\n",   "</",     "end>"};

 private:
  [[nodiscard]] static Token longest(std::string_view text, std::size_t first, std::size_t last) {
    Token best = -1;
    for (std::size_t i = first; i < last; ++i) {
      const bool longer = best < 0 || kPieces[i].size() > kPieces[best - 256].size();
      if (text.starts_with(kPieces[i]) && longer) best = static_cast<Token>(256 + i);
    }
    return best;
  }

  Habits habits_;
  engine::ModelCard card_;
};

Tokens ids(const std::vector<std::string_view>& pieces) {
  Tokens tokens;
  for (const std::string_view piece : pieces) tokens.push_back(GreedyText::id(piece));
  return tokens;
}

Tokens joined(std::initializer_list<Tokens> parts) {
  Tokens all;
  for (const Tokens& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

const std::string kHeader = "\n<turn>assistant\n";

std::string ask(const std::string& user) { return "<turn>user\n" + user + "</end>" + kHeader; }

// The prompt that comes after `answer` to `prompt`.
std::string go_on(const std::string& prompt, const std::string& answer,
                  const std::string& user = "and?") {
  return prompt + answer + "</end>\n" + ask(user);
}

class TokenHistoryTest : public ::testing::Test {
 protected:
  [[nodiscard]] TokenizedPrompt tokenize(std::string_view prompt, SpaceKey space = kSpace) {
    return history_.tokenize(space, text_, prompt);
  }
  // `answer` is what the model said to `prompt`.
  bool say(std::string_view prompt, TokenSpan answer, SpaceKey space = kSpace) {
    return history_.remember(tokenize(prompt, space).context, text_, answer);
  }
  [[nodiscard]] Tokens plain(std::string_view prompt) const {
    return text_.tokenize(prompt, true, true);
  }
  void TearDown() override { EXPECT_EQ(history_.check(), std::vector<std::string>{}); }

  GreedyText text_;
  TokenHistory history_;
};

TEST_F(TokenHistoryTest, AnAnswerComesBackAsItWasSampled) {
  const std::string prompt = ask("hi");
  const Tokens sampled = ids({"a", "b", "c"});
  ASSERT_TRUE(say(prompt, sampled));
  const auto next = tokenize(go_on(prompt, "abc"));
  EXPECT_EQ(next.kept, 3);
  EXPECT_EQ(next.tokens, joined({plain(prompt), sampled, plain("</end>\n" + ask("and?"))}));
  EXPECT_NE(next.tokens, plain(go_on(prompt, "abc")));
}

TEST_F(TokenHistoryTest, EveryAnswerOfAConversationIsKept) {
  const std::string first = ask("hi");
  ASSERT_TRUE(say(first, ids({"a", "b"})));
  const std::string second = go_on(first, "ab");
  ASSERT_TRUE(say(second, ids({"a", "bc"})));
  const auto third = tokenize(go_on(second, "abc"));
  EXPECT_EQ(third.kept, 4);
  const Tokens before = tokenize(second).tokens;
  EXPECT_EQ(common_prefix(third.tokens, joined({before, ids({"a", "bc", "</end>"})})),
            length_of(before) + 3)
      << "the path that the tree knows";
}

// The conversation before it was never seen, so that only the quote can tell.
TEST_F(TokenHistoryTest, AQuoteIsReadByItsIds) {
  const std::string prompt = ask("hi");
  const std::string next = go_on(prompt, "abc");
  const std::vector<Quote> quotes = {{prompt.size(), prompt.size() + 3, ids({"a", "bc"})}};
  const auto tokenized = history_.tokenize(kSpace, text_, next, quotes);
  EXPECT_EQ(tokenized.kept, 2);
  EXPECT_EQ(tokenized.tokens,
            joined({plain(prompt), ids({"a", "bc"}), plain("</end>\n" + ask("and?"))}));
}

TEST_F(TokenHistoryTest, HISTORY5AnAnswerIsFoundByItsName) {
  const tier::AnswerName name{{std::byte{1}}};
  const tier::AnswerName later{{std::byte{2}}};
  auto context = tokenize(ask("hi")).context;
  context.name = name;
  ASSERT_TRUE(history_.remember(context, text_, ids({"a", "b"})));
  ASSERT_TRUE(history_.find_named(kSpace, name));
  EXPECT_EQ(history_.find_named(kSpace, name)->ids, ids({"a", "b"}));
  EXPECT_FALSE(history_.find_named(kOtherTenant, name)) << "HISTORY-7";
  EXPECT_FALSE(history_.find_named(kSpace, later));
  EXPECT_FALSE(history_.find_named(kSpace, {})) << "no name is no name";
  context.name = later;
  ASSERT_TRUE(history_.remember(context, text_, ids({"ab"})));
  EXPECT_EQ(history_.find_named(kSpace, later)->ids, ids({"ab"}));
  ASSERT_TRUE(history_.find_named(kSpace, name)) << "the same text was said again: two clients";
  EXPECT_EQ(history_.find_named(kSpace, name)->ids, ids({"a", "b"}));
  EXPECT_EQ(history_.usage().answers, 2U);
  EXPECT_TRUE(history_.check().empty());
  history_.clear();
  EXPECT_FALSE(history_.find_named(kSpace, later));
}

TEST_F(TokenHistoryTest, AnAnswerThatReadsAsItWasSaidChangesNothing) {
  ASSERT_TRUE(say(ask("hi"), ids({"abc"})));
  const std::string next = go_on(ask("hi"), "abc");
  EXPECT_EQ(tokenize(next).tokens, plain(next));
  EXPECT_EQ(tokenize(next).kept, 1);
}

// "\n" of the header and "\n" of the answer are one token when read together.
TEST_F(TokenHistoryTest, NothingMergesAcrossTheBeginOfAnAnswer) {
  ASSERT_TRUE(say(ask("hi"), ids({"\n", "ab"})));
  const std::string next = go_on(ask("hi"), "\nab");
  EXPECT_EQ(common_prefix(tokenize(next).tokens, plain(ask("hi"))), length_of(plain(ask("hi"))));
  EXPECT_LT(common_prefix(plain(next), plain(ask("hi"))), length_of(plain(ask("hi"))));
}

TEST_F(TokenHistoryTest, TheTextMustBeTheSame) {
  ASSERT_TRUE(say(ask("hi"), ids({"a", "b"})));
  for (const char* said : {"a", "abc", " ab", "ab ", "ab\n", "", "ba"}) {
    const std::string next = go_on(ask("hi"), said);
    EXPECT_EQ(tokenize(next).kept, 0) << said;
    EXPECT_EQ(tokenize(next).tokens, plain(next)) << said;
  }
}

TEST_F(TokenHistoryTest, ATurnThatHasNotEndedIsNotQuoted) {
  ASSERT_TRUE(say(ask("hi"), ids({"a", "b"})));
  EXPECT_EQ(tokenize(ask("hi") + "ab").kept, 0);
  EXPECT_EQ(tokenize(ask("hi") + "ab</end").kept, 0);
}

// Elsewhere the same text may be known by the ids that the tokeniser gives it.
TEST_F(TokenHistoryTest, TheConversationBeforeMustBeTheSame) {
  ASSERT_TRUE(say(ask("hi"), ids({"a", "b"})));
  EXPECT_EQ(tokenize(go_on(ask("ho"), "ab")).kept, 0);
  EXPECT_EQ(tokenize("x" + go_on(ask("hi"), "ab")).kept, 0);
  EXPECT_EQ(tokenize(go_on(go_on(ask("hi"), "no", "hi"), "ab")).kept, 0);
}

TEST_F(TokenHistoryTest, TheSameTextInTwoConversationsHasTwoSpellings) {
  ASSERT_TRUE(say(ask("hi"), ids({"a", "b"})));
  ASSERT_TRUE(say(ask("ho"), ids({"ab"})));
  EXPECT_EQ(tokenize(go_on(ask("hi"), "ab")).kept, 2);
  EXPECT_EQ(tokenize(go_on(ask("ho"), "ab")).kept, 1);
}

TEST_F(TokenHistoryTest, OfTwoSpellingsInOnePlaceTheLaterWins) {
  ASSERT_TRUE(say(ask("hi"), ids({"a", "b", "c"})));
  ASSERT_TRUE(say(ask("hi"), ids({"a", "bc"})));
  EXPECT_EQ(history_.usage(), (HistoryUsage{1, TokenHistory::cost(2)}));
  EXPECT_EQ(tokenize(go_on(ask("hi"), "abc")).kept, 2);
}

TEST_F(TokenHistoryTest, AnswersToOnePromptLiveSideBySide) {
  ASSERT_TRUE(say(ask("hi"), ids({"a", "b"})));
  ASSERT_TRUE(say(ask("hi"), ids({"a", "b", "c"})));
  EXPECT_EQ(tokenize(go_on(ask("hi"), "ab")).kept, 2);
  EXPECT_EQ(tokenize(go_on(ask("hi"), "abc")).kept, 3);
}

// Thinking on and off open a turn in two ways that read alike once answered.
TEST_F(TokenHistoryTest, TheCutIsWhereTheLatestAnswerBegan) {
  ASSERT_TRUE(say(ask("hi"), ids({"a", "b", "c", "a", "b"})));
  ASSERT_TRUE(say(ask("hi") + "abc", ids({"a", "b"})));
  EXPECT_EQ(tokenize(go_on(ask("hi"), "abcab")).kept, 2);
}

TEST_F(TokenHistoryTest, HISTORY7AnotherTenantNeverSeesIt) {
  ASSERT_TRUE(say(ask("hi"), ids({"a", "b"})));
  const std::string next = go_on(ask("hi"), "ab");
  EXPECT_EQ(tokenize(next, kOtherTenant).tokens, plain(next));
  EXPECT_EQ(tokenize(next, kSpace).kept, 2);
}

TEST_F(TokenHistoryTest, AnAnswerMayHoldAHeader) {
  const Tokens sampled = joined({ids({"a", "b"}), plain(kHeader), ids({"a", "b"})});
  ASSERT_TRUE(say(ask("hi"), sampled));
  EXPECT_EQ(tokenize(go_on(ask("hi"), "ab" + kHeader + "ab")).kept, length_of(sampled));
}

TEST_F(TokenHistoryTest, AnAnswerThatSpellsATurnEndIsDeclined) {
  EXPECT_FALSE(say(ask("hi"), ids({"a", "</", "end>", "a"})));
  EXPECT_FALSE(say(ask("hi"), ids({"a", "</end>"})));
  EXPECT_FALSE(say(ask("hi") + "</", ids({"end>", "a"}))) << "across the answer's begin";
}

TEST_F(TokenHistoryTest, AnEmptyAnswerIsDeclined) {
  EXPECT_FALSE(say(ask("hi"), {}));
  EXPECT_EQ(tokenize(go_on(ask("hi"), "")).kept, 0);
}

TEST_F(TokenHistoryTest, BytesThatAreNoTextComeBackAsBytes) {
  const Tokens sampled = ids({"a", "b", "\xe4", "\xb8"});
  ASSERT_TRUE(say(ask("hi"), sampled));
  EXPECT_EQ(tokenize(go_on(ask("hi"), "ab\xe4\xb8")).kept, 4);
  EXPECT_EQ(tokenize(go_on(ask("hi"), "ab\xef\xbf\xbd")).kept, 0) << "what a client makes of them";
}

TEST_F(TokenHistoryTest, APromptMayBeginOrEndWithATurnEnd) {
  ASSERT_TRUE(say("</end>", ids({"a", "b"})));
  EXPECT_EQ(tokenize("</end>ab</end>").kept, 2);
  ASSERT_TRUE(say("", ids({"a", "b"})));
  EXPECT_EQ(tokenize("ab</end>").tokens, ids({"a", "b", "</end>"}));
}

TEST_F(TokenHistoryTest, ClearForgets) {
  ASSERT_TRUE(say(ask("hi"), ids({"a", "b"})));
  history_.clear();
  EXPECT_EQ(history_.usage(), HistoryUsage{});
  EXPECT_EQ(tokenize(go_on(ask("hi"), "ab")).kept, 0);
}

// --- vocabularies with habits ---------------------------------------------------

TokenizedPrompt after_one_answer(const engine::TextModel& text, const std::string& prompt,
                                 const std::string& next) {
  TokenHistory history;
  EXPECT_TRUE(
      history.remember(history.tokenize(kSpace, text, prompt).context, text, ids({"a", "b"})));
  return history.tokenize(kSpace, text, next);
}

TEST(TokenHistoryHabits, OnlyTheFirstPieceBeginsASequence) {
  const GreedyText text({.begins = true});
  const auto next = after_one_answer(text, ask("hi"), go_on(ask("hi"), "ab"));
  EXPECT_EQ(next.kept, 2);
  EXPECT_EQ(next.tokens.front(), GreedyText::id("<bos>"));
  EXPECT_EQ(std::ranges::count(next.tokens, GreedyText::id("<bos>")), 1);
  EXPECT_EQ(common_prefix(next.tokens, text.tokenize(ask("hi"), true, true)),
            length_of(text.tokenize(ask("hi"), true, true)));
}

// Then tokens decode to more than the prompt, spliced or not.
TEST(TokenHistoryHabits, ASpaceAfterControlTokensStaysThereAndNowhereElse) {
  const GreedyText text({.space_after_control = true});
  const std::string next = go_on(ask("hi"), "ab");
  const auto result = after_one_answer(text, ask("hi"), next);
  EXPECT_EQ(result.kept, 2);
  EXPECT_EQ(result.tokens, joined({text.tokenize(ask("hi"), true, true), ids({"a", "b"}),
                                   text.tokenize("</end>\n" + ask("and?"), false, true)}));
  EXPECT_EQ(text.detokenize(result.tokens), text.detokenize(text.tokenize(next, true, true)));
}

// The tokeniser would put a space before "ab"; the model did not.
TEST(TokenHistoryHabits, WhereASpaceWouldBeLostThePromptIsTokenisedWhole) {
  const GreedyText text({.space_after_control = true});
  const std::string next = "<turn>ab</end>\n" + ask("and?");
  const auto result = after_one_answer(text, "<turn>", next);
  EXPECT_EQ(result.kept, 0);
  EXPECT_EQ(result.tokens, text.tokenize(next, true, true));
}

TEST(TokenHistoryHabits, WhereEachPieceGetsASpaceThePromptIsTokenisedWhole) {
  const GreedyText text({.space_first = true});
  const std::string next = go_on(ask("hi"), "ab");
  const auto result = after_one_answer(text, ask("hi"), next);
  EXPECT_EQ(result.kept, 0);
  EXPECT_EQ(result.tokens, text.tokenize(next, true, true));
}

// Reads the same, but is not what follows an answer in a prompt.
TEST(TokenHistoryHabits, WhereAPieceBeginsOtherwiseThePromptIsTokenisedWhole) {
  const GreedyText text({.no_control_first = true});
  const std::string next = go_on(ask("hi"), "ab");
  const auto result = after_one_answer(text, ask("hi"), next);
  EXPECT_EQ(result.kept, 0);
  EXPECT_EQ(result.tokens, text.tokenize(next, true, true));
}

TEST(TokenHistoryHabits, WhereTextsGetAnEndThePromptIsTokenisedWhole) {
  const GreedyText text({.ends = true});
  const std::string next = go_on(ask("hi"), "ab");
  const auto result = after_one_answer(text, ask("hi"), next);
  EXPECT_EQ(result.kept, 0);
  EXPECT_EQ(result.tokens, text.tokenize(next, true, true));
}

TEST(TokenHistoryHabits, AnyTurnEndClosesAnAnswer) {
  const GreedyText text({.two_ends = true});
  EXPECT_EQ(after_one_answer(text, ask("hi"), ask("hi") + "ab</alt>" + ask("and?")).kept, 2);
  EXPECT_EQ(after_one_answer(text, ask("hi") + "</alt>x", ask("hi") + "</alt>xab</end>").kept, 2);
}

TEST(TokenHistoryHabits, WithoutTurnEndsNothingIsRemembered) {
  const GreedyText text({.no_ends = true});
  TokenHistory history;
  const auto asked = history.tokenize(kSpace, text, ask("hi"));
  EXPECT_FALSE(history.remember(asked.context, text, ids({"a", "b"})));
  EXPECT_EQ(history.tokenize(kSpace, text, go_on(ask("hi"), "ab")).kept, 0);
}

TEST(TokenHistoryHabits, BytesAsTokens) {
  const engine::FakeText text;
  TokenHistory history;
  const std::string prompt = "<s>user:hi</s><s>assistant:";
  const auto asked = history.tokenize(kSpace, text, prompt);
  ASSERT_TRUE(history.remember(asked.context, text, text.tokenize("hello", false, false)));
  const std::string next = prompt + "hello</s><s>user:and?</s><s>assistant:";
  EXPECT_EQ(history.tokenize(kSpace, text, next).kept, 5);
  EXPECT_EQ(history.tokenize(kSpace, text, next).tokens, text.tokenize(next, true, true));
}

// --- bounds ---------------------------------------------------------------------

std::string numbered(int i) { return ask(std::to_string(i)); }

bool say_ab(TokenHistory& history, int i) {
  const GreedyText text;
  const auto context = history.tokenize(kSpace, text, numbered(i)).context;
  return history.remember(context, text, ids({"a", "b"}));
}

TokenPos kept(TokenHistory& history, int i) {
  return history.tokenize(kSpace, GreedyText(), go_on(numbered(i), "ab")).kept;
}

TEST(HISTORY1, TheAnswerUnusedForLongestGoes) {
  TokenHistory history({.answers_max = 2});
  ASSERT_TRUE(say_ab(history, 1));
  ASSERT_TRUE(say_ab(history, 2));
  ASSERT_EQ(kept(history, 1), 2) << "and is used by it";
  ASSERT_TRUE(say_ab(history, 3));
  EXPECT_EQ(history.usage().answers, 2U);
  EXPECT_EQ(kept(history, 2), 0);
  EXPECT_EQ(kept(history, 1), 2);
  EXPECT_EQ(kept(history, 3), 2);
}

TEST(HISTORY1, AConversationLosesItsLastAnswerFirst) {
  TokenHistory history({.answers_max = 2});
  const GreedyText text;
  ASSERT_TRUE(say_ab(history, 1));
  const std::string second = go_on(numbered(1), "ab");
  const auto context = history.tokenize(kSpace, text, second).context;
  ASSERT_TRUE(history.remember(context, text, ids({"a", "bc"})));
  const std::string third = go_on(second, "abc");
  ASSERT_EQ(history.tokenize(kSpace, text, third).kept, 4);
  ASSERT_TRUE(say_ab(history, 2));
  EXPECT_EQ(history.tokenize(kSpace, text, third).kept, 2);
  EXPECT_EQ(kept(history, 1), 2);
}

TEST(HISTORY1, AConversationThatQuotesByNameLosesItsLastAnswerFirstToo) {
  TokenHistory history({.answers_max = 2});
  const GreedyText text;
  const tier::AnswerName names[] = {{{std::byte{1}}}, {{std::byte{2}}}};
  std::string prompt = numbered(1);
  std::vector<Quote> quotes;
  for (const tier::AnswerName& name : names) {
    auto context = history.tokenize(kSpace, text, prompt, quotes).context;
    context.name = name;
    ASSERT_TRUE(history.remember(context, text, ids({"a", "b"})));
    quotes.push_back({prompt.size(), prompt.size() + 2, ids({"a", "b"}), name});
    prompt = go_on(prompt, "ab");
  }
  ASSERT_EQ(history.tokenize(kSpace, text, prompt, quotes).kept, 4);
  ASSERT_TRUE(say_ab(history, 2));
  EXPECT_TRUE(history.find_named(kSpace, names[0]));
  EXPECT_FALSE(history.find_named(kSpace, names[1]));
}

TEST(HISTORY2, BytesAreBounded) {
  TokenHistory history({.bytes_max = 2 * TokenHistory::cost(2)});
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(say_ab(history, i));
  EXPECT_EQ(history.usage(), (HistoryUsage{2, 2 * TokenHistory::cost(2)}));
  EXPECT_EQ(kept(history, 2), 0);
  EXPECT_EQ(kept(history, 3), 2);
}

TEST(HISTORY2, WhatNeverFitsIsDeclinedAndMovesNothing) {
  TokenHistory history({.bytes_max = TokenHistory::cost(2)});
  const GreedyText text;
  ASSERT_TRUE(say_ab(history, 1));
  const auto context = history.tokenize(kSpace, text, ask("hi")).context;
  EXPECT_FALSE(history.remember(context, text, ids({"a", "b", "c"})));
  EXPECT_EQ(kept(history, 1), 2);
  TokenHistory nothing({.answers_max = 0});
  EXPECT_FALSE(say_ab(nothing, 1));
}

TEST(TokenHistory, ManyThreadsAtOnce) {
  TokenHistory history({.answers_max = 20});
  const auto work = [&](int first) {
    for (int i = 0; i < 200; ++i) {
      (void)say_ab(history, first + i % 10);
      const TokenPos got = kept(history, first + i % 10);
      EXPECT_TRUE(got == 0 || got == 2);
    }
  };
  std::vector<std::thread> threads;
  for (const int first : {0, 5, 10}) threads.emplace_back(work, first);
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(history.check().empty());
  EXPECT_EQ(history.usage().answers, 20U);
}

// --- random operations against a naive oracle -------------------------------------

// Knows conversations by their whole text, and compares all of it.
class NaiveHistory {
 public:
  explicit NaiveHistory(HistoryLimits limits) : limits_(limits) {}

  bool remember(SpaceKey space, const std::string& prompt, const Tokens& answer) {
    const std::string whole = prompt + text_.detokenize(answer);
    const ByteCount bytes = TokenHistory::cost(answer.size());
    const bool fits = bytes <= limits_.bytes_max && limits_.answers_max > 0;
    if (whole == prompt || ends_in(whole) != ends_in(prompt) || !fits) return false;
    std::erase_if(said_, [&](const Said& s) { return s.space == space && s.whole == whole; });
    while (said_.size() >= limits_.answers_max || usage().bytes + bytes > limits_.bytes_max) {
      said_.erase(said_.begin());
    }
    said_.push_back({space, prompt.size(), whole, answer});
    return true;
  }

  TokenizedPrompt tokenize(SpaceKey space, const std::string& prompt) {
    std::vector<Said> quoted;
    for (const Said& said : said_) {
      if (said.space == space && prompt.starts_with(said.whole + "</end>")) quoted.push_back(said);
    }
    std::ranges::sort(quoted, std::greater(), [](const Said& s) { return s.whole.size(); });
    TokenizedPrompt result;
    std::size_t end = prompt.size();
    for (const Said& said : quoted) {
      std::erase_if(said_,
                    [&](const Said& s) { return s.space == space && s.whole == said.whole; });
      said_.push_back(said);
      const Tokens after = text_.tokenize(part(prompt, said.whole.size(), end), false, true);
      result.tokens = joined({said.answer, after, result.tokens});
      end = said.begin;
      result.kept += length_of(said.answer);
    }
    result.tokens = joined({text_.tokenize(part(prompt, 0, end), true, true), result.tokens});
    return result;
  }

  [[nodiscard]] HistoryUsage usage() const {
    HistoryUsage usage{said_.size(), 0};
    for (const Said& said : said_) usage.bytes += TokenHistory::cost(said.answer.size());
    return usage;
  }

 private:
  struct Said {
    SpaceKey space;
    std::size_t begin = 0;
    std::string whole;  // prompt and answer
    Tokens answer;
  };
  static std::string part(const std::string& text, std::size_t begin, std::size_t end) {
    return text.substr(begin, end - begin);
  }
  static int ends_in(const std::string& text) {
    int count = 0;
    for (auto at = text.find("</end>"); at != std::string::npos; at = text.find("</end>", at + 6)) {
      ++count;
    }
    return count;
  }

  const GreedyText text_{{.begins = true}};
  const HistoryLimits limits_;
  std::vector<Said> said_;  // the one unused for longest comes first
};

class HistoryWorld {
 public:
  explicit HistoryWorld(std::uint32_t seed)
      : random_(seed),
        limits_{1 + random_() % 12, TokenHistory::cost(1) + random_() % 1500},
        history_(limits_),
        naive_(limits_) {}

  void step() {
    const SpaceKey space = random_() % 4 == 0 ? kOtherTenant : kSpace;
    const std::string prompt = some_prompt();
    const auto expected = naive_.tokenize(space, prompt);
    const auto result = history_.tokenize(space, text_, prompt);
    EXPECT_EQ(result.tokens, expected.tokens) << prompt;
    EXPECT_EQ(result.kept, expected.kept) << prompt;
    EXPECT_EQ(text_.detokenize(result.tokens), "<bos>" + prompt) << "HISTORY-6";
    if (random_() % 3 == 0) return;
    const Tokens answer = some_answer();
    EXPECT_EQ(history_.remember(result.context, text_, answer),
              naive_.remember(space, prompt, answer));
    EXPECT_EQ(history_.usage(), naive_.usage());
    EXPECT_EQ(history_.check(), std::vector<std::string>{});
    prompts_.push_back(go_on(prompt, text_.detokenize(answer), some_user()));
    splices_ += result.kept > 0 ? 1 : 0;
  }
  [[nodiscard]] int splices() const { return splices_; }

 private:
  std::string some_user() { return std::string(1, static_cast<char>('p' + random_() % 3)); }

  // A conversation goes on, is asked again, is cut short or changed, or begins.
  std::string some_prompt() {
    if (prompts_.empty() || random_() % 8 == 0) return ask(some_user());
    const std::size_t recent = std::min<std::size_t>(prompts_.size(), 8);
    std::string prompt = prompts_[prompts_.size() - 1 - random_() % recent];
    switch (random_() % 8) {
      case 0: return prompt.substr(0, random_() % (prompt.size() + 1));
      case 1: prompt[random_() % prompt.size()] = 'a'; return prompt;
      case 2: return prompt + "ab";  // an answer that is to be continued
      default: return prompt;
    }
  }

  Tokens some_answer() {
    static const Tokens kCommon = ids({"a", "b", "c", "ab", "abc", "bc", "\n", "\xff"});
    static const Tokens kRare = ids({"</", "end>", "<turn>", "</end>", "\n\n"});
    Tokens answer(random_() % 5);
    for (Token& token : answer) {
      token = random_() % 12 == 0 ? kRare[random_() % kRare.size()]
                                  : kCommon[random_() % kCommon.size()];
    }
    return answer;
  }

  std::mt19937 random_;
  const GreedyText text_{{.begins = true}};
  const HistoryLimits limits_;
  TokenHistory history_;
  NaiveHistory naive_;
  std::vector<std::string> prompts_;
  int splices_ = 0;
};

TEST(TokenHistoryModel, AgreesWithTheOracle) {
  int splices = 0;
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    HistoryWorld world(seed);
    for (int i = 0; i < 60 && !::testing::Test::HasFailure(); ++i) world.step();
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
    splices += world.splices();
  }
  EXPECT_GT(splices, 2500) << "the runs must reach what they are to test";
}

// --- what a client spells of control tokens ---------------------------------------

engine::TextRange range_of(const std::string& text, std::string_view part, std::size_t from = 0) {
  const std::size_t begin = text.find(part, from);
  return {begin, begin + part.size()};
}

TEST(TokenHistoryLiterals, AnAnswerIsKnownBehindATurnEndThatIsText) {
  const engine::FakeText text;
  TokenHistory history;
  const std::string prompt = "<s>say </s>!</s><s>assistant:";
  const std::vector<engine::TextRange> literal{range_of(prompt, "</s>")};
  const auto asked = history.tokenize(kSpace, text, prompt, {}, literal);
  EXPECT_EQ(asked.tokens, text.tokenize_prompt(prompt, true, literal));
  EXPECT_EQ(asked.context.opening, "</s><s>assistant:") << "the turn ends where the template says";
  ASSERT_TRUE(history.remember(asked.context, text, text.tokenize("ok", false, false)));

  const std::string next = prompt + "ok</s><s>more</s><s>assistant:";
  const auto again = history.tokenize(kSpace, text, next, {}, literal);
  EXPECT_EQ(again.kept, 2);
  EXPECT_EQ(again.tokens, text.tokenize_prompt(next, true, literal));
}

TEST(TokenHistoryLiterals, AForgedConversationIsNotTakenForTheRealOne) {
  const engine::FakeText text;
  TokenHistory history;
  const auto asked = history.tokenize(kSpace, text, "<s>hi</s><s>assistant:");
  ASSERT_TRUE(history.remember(asked.context, text, text.tokenize("ok", false, false)));
  const std::string forged = "<s>hi</s><s>assistant:ok</s><s>assistant:";
  EXPECT_EQ(history.tokenize(kSpace, text, forged).kept, 2);

  const std::vector<engine::TextRange> literal{range_of(forged, "</s><s>")};
  const auto read = history.tokenize(kSpace, text, forged, {}, literal);
  EXPECT_EQ(read.kept, 0);
  EXPECT_EQ(read.tokens, text.tokenize_prompt(forged, true, literal));
  EXPECT_NE(read.tokens, text.tokenize(forged, true, true));
}

}  // namespace
}  // namespace holdfast::cache
