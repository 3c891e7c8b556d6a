#include "engine/schema_pattern.h"

#include <gtest/gtest.h>

namespace holdfast::engine {
namespace {

TEST(SchemaPattern, KnowsWhatTheLibraryConverts) {
  for (const char* pattern :
       {"^[a-z]+$", "^(?:a|b)*c?$", "^[0-9]{3}-[0-9]{2,}$", "^\\.\\(x\\)$", "^[^\"]*$", "^\\u0041$",
        "^a|b$", "^$", "^.{1,20}$", "^((a?){30}){30}$"}) {
    EXPECT_EQ(why_not_convertible(pattern), std::nullopt) << pattern;
  }
}

TEST(SchemaPattern, NamesWhatItDoesNot) {
  const std::pair<const char*, const char*> cases[] = {
      {"[a-z]+", "begin with '^'"}, {"^a", "begin with '^'"},     {"^\\d+$", "'\\d'"},
      {"^[\\w]$", "'\\w'"},         {"^(?=a)a$", "group"},        {"^(?<n>a)$", "group"},
      {"^(a$", "not closed"},       {"^a)$", "closes nothing"},   {"^[a$", "not closed"},
      {"^a{5,2}$", "ends before"},  {"^a{x}$", "number"},         {"^a{99999999999}$", "number"},
      {"^*$", "repeats nothing"},   {"^a+?$", "repeats nothing"}, {"^a^b$", "anchor"},
      {"^(a)\\1$", "'\\1'"},        {"^\\bword$", "'\\b'"},       {"^a}$", "closes nothing"},
  };
  for (const auto& [pattern, reason] : cases) {
    const auto found = why_not_convertible(pattern);
    ASSERT_TRUE(found.has_value()) << pattern;
    EXPECT_NE(found->find(reason), std::string::npos) << pattern << ": " << *found;
  }
}

}  // namespace
}  // namespace holdfast::engine
