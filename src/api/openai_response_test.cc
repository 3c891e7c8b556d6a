#include "api/openai_response.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "api/openai_chunks.h"
#include "api/openai_errors.h"

namespace holdfast::api {
namespace {

using nlohmann::json;

const ReplyHead kHead{.id = "chatcmpl-1",
                      .created = 1700000000,
                      .model = "a \"model\"",
                      .system_fingerprint = "hf-1"};
const Usage kUsage{.prompt_tokens = 10, .completion_tokens = 5, .cached_tokens = 8};
const serve::Timings kTimings{.cached_tokens = 8,
                              .prompt_tokens = 2,
                              .prompt_ms = 4.0,
                              .predicted_tokens = 5,
                              .predicted_ms = 10.0,
                              .queued_ms = 0.0};

// Every builder's output has to be JSON; a mistake shows as a discarded value.
json parsed(const std::string& text) {
  json value = json::parse(text, nullptr, false);
  EXPECT_FALSE(value.is_discarded()) << text;
  return value;
}

void expect_head(const json& object, const char* kind) {
  EXPECT_EQ(object["id"], "chatcmpl-1");
  EXPECT_EQ(object["object"], kind);
  EXPECT_EQ(object["created"], 1700000000);
  EXPECT_EQ(object["model"], "a \"model\"");
  EXPECT_EQ(object["system_fingerprint"], "hf-1");
}

json only_choice(const json& chunk) {
  EXPECT_EQ(chunk["choices"].size(), 1U);
  return chunk["choices"][0];
}

json delta_of(const engine::ReplyDelta& delta) {
  const json chunk = parsed(chat_delta_chunk(ChunkHead::chat(kHead), 1, delta));
  expect_head(chunk, "chat.completion.chunk");
  EXPECT_EQ(only_choice(chunk)["index"], 1);
  EXPECT_EQ(only_choice(chunk)["finish_reason"], nullptr);
  EXPECT_FALSE(chunk.contains("timings"));
  return only_choice(chunk)["delta"];
}

engine::ReplyDelta content_delta(std::string content) {
  engine::ReplyDelta delta;
  delta.content = std::move(content);
  return delta;
}

std::vector<TokenLogprobs> some_logprobs() {
  return {{.chosen = {7, "h\xC3\xA9", -0.5F}, .top = {{7, "h\xC3\xA9", -0.5F}, {8, "x", -2.0F}}},
          {.chosen = {9, "\xE2", -std::numeric_limits<float>::infinity()},
           .top = {{9, "\xE2", -1.0F}, {10, "\xE2", -3.0F}}}};
}

TEST(ChatCompletion, HasOpenAisShape) {
  ChatChoice choice;
  choice.reply = {.reasoning = "r", .content = "c", .tool_calls = {}};
  const json object = parsed(chat_completion(kHead, {choice}, kUsage, kTimings));
  expect_head(object, "chat.completion");
  EXPECT_EQ(only_choice(object), json::parse(R"({"index":0,"finish_reason":"stop","logprobs":null,
                "message":{"role":"assistant","content":"c","reasoning_content":"r"}})"));
  EXPECT_EQ(object["usage"],
            json::parse(R"({"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,
                "prompt_tokens_details":{"cached_tokens":8}})"));
}

TEST(ChatCompletion, TimingsHaveLlamaServersNames) {
  const json object = parsed(chat_completion(kHead, {}, kUsage, kTimings));
  EXPECT_EQ(object["timings"],
            json::parse(R"({"cache_n":8,"prompt_n":2,"prompt_ms":4.0,"prompt_per_token_ms":2.0,
                "prompt_per_second":500.0,"predicted_n":5,"predicted_ms":10.0,
                "predicted_per_token_ms":2.5,"predicted_per_second":400.0})"));
}

TEST(ChatCompletion, NothingDoneDividesByNothing) {
  const json timings = parsed(chat_completion(kHead, {}, {}, {}))["timings"];
  EXPECT_EQ(timings["prompt_per_second"], 0.0);
  EXPECT_EQ(timings["predicted_per_token_ms"], 0.0);
}

TEST(ChatCompletion, CallsWithoutTextHaveNullContent) {
  ChatChoice choice;
  choice.index = 2;
  choice.reply.tool_calls = {{.id = "c1", .name = "f", .arguments = "{\"a\":1}"},
                             {.id = "c2", .name = "g", .arguments = "{}"}};
  const json object = only_choice(parsed(chat_completion(kHead, {choice}, kUsage, kTimings)));
  EXPECT_EQ(object["finish_reason"], "tool_calls");
  EXPECT_EQ(object["message"], json::parse(R"({"role":"assistant","content":null,"tool_calls":[
      {"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},
      {"id":"c2","type":"function","function":{"name":"g","arguments":"{}"}}]})"));
}

TEST(ChatCompletion, Logprobs) {
  ChatChoice choice;
  choice.logprobs = some_logprobs();
  const json object = only_choice(parsed(chat_completion(kHead, {choice}, kUsage, kTimings)));
  const json tokens = object["logprobs"]["content"];
  ASSERT_EQ(tokens.size(), 2U);
  EXPECT_EQ(tokens[0]["token"], "h\xC3\xA9");
  EXPECT_EQ(tokens[0]["logprob"], -0.5);
  EXPECT_EQ(tokens[0]["bytes"], json({104, 195, 169}));
  EXPECT_EQ(tokens[0]["top_logprobs"][1],
            json::parse(R"({"id":8,"token":"x","logprob":-2.0,"bytes":[120]})"));
  EXPECT_EQ(tokens[1]["token"], "\xEF\xBF\xBD");  // half a character
  EXPECT_EQ(tokens[1]["bytes"], json({226}));
  EXPECT_EQ(tokens[1]["logprob"], -9999.0);  // JSON has no infinity
}

TEST(FinishReason, Names) {
  EXPECT_EQ(finish_reason_name(serve::FinishReason::kStopToken, false), "stop");
  EXPECT_EQ(finish_reason_name(serve::FinishReason::kStopString, false), "stop");
  EXPECT_EQ(finish_reason_name(serve::FinishReason::kStopToken, true), "tool_calls");
  EXPECT_EQ(finish_reason_name(serve::FinishReason::kMaxTokens, true), "length");
  EXPECT_EQ(finish_reason_name(serve::FinishReason::kContextFull, false), "length");
}

TEST(ChatChunks, RoleComesFirstWithNullContent) {
  const json chunk = parsed(chat_role_chunk(ChunkHead::chat(kHead), 0));
  EXPECT_EQ(only_choice(chunk)["delta"], json::parse(R"({"role":"assistant","content":null})"));
}

TEST(ChatChunks, Deltas) {
  EXPECT_EQ(delta_of(content_delta("a\"b\n")), json({{"content", "a\"b\n"}}));
  engine::ReplyDelta reasoning;
  reasoning.reasoning = "hm";
  EXPECT_EQ(delta_of(reasoning), json({{"reasoning_content", "hm"}}));
  engine::ReplyDelta call;
  call.tool_index = 1;
  call.tool = {.id = "c1", .name = "f", .arguments = ""};
  EXPECT_EQ(delta_of(call), json::parse(R"({"tool_calls":[{"index":1,"id":"c1",
      "type":"function","function":{"name":"f","arguments":""}}]})"));
  call.tool = {.id = "", .name = "", .arguments = "{\"a"};
  EXPECT_EQ(delta_of(call),
            json::parse(R"({"tool_calls":[{"index":1,"function":{"arguments":"{\"a"}}]})"));
}

