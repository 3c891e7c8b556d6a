#include "api/json_fields.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace holdfast::api {
namespace {

std::string repeat(std::string_view text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

std::string parse_message(std::string_view text, const JsonLimits& limits = {}) {
  const Result<Json> parsed = parse_json(text, limits);
  return parsed.ok() ? "" : parsed.error().message;
}

std::string json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

TEST(ParseJson, StopsAtTheDepthLimit) {
  EXPECT_TRUE(parse_json(repeat("[", 128) + repeat("]", 128)).ok());
  EXPECT_NE(parse_message(repeat("[", 129) + repeat("]", 129)).find("deeper than 128"),
            std::string::npos);
}

TEST(ParseJson, HundredThousandBracketsDoNotOverflowTheStack) {
  EXPECT_NE(parse_message(repeat("[", 100'000)), "");
  EXPECT_NE(parse_message(repeat("{\"a\":", 100'000)), "");
}

TEST(ParseJson, CountsValues) {
  const JsonLimits limits{.depth_max = 8, .values_max = 4};
  EXPECT_TRUE(parse_json("[1,2,3]", limits).ok());
  const Result<Json> refused = parse_json("[1,2,3,4]", limits);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kTooLarge);
}

// ordered_json searches all keys for each new one; ours must not.
TEST(ParseJson, ManyKeysInLinearTime) {
  std::string text = "{";
  for (int i = 0; i < 300'000; ++i) text += '"' + std::to_string(i) + "\":0,";
  text += "\"last\":1}";
  const Result<Json> parsed = parse_json(text);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->size(), 300'001U);
}

TEST(ParseJson, KeepsTheOrderOfKeys) {
  const std::string text = R"({"b":1,"a":[true,null,-2,1.5,"x"],"0":{}})";
  EXPECT_EQ(json_text(*parse_json(text)), text);
}

TEST(ParseJson, SaysWhatIsWrong) {
  struct Case {
    std::string text;
    std::string part;
  };
  const Case cases[] = {
      {"", "not valid JSON at byte 1"},
      {"{\"a\":", "not valid JSON"},
      {"{\"a\":tru}", "invalid literal"},
      {"[1] 2", "not valid JSON"},
      {"\"\xFF\"", "not valid UTF-8 at byte 1"},
      {"\"\xED\xA0\x80\"", "not valid UTF-8 at byte 1"},  // a surrogate
      {"\"\xC0\xAF\"", "not valid UTF-8 at byte 1"},      // overlong
      {"\"ab\xE2\x82\"", "not valid UTF-8 at byte 3"},    // cut short
      {R"("\ud800")", "surrogate"},
      {"1e999", "a number is too large"},
      {R"({"a":1,"b":2,"a":3})", "twice"},
  };
  for (const Case& c : cases)
    EXPECT_NE(parse_message(c.text).find(c.part), std::string::npos)
        << c.text << " -> " << parse_message(c.text);
}

TEST(ParseJson, DoesNotRepeatTheClientsText) {
  EXPECT_LT(parse_message('"' + repeat("x", 10'000)).size(), 200U);
  EXPECT_LT(parse_message(repeat("9", 10'000)).size(), 200U);
}

class Fields : public testing::Test {
 protected:
  JsonFields fields(std::string_view text) {
    json_ = *parse_json(text);
    error_.emplace();
    return {json_, "", *error_};
  }
  std::string param() const { return error_->empty() ? "" : error_->get().param; }
  std::string message() const { return error_->empty() ? "" : error_->get().message; }

  Json json_;
  std::optional<FirstError> error_;
};

TEST_F(Fields, NullIsAbsent) {
  const JsonFields f = fields(R"({"x":null})");
  EXPECT_FALSE(f.has("x"));
  EXPECT_FALSE(f.text("x") || f.boolean("x") || f.number("x", 0, 1) || f.integer("x", 0, 1));
  EXPECT_FALSE(f.texts("x", 1, 1) || f.object("x") || f.array("x"));
  EXPECT_TRUE(error_->empty());
}

TEST_F(Fields, BoundsAreAllowedValues) {
  const JsonFields f = fields(R"({"lo":-2,"hi":2.0,"over":2.0001})");
  EXPECT_EQ(f.number("lo", -2, 2), -2.0);
  EXPECT_EQ(f.number("hi", -2, 2), 2.0);
  EXPECT_EQ(f.number("over", -2, 2), std::nullopt);
  EXPECT_EQ(message(), "'over' must be between -2 and 2");
}

TEST_F(Fields, IntegersMayBeWrittenAsFloats) {
  EXPECT_EQ(fields(R"({"x":3.0})").integer("x", 0, 9), 3);
  EXPECT_EQ(fields(R"({"x":3.5})").integer("x", 0, 9), std::nullopt);
  EXPECT_EQ(param(), "x");
  EXPECT_EQ(fields(R"({"x":1e300})").integer("x", 0, 9), std::nullopt);
  EXPECT_EQ(fields(R"({"x":18446744073709551615})")
                .integer("x", std::numeric_limits<std::int64_t>::min(),
                         std::numeric_limits<std::int64_t>::max()),
            std::nullopt);
}

TEST_F(Fields, KeepsOnlyTheFirstMistake) {
  const JsonFields f = fields(R"({"a":1,"b":2})");
  EXPECT_FALSE(f.text("a"));
  EXPECT_FALSE(f.boolean("b"));
  EXPECT_EQ(param(), "a");
}

TEST_F(Fields, PathsNameElementsAndMembers) {
  const JsonFields f = fields(R"({"m":[{},{"o":{"t":1}}]})");
  EXPECT_FALSE(f.element(*f.array("m"), "m", 1)->object("o")->text("t"));
  EXPECT_EQ(param(), "m[1].o.t");
  EXPECT_EQ(message(), "'m[1].o.t' must be a string");
}

TEST_F(Fields, TextsRefusesEmptyLongAndForeign) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"s":["a",""]})", "s[1]"},   {R"({"s":["abcd"]})", "s[0]"}, {R"({"s":[1]})", "s[0]"},
      {R"({"s":["a","b","c"]})", "s"}, {R"({"s":"a"})", "s"},
  };
  for (const auto& [text, where] : cases) {
    (void)fields(text).texts("s", 2, 3);
    EXPECT_EQ(param(), where) << text;
  }
}

TEST(AppendJsonString, EscapesAndRepairs) {
  EXPECT_EQ(json_string("a\"b\\c\n\r\t\x01\x1f\x7f/"),
            "\"a\\\"b\\\\c\\n\\r\\t\\u0001\\u001f\x7f/\"");
  EXPECT_EQ(json_string("h\xC3\xA9\xF0\x9F\x98\x80"), "\"h\xC3\xA9\xF0\x9F\x98\x80\"");
  EXPECT_EQ(json_string("\xE2\x82"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
  EXPECT_EQ(json_string("\xFFz"), "\"\xEF\xBF\xBDz\"");
  EXPECT_EQ(json_string(std::string_view("\0", 1)), "\"\\u0000\"");
}

// Every pair of bytes, against the library's own reader.
TEST(AppendJsonString, AlwaysGivesValidJson) {
  for (int a = 0; a < 256; ++a)
    for (int b = 0; b < 256; ++b) {
      const std::string text = {static_cast<char>(a), static_cast<char>(b)};
      ASSERT_TRUE(Json::accept(json_string(text))) << a << ' ' << b;
    }
}

TEST(Utf8Length, AgreesWithTheLibraryOnEveryLeadAndSecondByte) {
  for (int lead = 0x80; lead < 256; ++lead)
    for (int second = 0; second < 256; ++second) {
      const std::string text = {static_cast<char>(lead), static_cast<char>(second), '\x80', '\x80'};
      const std::size_t length = utf8_length_at(text, 0);
      bool accepted = false;
      for (std::size_t n = 1; n <= 4; ++n)
        accepted = accepted || Json::accept('"' + text.substr(0, n) + '"');
      ASSERT_EQ(length != 0, accepted) << lead << ' ' << second;
    }
}

TEST(AppendJsonNumber, HasNoInfinities) {
  std::string out;
  append_json_number(out, std::numeric_limits<double>::infinity());
  append_json_number(out, 0.5);
  append_json_number(out, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(out, "null0.5-9223372036854775808");
}

TEST(ObjectWriter, NestsAndSeparates) {
  std::string out;
  {
    ObjectWriter outer(out);
    outer.integer("a", 1);
    { ObjectWriter inner(outer.key("b")); }
    outer.text("c", "x");
  }
  EXPECT_EQ(out, R"({"a":1,"b":{},"c":"x"})");
}

}  // namespace
}  // namespace holdfast::api
