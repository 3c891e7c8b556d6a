#include "api/infill.h"

#include "api/testing/test_server.h"

namespace holdfast::api {
namespace {

constexpr engine::FillTokens kFill{
    .begin = std::nullopt, .prefix = 1, .suffix = 2, .middle = 3, .repository = 4, .file = 5};
constexpr InfillRoom kAmple{.context = 4096, .batch = 2048};

Tokens letters(const std::string& text) { return engine::FakeText().tokenize(text, false, false); }

Tokens joined(const std::vector<Tokens>& parts) {
  Tokens all;
  for (const Tokens& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

InfillRequest request_of(const std::string& json) {
  auto request = decode_infill_request(json, {});
  EXPECT_TRUE(request.ok()) << request.error().message;
  return request.ok() ? std::move(*request) : InfillRequest{};
}

Tokens prompt_of(const std::string& json, const InfillRoom& room = kAmple,
                 const engine::FillTokens& fill = kFill) {
  engine::FakeText text;
  text.set_fill(fill);
  auto prompt = infill_prompt(text, request_of(json), room);
  EXPECT_TRUE(prompt.ok()) << prompt.error().message;
  return prompt.ok() ? *prompt : Tokens{};
}

TEST(Infill, WhatChangesStandsLast) {
  EXPECT_EQ(prompt_of(R"({"input_prefix":"ab","input_suffix":"yz","prompt":"c",
                          "input_extra":[{"filename":"f","text":"t"}]})"),
            joined({{4},
                    letters("myproject\n"),
                    {5},
                    letters("f\nt"),
                    {5},
                    letters("filename\n"),
                    {1},
                    letters("abc"),
                    {2},
                    letters("yz"),
                    {3}}));
}

TEST(Infill, VocabulariesWithoutFilesGetText) {
  const engine::FillTokens plain{.prefix = 1, .suffix = 2, .middle = 3};
  EXPECT_EQ(
      prompt_of(R"({"input_prefix":"a","input_suffix":"z","input_extra":[{"text":"t"}]})", kAmple,
                plain),
      joined({letters("\n\n--- snippet ---\n\nt"), {1}, letters("a"), {2}, letters("z"), {3}}));
}

TEST(Infill, NearTheCursorIsKept) {
  const InfillRoom small{.context = 4096, .batch = 16};  // 12 before, 4 - 2 - 1 after
  const engine::FillTokens plain{.prefix = 1, .suffix = 2, .middle = 3};
  EXPECT_EQ(prompt_of(R"({"input_prefix":"abcdefghijklmnop","input_suffix":"xyz","prompt":"q"})",
                      small, plain),
            joined({{1}, letters("efghijklmnopq"), {2}, letters("x"), {3}}));
}

TEST(Infill, ExtraFilesTakeWhatTheContextLeaves) {
  const engine::FillTokens plain{.prefix = 1, .suffix = 2, .middle = 3};
  const InfillRoom tight{.context = 20, .batch = 16, .answer = 1};  // 20 - 16 - 2 = 2
  EXPECT_EQ(prompt_of(R"({"input_prefix":"","input_suffix":"","input_extra":[{"text":"stuv"}]})",
                      tight, plain),
            joined({letters("uv"), {1}, {2}, {3}}));
}

TEST(Infill, MistakesAreNamed) {
  const auto param = [](const std::string& json) {
    const auto request = decode_infill_request(json, {});
    return request.ok() ? "" : request.error().param;
  };
  EXPECT_EQ(param(R"({"input_suffix":""})"), "input_prefix");
  EXPECT_EQ(param(R"({"input_prefix":""})"), "input_suffix");
  EXPECT_EQ(param(R"({"input_prefix":"","input_suffix":"","prompt":5})"), "prompt");
  EXPECT_EQ(param(R"({"input_prefix":"","input_suffix":"","input_extra":{}})"), "input_extra");
  EXPECT_EQ(param(R"({"input_prefix":"","input_suffix":"","input_extra":[{}]})"),
            "input_extra[0].text");
  EXPECT_EQ(
      param(R"({"input_prefix":"","input_suffix":"","input_extra":[{"text":"a","filename":1}]})"),
      "input_extra[0].filename");
}

TEST(Infill, TextsAreBounded) {
  const std::string half(std::size_t{4} << 20U, 'a');
  const std::string both = R"({"input_prefix":")" + half + R"(","input_suffix":")" + half + "\"";
  EXPECT_TRUE(decode_infill_request(both + "}", {}).ok());
  const auto more = decode_infill_request(both + R"(,"prompt":"b"})", {});
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.error().code, ErrorCode::kTooLarge);
}

TEST(Infill, ModelsThatCannotSaySo) {
  TestServer server;
  server.load();
  const auto answer = server.ask("POST", "/infill", R"({"input_prefix":"a","input_suffix":"b"})");
  EXPECT_EQ(answer.status, 501);
  EXPECT_NE(answer.body.find("prefix suffix middle"), std::string::npos) << answer.body;
}

}  // namespace
}  // namespace holdfast::api