TEST(ChatChunks, BrokenTextIsRepaired) {
  EXPECT_EQ(delta_of(content_delta("a\xFF")), json({{"content", "a\xEF\xBF\xBD"}}));
}

TEST(ChatChunks, ExtrasRideAlong) {
  const auto logprobs = some_logprobs();
  const json chunk =
      parsed(chat_delta_chunk(ChunkHead::chat(kHead), 0, content_delta("x"),
                              {.logprobs = &logprobs, .text_offset = 0, .timings = &kTimings}));
  EXPECT_EQ(only_choice(chunk)["logprobs"]["content"].size(), 2U);
  EXPECT_EQ(chunk["timings"]["predicted_n"], 5);
}

TEST(ChatChunks, FinishUsageAndProgress) {
  const ChunkHead head = ChunkHead::chat(kHead);
  const json finish = parsed(chat_finish_chunk(head, 3, "length", &kTimings));
  EXPECT_EQ(only_choice(finish), json::parse(R"({"index":3,"delta":{},"finish_reason":"length"})"));
  EXPECT_EQ(finish["timings"]["cache_n"], 8);

  const json usage = parsed(usage_chunk(head, kUsage, nullptr));
  expect_head(usage, "chat.completion.chunk");
  EXPECT_EQ(usage["choices"], json::array());
  EXPECT_EQ(usage["usage"]["total_tokens"], 15);
  EXPECT_FALSE(usage.contains("timings"));

  EXPECT_EQ(parsed(usage_chunk(head, kUsage, nullptr, R"({"id":"g"})"))["cache_receipt"]["id"],
            "g");
  EXPECT_EQ(parsed(chat_finish_chunk(head, 0, "stop", &kTimings, "[null]"))["cache_receipt"],
            json::array({nullptr}));

  const serve::PromptProgress progress{.total = 100, .cached = 20, .processed = 60, .ms = 1.5};
  const json chunk = parsed(chat_progress_chunk(head, 0, progress));
  EXPECT_EQ(only_choice(chunk)["delta"], json::object());
  EXPECT_EQ(chunk["prompt_progress"],
            json::parse(R"({"total":100,"cache":20,"processed":60,"time_ms":1.5})"));
}

