#include "engine/llama/schema_meter.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace holdfast::llama {
namespace {

constexpr std::size_t kAmple = 5'000'000;

std::string optional_properties(int count) {
  std::string text = R"({"type":"object","properties":{)";
  for (int i = 0; i < count; ++i) {
    text += (i > 0 ? "," : "") + std::string("\"p") + std::to_string(i) + R"(":{"type":"string"})";
  }
  return text + "}}";
}

// Steps that metering takes; nothing: the schema is refused.
std::optional<std::size_t> steps_of(const std::string& schema, std::size_t limit = kAmple) {
  SchemaBudget budget{limit, limit};
  const auto read = read_metered_schema(schema, OtherPatterns::kRefused, budget);
  EXPECT_LE(budget.steps_left, limit) << "METER-2: more was spent than there is";
  if (!read) return std::nullopt;
  return limit - budget.steps_left;
}

// The converter writes each optional property once for every set of those before it that it may
// follow: twice the properties are eight times the work.
TEST(SchemaMeter, METER1OptionalPropertiesCostWhatTheConverterDoesWithThem) {
  const auto some = steps_of(optional_properties(50));
  const auto twice = steps_of(optional_properties(100));
  ASSERT_TRUE(some && twice);
  EXPECT_GT(*twice, 5 * *some);
  EXPECT_FALSE(steps_of(optional_properties(2000))) << "it would take minutes";
}

TEST(SchemaMeter, METER2WhatIsBeyondTheBudgetIsRefusedWithinIt) {
  const std::string schema = optional_properties(100);
  const auto needed = steps_of(schema);
  ASSERT_TRUE(needed);
  for (const std::size_t limit : {std::size_t{1}, *needed / 2, *needed - 1})
    EXPECT_FALSE(steps_of(schema, limit)) << limit;
  EXPECT_TRUE(steps_of(schema, *needed + 1));
}

TEST(SchemaMeter, METER3ASchemaWithoutAnAnswerIsRefused) {
  const char* const contradictions[] = {
      R"({"type":"string","minLength":10,"maxLength":5})",
      R"({"type":"array","items":{"type":"integer"},"minItems":3,"maxItems":2})",
  };
  for (const char* schema : contradictions) EXPECT_FALSE(steps_of(schema)) << schema;
  EXPECT_TRUE(steps_of(R"({"type":"string","minLength":5,"maxLength":10})"));
}

}  // namespace
}  // namespace holdfast::llama
