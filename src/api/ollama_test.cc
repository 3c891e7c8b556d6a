// Ollama's endpoints over the fake engine: shapes, errors, and what is refused.
#include <gtest/gtest.h>

#include <sstream>

#include "api/testing/test_server.h"

namespace holdfast::api {
namespace {

const std::string kHello =
    R"({"model":"m","options":{"num_predict":4},"messages":[{"role":"user","content":"hello"}])";

std::vector<Json> lines_of(const TestAnswer& answer) {
  std::vector<Json> lines;
  std::istringstream text(answer.body);
  for (std::string line; std::getline(text, line);) lines.push_back(Json::parse(line));
  return lines;
}

void expect_error(const TestAnswer& answer, int status, const std::string& words) {
  EXPECT_EQ(answer.status, status) << answer.body;
  const Json json = json_of(answer);
  ASSERT_TRUE(json.at("error").is_string()) << answer.body;
  EXPECT_NE(json["error"].get<std::string>().find(words), std::string::npos) << answer.body;
}

TEST(Ollama, AChatIsStreamedInLinesUnlessTheClientSaysNo) {
  TestServer server;
  server.load();
  const TestAnswer stream = server.ask("POST", "/api/chat", kHello + "}");
  EXPECT_TRUE(stream.has("Content-Type: application/x-ndjson") && stream.complete);
  const auto lines = lines_of(stream);
  std::string said;
  for (const Json& line : lines) said += line.at("message").at("content").get<std::string>();
  EXPECT_TRUE(lines.back().at("done").get<bool>());
  EXPECT_FALSE(lines.front().at("done").get<bool>());
  EXPECT_EQ(lines.back().at("done_reason"), "length");
  EXPECT_EQ(lines.back().at("eval_count"), 4);
  EXPECT_GT(lines.back().at("prompt_eval_count"), 4);

  const TestAnswer whole = server.ask("POST", "/api/chat", kHello + R"(,"stream":false})");
  const Json answer = json_of(whole);
  EXPECT_EQ(answer.at("message").at("content"), said);
  EXPECT_EQ(answer.at("model"), "m");
  EXPECT_TRUE(answer.at("done").get<bool>());
  for (const char* name : {"total_duration", "load_duration", "prompt_eval_duration",
                           "eval_duration", "cached_tokens"})
    EXPECT_TRUE(answer.at(name).is_number_integer()) << name;
}

// The same prompt in two protocols is one prompt.
TEST(Ollama, WhatAnotherProtocolReadIsNotReadAgain) {
  TestServer server({}, {}, {.kind = engine::FakeKind::kAttention, .context_tokens = 4096});
  server.load();
  (void)server.chat("");
  const Json answer = json_of(server.ask("POST", "/api/chat", kHello + R"(,"stream":false})"));
  EXPECT_GE(answer.at("cached_tokens").get<int>() + 1, answer.at("prompt_eval_count").get<int>());
}

TEST(Ollama, GenerateAnswersAPromptInTheTemplateOrAsItIs) {
  TestServer server;
  server.load();
  const auto ask = [&](const std::string& fields) {
    return json_of(server.ask(
        "POST", "/api/generate",
        R"({"stream":false,"options":{"num_predict":3},"prompt":"hello")" + fields + "}"));
  };
  const Json plain = ask("");
  EXPECT_TRUE(plain.at("response").is_string());
  EXPECT_FALSE(plain.contains("message"));
  const Json raw = ask(R"(,"raw":true)");
  EXPECT_LT(raw.at("prompt_eval_count"), plain.at("prompt_eval_count"));
  EXPECT_GT(ask(R"(,"system":"be brief")").at("prompt_eval_count"), plain.at("prompt_eval_count"));
  EXPECT_EQ(plain.at("model"), "fake");
}

TEST(Ollama, ARequestWithoutTextAsksForTheModel) {
  TestServer server;
  server.load();
  const Json chat = json_of(server.ask("POST", "/api/chat", R"({"model":"m"})"));
  EXPECT_EQ(chat.at("done_reason"), "load");
  EXPECT_EQ(chat.at("message").at("content"), "");
  for (const char* keep_alive : {"0", R"("0s")"}) {
    const Json gone = json_of(
        server.ask("POST", "/api/generate",
                   R"({"model":"m","prompt":"","keep_alive":)" + std::string(keep_alive) + "}"));
    EXPECT_EQ(gone.at("done_reason"), "unload");
    EXPECT_EQ(gone.at("response"), "");
  }
}

TEST(Ollama, ErrorsAreASentence) {
  TestServer server;
  expect_error(server.ask("POST", "/api/chat", kHello + "}"), 503, "loading");
  server.load();
  expect_error(server.ask("POST", "/api/chat", "{"), 400, "JSON");
  expect_error(server.ask("GET", "/api/chat"), 405, "takes POST");
  expect_error(server.ask("POST", "/api/chatt", "{}"), 404, "/api/chat");
  expect_error(server.ask("POST", "/api/chat", R"({"messages":[{"role":"nobody","content":""}]})"),
               400, "messages[0].role");
  expect_error(server.ask("POST", "/api/show", R"({"model":"other"})"), 404, "not found");
  expect_error(server.ask("POST", "/api/show", "{}"), 400, "model");
  expect_error(server.ask("POST", "/api/embed", R"({"input":"x"})"), 400, "--embedding");
  const std::string long_text(5000, 'x');
  expect_error(server.ask("POST", "/api/generate", R"({"prompt":")" + long_text + "\"}"), 400,
               "context size");
}

TEST(Ollama, ALibraryOfModelsIsRefusedWhateverTheMethod) {
  TestServer server;
  server.load();
  for (const char* path : {"/api/pull", "/api/push", "/api/create", "/api/copy", "/api/blobs/x"})
    expect_error(server.ask("POST", path, "{}"), 501, "--model FILE");
  expect_error(server.ask("DELETE", "/api/delete", "{}"), 501, "--model FILE");
}

TEST(Ollama, TheModelIsListedUnderEachOfItsNames) {
  TestServer server;
  server.settings().aliases = {"other"};
  server.load();
  const Json tags = json_of(server.ask("GET", "/api/tags")).at("models");
  ASSERT_EQ(tags.size(), 2U);
  EXPECT_EQ(tags[0].at("name"), "fake");
  EXPECT_EQ(tags[1].at("model"), "other");
  EXPECT_EQ(tags[0].at("digest").get<std::string>().size(), 64U);
  EXPECT_EQ(json_of(server.ask("GET", "/api/ps")).at("models").size(), 1U);
  EXPECT_EQ(server.ask("POST", "/api/show", R"({"model":"other:latest"})").status, 200);
  EXPECT_EQ(json_of(server.ask("GET", "/api/version")).at("server"), "test");
}

}  // namespace
}  // namespace holdfast::api