TEST(TextCompletion, HasTheLegacyShape) {
  TextChoice choice;
  choice.text = "ab";
  choice.reason = serve::FinishReason::kMaxTokens;
  choice.logprobs = some_logprobs();
  const json object = parsed(text_completion(kHead, {choice}, kUsage, kTimings));
  expect_head(object, "text_completion");
  EXPECT_EQ(only_choice(object)["text"], "ab");
  EXPECT_EQ(only_choice(object)["finish_reason"], "length");
  EXPECT_EQ(only_choice(object)["logprobs"],
            json::parse(R"({"tokens":["hé","bytes:\\xe2"],"token_logprobs":[-0.5,-9999.0],
                "top_logprobs":[{"hé":-0.5,"x":-2.0},{"bytes:\\xe2":-1.0}],"text_offset":[0,2]})"));
}

TEST(TextChunks, OffsetsGoOnFromChunkToChunk) {
  const auto logprobs = some_logprobs();
  const ChunkHead head = ChunkHead::text(kHead);
  const json chunk = parsed(text_delta_chunk(
      head, 0, "x", {.logprobs = &logprobs, .text_offset = 40, .timings = nullptr}));
  expect_head(chunk, "text_completion");
  EXPECT_EQ(only_choice(chunk)["logprobs"]["text_offset"], json({40, 42}));
  EXPECT_EQ(only_choice(parsed(text_delta_chunk(head, 0, "x")))["logprobs"], nullptr);
  EXPECT_EQ(only_choice(parsed(text_finish_chunk(head, 0, "stop", nullptr))),
            json::parse(R"({"index":0,"text":"","logprobs":null,"finish_reason":"stop"})"));
  EXPECT_EQ(parsed(text_progress_chunk(head, 0, {}))["prompt_progress"]["total"], 0);
}

TEST(Logprobs, TakeTheTextOfAlternativesFromTheVocabulary) {
  serve::TokenReport report;
  report.sampled = {.token = 1, .logprob = -0.25F, .top = {{2, -1.0F}}};
  report.text = "one";
  const TokenLogprobs logprobs =
      logprobs_of(report, [](Token token) { return "t" + std::to_string(token); });
  EXPECT_EQ(logprobs.chosen.text, "one");
  EXPECT_EQ(logprobs.top.at(0).text, "t2");
}

TEST(UsageOf, CountsGeneratedTokens) {
  serve::Finished finished;
  finished.prompt_tokens = 10;
  finished.timings = kTimings;
  EXPECT_EQ(usage_of(finished).completion_tokens, 5);
  EXPECT_EQ(usage_of(finished).cached_tokens, 8);
}

TEST(Errors, StatusAndType) {
  struct Case {
    ErrorCode code;
    int status;
    const char* type;
  };
  const Case cases[] = {
      {ErrorCode::kInvalidArgument, 400, "invalid_request_error"},
      {ErrorCode::kNotFound, 404, "not_found_error"},
      {ErrorCode::kUnauthorized, 401, "authentication_error"},
      {ErrorCode::kTooLarge, 413, "invalid_request_error"},
      {ErrorCode::kContextExceeded, 400, "exceed_context_size_error"},
      {ErrorCode::kUnavailable, 503, "unavailable_error"},
      {ErrorCode::kTimeout, 504, "timeout_error"},
      {ErrorCode::kCancelled, 499, "cancelled_error"},
      {ErrorCode::kUnsupported, 501, "not_supported_error"},
      {ErrorCode::kIo, 500, "server_error"},
      {ErrorCode::kEngine, 500, "server_error"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(http_status(c.code), c.status);
    EXPECT_EQ(parsed(error_json({c.code, "m", ""}))["error"]["type"], c.type);
  }
}

TEST(Errors, Shape) {
  EXPECT_EQ(parsed(error_json(invalid_argument("messages[0]", "bad \xFF"))),
            json::parse(R"({"error":{"message":"bad \ufffd","type":"invalid_request_error",
                "param":"messages[0]","code":null}})"));
  const json overflow = parsed(
      error_json({ErrorCode::kContextExceeded, "too long", ""}, ContextOverflow{5000, 4096}));
  EXPECT_EQ(overflow["error"], json::parse(R"({"message":"too long",
      "type":"exceed_context_size_error","param":null,"code":"context_length_exceeded",
      "n_prompt_tokens":5000,"n_ctx":4096})"));
  EXPECT_EQ(parsed(http_error_json(413, "big"))["error"]["type"], "invalid_request_error");
  EXPECT_EQ(parsed(http_error_json(503, "full"))["error"]["type"], "unavailable_error");
}

}  // namespace
}  // namespace holdfast::api
