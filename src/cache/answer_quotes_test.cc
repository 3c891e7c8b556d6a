#include "cache/answer_quotes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/testing/fake.h"

namespace holdfast::cache {
namespace {

const std::string kHeader = "<s>assistant:";

std::string user(const std::string& text) { return "<s>user:" + text + "</s>"; }
std::string said(const std::string& text) { return kHeader + text + "</s>"; }

// The same letters but for spaces.
bool same_letters(const QuotedAnswer& answer, std::string_view rendered) {
  std::string a = answer.sampled;
  std::string b(rendered);
  std::erase(a, ' ');
  std::erase(b, ' ');
  return a == b;
}

class AnswerQuotesTest : public ::testing::Test {
 protected:
  // What the model said after `prompt`, in the message of that number.
  QuotedAnswer answer(const std::string& prompt, const std::string& text, std::size_t message) {
    const auto context = history_.tokenize({1, 2}, text_, prompt).context;
    QuotedAnswer made;
    made.message = message;
    made.sampled = text;
    made.answer.ids = text_.tokenize(text, false, false);
    made.answer.opening_bytes = context.opening.size();
    made.answer.opening_hash = TokenHistory::opening_hash(context.opening);
    made.answer.text_bytes = text.size();
    return made;
  }
  QuotedPrompt quote(const std::string& conversation, std::size_t messages,
                     const std::vector<QuotedAnswer>& answers) {
    engine::RenderedChat chat;
    chat.prompt = conversation + kHeader;
    chat.generation_prompt = kHeader;
    const QuotedPrompt quoted = quote_answers(text_, chat, messages, answers, same_letters);
    EXPECT_EQ(quoted.used.size(), answers.size());
    EXPECT_EQ(std::ranges::count(quoted.used, true), std::ssize(quoted.quotes));
    for (const Quote& one : quoted.quotes) {
      EXPECT_EQ(quoted.text.substr(one.begin, one.end - one.begin), text_.detokenize(one.ids));
      EXPECT_TRUE(std::string_view(quoted.text).substr(one.end).starts_with("</s>"));
    }
    return quoted;
  }

  engine::FakeText text_;
  TokenHistory history_;
};

TEST_F(AnswerQuotesTest, SampledTextTakesThePlaceOfWhatWasRendered) {
  const auto first = answer(user("hi") + kHeader, "a  b", 0);
  const auto quoted = quote(user("hi") + said("ab") + user("and?"), 1, {first});
  EXPECT_EQ(quoted.used, std::vector{true});
  EXPECT_EQ(quoted.text, user("hi") + said("a  b") + user("and?") + kHeader);
}

TEST_F(AnswerQuotesTest, WhatIsLiteralMovesWithTheTextBeforeIt) {
  const auto first = answer(user("hi") + kHeader, "a  b", 0);
  engine::RenderedChat chat;
  chat.generation_prompt = kHeader;
  chat.prompt = user("hi") + said("ab") + user("see </s>!") + kHeader;
  const std::size_t forged = chat.prompt.find("see ") + 4;
  chat.literal = {{forged, forged + 4}};
  const QuotedPrompt quoted = quote_answers(text_, chat, 1, {first}, same_letters);
  EXPECT_EQ(quoted.text, user("hi") + said("a  b") + user("see </s>!") + kHeader);
  EXPECT_EQ(quoted.literal, (std::vector<engine::TextRange>{{forged + 2, forged + 6}}));
}

TEST_F(AnswerQuotesTest, SeveralAreQuotedEachInItsOwnMessage) {
  const std::string start = user("hi") + said("ab") + user("x") + said("ab") + user("y");
  const auto second = answer(user("x") + kHeader, "a b", 1);
  EXPECT_EQ(quote(start, 2, {second}).text,
            user("hi") + said("ab") + user("x") + said("a b") + user("y") + kHeader)
      << "not in the first, which reads the same";
  const auto first = answer(user("hi") + kHeader, " ab", 0);
  EXPECT_EQ(quote(start, 2, {first, second}).text,
            user("hi") + said(" ab") + user("x") + said("a b") + user("y") + kHeader);
}

TEST_F(AnswerQuotesTest, WhatSaysSomethingElseIsLeftAlone) {
  const auto first = answer(user("hi") + kHeader, "a b", 0);
  const std::string edited = user("hi") + said("ac") + user("and?");
  EXPECT_EQ(quote(edited, 1, {first}).used, std::vector{false});
  EXPECT_EQ(quote(edited, 1, {first}).text, edited + kHeader);
}

// The template opens the answer otherwise: its thoughts are left out.
TEST_F(AnswerQuotesTest, ATurnThatOpensOtherwiseIsLeftAlone) {
  const auto first = answer(user("hi") + kHeader + "<think>", "hm</think>a b", 0);
  const std::string stripped = user("hi") + said("a b") + user("and?");
  EXPECT_EQ(quote(stripped, 1, {first}).text, stripped + kHeader);
  const std::string whole = user("hi") + said("<think>hm</think>ab") + user("and?");
  EXPECT_EQ(quote(whole, 1, {first}).used, std::vector{true});
}

// A template may join messages, or show some that it was not given: then each answer is
// looked for behind the one before it.
TEST_F(AnswerQuotesTest, WithoutKnowingTheTurnTheyAreFoundInOrder) {
  const auto first = answer(user("hi") + kHeader, "a b", 0);
  const auto second = answer(user("x") + kHeader, "ab ", 5);
  const std::string prompt = user("hi") + said("ab") + user("x") + said("ab") + user("y");
  EXPECT_EQ(quote(prompt, 7, {first, second}).text,
            user("hi") + said("a b") + user("x") + said("ab ") + user("y") + kHeader);
}

TEST_F(AnswerQuotesTest, NamesOfMessagesThatAreNotThereAreHarmless) {
  const auto far = answer(user("hi") + kHeader, "ab", 9);
  EXPECT_EQ(quote(user("hi") + said("ab") + user("x"), 1, {far}).used, std::vector{false});
  EXPECT_EQ(quote("", 0, {far}).used, std::vector{false});
}

}  // namespace
}  // namespace holdfast::cache
