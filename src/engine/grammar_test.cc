// Compiling grammars: what is refused, and that it costs no more than its limit.
#include "engine/grammar.h"

#include <gtest/gtest.h>

namespace holdfast::engine {
namespace {

Result<Grammar> compile(std::string_view text, GrammarLimits limits = {}) {
  return Grammar::compile(text, limits, [](std::string_view name) {
    return name == "<end>" ? std::optional<Token>(7) : std::nullopt;
  });
}

std::string complaint(std::string_view text) {
  const auto grammar = compile(text);
  return grammar ? "" : grammar.error().message;
}

TEST(Grammar, SaysWhatIsWrongWithAText) {
  EXPECT_NE(complaint("root ::= (").find("')' is missing"), std::string::npos);
  EXPECT_NE(complaint("a ::= \"x\"").find("no rule named 'root'"), std::string::npos);
  EXPECT_NE(complaint("root ::= b").find("'b' is not defined"), std::string::npos);
  EXPECT_NE(complaint("root ::= \"a\"\nroot ::= \"b").find("line 2"), std::string::npos);
  EXPECT_NE(complaint("root ::= \"a\"{10,5}").find("{10,5} ends before it begins"),
            std::string::npos);
  EXPECT_NE(complaint("root ::= \"a\"{99999999999999999999}").find("65536"), std::string::npos);
  EXPECT_NE(complaint("root ::= <begin>").find("not one token"), std::string::npos);
  EXPECT_NE(complaint("root ::= *").find("before a repetition"), std::string::npos);
  EXPECT_NE(complaint("root ::= \"\xC3\"").find("UTF-8"), std::string::npos);
  EXPECT_EQ(complaint("root ::= <end> !<end> <[3]>"), "");
}

TEST(Grammar, GRAMMAR1RepetitionsAreWrittenOutUpToTheLimit) {
  const auto small = compile("root ::= [a-z]{0,60000}");
  ASSERT_TRUE(small.ok()) << small.error().message;
  EXPECT_LE(small->size(), GrammarLimits{}.elements());

  std::string many = "root ::= ";
  for (int i = 0; i < 100; ++i) many += "\"a\"{60000} ";
  const auto large = compile(many);
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.error().code, ErrorCode::kTooLarge);
  EXPECT_TRUE(compile(many, GrammarLimits{.factor = 10}).ok());
}

// A long literal is not copied for each round.
TEST(Grammar, GRAMMAR1ARepeatedLiteralIsOneRule) {
  const auto grammar = compile("root ::= \"" + std::string(1000, 'a') + "\"{60000}");
  ASSERT_TRUE(grammar.ok()) << grammar.error().message;
  EXPECT_LT(grammar->size(), 62'000U);
}

TEST(Grammar, GRAMMAR2LeftRecursionIsRefusedWhereAStackWouldGrow) {
  for (const char* text : {
           "root ::= root \"a\" | \"b\"", "root ::= a\na ::= b \"x\"\nb ::= a \"y\" | \"z\"",
           "root ::= e root \"a\" | \"b\"\ne ::= f\nf ::= \"c\"?",  // the library hangs on it
       }) {
    EXPECT_NE(complaint(text).find("left recursion"), std::string::npos) << text;
  }
  for (const char* text : {
           "root ::= (\"a\"*)* \"b\"",
           "root ::= ((\"a\"?){3}){3}",
           "root ::= \"a\" root | \"b\"",
           "root ::= e root | \"b\"\ne ::= \"c\"?",
       }) {
    EXPECT_EQ(complaint(text), "") << text;
  }
}

TEST(Grammar, GRAMMAR1DeepChainsOfRulesNeedNoDeepStack) {
  std::string chain = "root ::= r0\n";
  for (int i = 0; i < 100'000; ++i) {
    chain += "r" + std::to_string(i) + " ::= r" + std::to_string(i + 1) + "\n";
  }
  EXPECT_EQ(complaint(chain + "r100000 ::= \"a\""), "");
  EXPECT_NE(complaint(chain + "r100000 ::= root \"a\"").find("left recursion"), std::string::npos);
  EXPECT_NE(complaint("root ::= " + std::string(100'000, '(')).find("too deep"), std::string::npos);
}

TEST(Grammar, GRAMMAR3AClassIsAlikeForEverySet) {
  const auto grammar = compile("root ::= [a-fx] [^c-z] \"é\" .");
  ASSERT_TRUE(grammar.ok());
  for (std::uint32_t c = 0; c < 0x200; ++c) {
    const std::uint32_t member = grammar->member(grammar->class_of(c));
    for (Grammar::Position at = grammar->root(); !grammar->at(at).ends_alternative();
         at = grammar->after_set(at)) {
      EXPECT_EQ(grammar->set_holds(at, c), grammar->set_holds(at, member)) << c;
    }
  }
}

}  // namespace
}  // namespace holdfast::engine
