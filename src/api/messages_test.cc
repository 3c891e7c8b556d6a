// POST /v1/messages over the fake engine, and the errors around it.
#include "api/messages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <latch>
#include <mutex>

#include "api/testing/test_server.h"
#include "env/log.h"

namespace holdfast::api {
namespace {

const std::string kHello =
    R"({"model":"claude-x","max_tokens":4,"messages":[{"role":"user","content":"hello"}])";
const std::string kVersion = "anthropic-version: 2023-06-01\r\n";

void expect_error(const TestAnswer& answer, int status, const std::string& type) {
  EXPECT_EQ(answer.status, status) << answer.body;
  const Json json = json_of(answer);
  EXPECT_EQ(json["type"], "error");
  EXPECT_EQ(json["error"]["type"], type);
  EXPECT_FALSE(json["error"]["message"].get<std::string>().empty());
  EXPECT_TRUE(json["request_id"].get<std::string>().starts_with("req_"));
  EXPECT_TRUE(answer.has("request-id: " + json["request_id"].get<std::string>()));
}

TEST(Messages, AreAnsweredWholeAndStreamed) {
  TestServer server({}, {}, {.kind = engine::FakeKind::kAttention, .context_tokens = 4096});
  server.load();
  const TestAnswer whole = server.ask("POST", "/v1/messages?beta=true", kHello + "}");
  EXPECT_EQ(whole.status, 200);
  const Json message = json_of(whole);
  EXPECT_EQ(message["type"], "message");
  EXPECT_EQ(message["model"], "claude-x");
  EXPECT_TRUE(message["id"].get<std::string>().starts_with("msg_"));
  EXPECT_EQ(message["usage"]["output_tokens"], 4);
  EXPECT_EQ(message["stop_reason"], "max_tokens");
  const TestAnswer stream = server.ask("POST", "/v1/messages", kHello + R"(,"stream":true})");
  EXPECT_TRUE(stream.has("Content-Type: text/event-stream") && stream.complete);
  const auto events = events_of(stream);
  EXPECT_EQ(Json::parse(events.front())["type"], "message_start");
  EXPECT_EQ(Json::parse(events.back())["type"], "message_stop");
  // The same prompt again: its rows are still in the slot.
  const Json usage = Json::parse(events[events.size() - 2])["usage"];
  EXPECT_EQ(usage["cache_read_input_tokens"].get<int>() + usage["input_tokens"].get<int>(),
            message["usage"]["input_tokens"].get<int>());
  EXPECT_GT(usage["cache_read_input_tokens"], 0);
}

TEST(Messages, TokensAreCountedAsTheyAreRead) {
  TestServer server;
  server.load();
  const Json message = json_of(server.ask("POST", "/v1/messages", kHello + "}"));
  const Json counted = json_of(server.ask("POST", "/v1/messages/count_tokens", kHello + "}"));
  EXPECT_EQ(counted["input_tokens"], message["usage"]["input_tokens"]);
  expect_error(server.ask("POST", "/v1/messages/count_tokens", "{}"), 400, "invalid_request_error");
}

TEST(Messages, ErrorsHaveAnthropicsEnvelope) {
  TestServer server;
  expect_error(server.ask("POST", "/v1/messages", kHello + "}"), 529, "overloaded_error");
  server.load();
  expect_error(server.ask("POST", "/v1/messages", "{}"), 400, "invalid_request_error");
  expect_error(server.ask("GET", "/v1/messages"), 405, "invalid_request_error");
  expect_error(server.ask("POST", "/v1/message", "{}", kVersion), 404, "not_found_error");
  expect_error(server.ask("GET", "/v1/models/other", "", kVersion), 404, "not_found_error");
  const std::string long_text(5000, 'x');
  const TestAnswer too_long =
      server.ask("POST", "/v1/messages",
                 R"({"max_tokens":4,"stream":true,"messages":[{"role":"user","content":")" +
                     long_text + "\"}]}");
  expect_error(too_long, 400, "invalid_request_error");
  // Claude Code looks for these words, and for the two numbers.
  EXPECT_TRUE(
      std::string(json_of(too_long)["error"]["message"]).starts_with("prompt is too long: "));
  EXPECT_NE(too_long.body.find(" tokens > 4096 maximum"), std::string::npos);
}

TEST(Messages, WhatCannotFitIsRefusedWithoutCountingItAll) {
  TestServer server;
  server.load();
  const std::string content =
      R"("messages":[{"role":"user","content":")" + std::string(40000, 'x') + R"("}]})";
  const TestAnswer message =
      server.ask("POST", "/v1/messages", R"({"max_tokens":4,"stream":true,)" + content);
  expect_error(message, 400, "invalid_request_error");
  EXPECT_NE(message.body.find("prompt is too long: at least 100"), std::string::npos);
  const TestAnswer chat = server.ask("POST", "/v1/chat/completions", "{" + content);
  EXPECT_EQ(chat.status, 400);
  EXPECT_EQ(json_of(chat)["error"]["type"], "exceed_context_size_error");
  EXPECT_EQ(json_of(chat)["error"]["param"], "messages");
  EXPECT_GE(int(json_of(chat)["error"]["n_prompt_tokens"]), 10000);
  EXPECT_NE(chat.body.find("has at least 100"), std::string::npos);
}

// Anthropic's tool runner asks for threads first, and goes on without them when told so.
TEST(Messages, ThreadsAreRefusedInTheWordsThatTheSdkKnows) {
  TestServer server;
  server.load();
  for (const char* thread :
       {R"({"type":"create"})", R"({"type":"continue","previous_message_id":"msg_1"})"}) {
    for (const char* path : {"/v1/messages", "/v1/messages/count_tokens"}) {
      const TestAnswer refused = server.ask("POST", path, kHello + R"(,"thread":)" + thread + "}");
      expect_error(refused, 400, "invalid_request_error");
      const Json error = json_of(refused)["error"];
      EXPECT_EQ(error["details"]["error_code"], "thread_unsupported_request");
      EXPECT_EQ(error["details"]["unsupported"], Json::array({"thread"}));
      EXPECT_TRUE(error["message"].get<std::string>().starts_with("'thread' "));
    }
  }
  EXPECT_EQ(server.ask("POST", "/v1/messages", kHello + R"(,"thread":null})").status, 200);
}

TEST(Messages, ABodyThatIsTooLargeIsRefusedInTheEnvelopeToo) {
  ApiOptions options;
  options.http.body_bytes_max = 1000;
  TestServer server(options);
  const std::string body(2000, ' ');
  expect_error(server.ask("POST", "/v1/messages", body), 413, "request_too_large");
  const TestAnswer openai = server.ask("POST", "/v1/chat/completions", body);
  EXPECT_EQ(openai.status, 413);
  EXPECT_EQ(json_of(openai)["error"]["type"], "invalid_request_error");
}

TEST(Messages, KeysComeInEitherHeader) {
  ApiOptions options;
  options.api_keys = {"secret"};
  TestServer server(options);
  server.load();
  expect_error(server.ask("POST", "/v1/messages", kHello + "}"), 401, "authentication_error");
  EXPECT_EQ(server.ask("POST", "/v1/messages", kHello + "}", "x-api-key: secret\r\n").status, 200);
  EXPECT_EQ(
      server.ask("POST", "/v1/messages", kHello + "}", "Authorization: Bearer secret\r\n").status,
      200);
}

// Holds the first chunk of a prompt until it is opened.
class Gate {
 public:
  engine::FakeOptions options() {
    return {.slots = 1, .context_tokens = 4096, .faults = [this](engine::FakeOperation) {
              opened_.wait();
              return engine::FakeFault::kNone;
            }};
  }
  void open() { opened_.count_down(); }

 private:
  std::latch opened_{1};
};

TEST(Messages, PingsComeWhileAPromptIsRead) {
  Gate gate;
  TestServer server({}, {}, gate.options());
  server.settings().keep_alive_every = std::chrono::milliseconds(10);
  server.load();
  TestClient client(server.api().port());
  client.send(TestServer::request_text("POST", "/v1/messages", kHello + R"(,"stream":true})"));
  TestAnswer answer = client.read_head();
  const auto pings = [&] {
    return std::ranges::count(events_of(answer), std::string(R"({"type":"ping"})"));
  };
  for (int chunk = 0; chunk < 100 && pings() < 3; ++chunk) ASSERT_TRUE(client.read_chunk(answer));
  EXPECT_GE(pings(), 3);
  EXPECT_TRUE(answer.body.starts_with("event: message_start\n")) << answer.body;
  gate.open();
  while (client.read_chunk(answer)) {
  }
  EXPECT_EQ(Json::parse(events_of(answer).back())["type"], "message_stop");
}

TEST(Messages, AFailureInsideAStreamIsAnErrorEvent) {
  TestServer server({}, {}, {.slots = 1, .context_tokens = 4096, .faults = [](auto operation) {
                               return operation == engine::FakeOperation::kPrefill
                                          ? engine::FakeFault::kFail
                                          : engine::FakeFault::kNone;
                             }});
  server.load();
  const TestAnswer stream = server.ask("POST", "/v1/messages", kHello + R"(,"stream":true})");
  EXPECT_EQ(stream.status, 200);
  EXPECT_NE(stream.body.find("event: error\ndata: {\"type\":\"error\""), std::string::npos);
  EXPECT_EQ(stream.body.find("message_stop"), std::string::npos);
}

TEST(Messages, ModelsAreListedInTheClientsShape) {
  TestServer server;
  server.settings().aliases = {"claude-local"};
  server.load();
  const Json anthropic = json_of(server.ask("GET", "/v1/models?limit=1000", "", kVersion));
  ASSERT_EQ(anthropic["data"].size(), 2U);
  EXPECT_EQ(anthropic["data"][0]["type"], "model");
  EXPECT_EQ(anthropic["data"][1]["id"], "claude-local");
  EXPECT_EQ(anthropic["data"][1]["display_name"], "claude-local");
  EXPECT_TRUE(anthropic["data"][0]["created_at"].get<std::string>().ends_with("Z"));
  EXPECT_EQ(anthropic["has_more"], false);
  EXPECT_EQ(anthropic["first_id"], "fake");
  EXPECT_EQ(anthropic["last_id"], "claude-local");
  EXPECT_EQ(json_of(server.ask("GET", "/v1/models/claude-local", "", kVersion))["type"], "model");
  const Json openai = json_of(server.ask("GET", "/v1/models"));
  EXPECT_EQ(openai["data"][0]["object"], "model");
  EXPECT_EQ(openai["data"][0]["status"]["value"], "loaded");
  EXPECT_EQ(openai["data"][0]["meta"]["n_ctx"], 4096);
}

TEST(Messages, ProbesAreAnsweredWithoutKeyOrModel) {
  ApiOptions options;
  options.api_keys = {"secret"};
  TestServer server(options);
  for (const char* path : {"/", "/api/hello"}) {
    TestClient client(server.api().port());
    client.send(TestServer::request_text("HEAD", path, ""));
    EXPECT_EQ(client.read_head().status, 200) << path;
  }
}

TEST(MissingPaths, AreNamedWithWhatComesNearest) {
  TestServer server;
  server.load();
  const TestAnswer slip = server.ask("POST", "/v1/chat/completion", "{}");
  EXPECT_EQ(slip.status, 404);
  const std::string message = json_of(slip)["error"]["message"];
  EXPECT_NE(message.find("POST /v1/chat/completion here"), std::string::npos);
  EXPECT_NE(message.find("nearest: /v1/chat/completions,"), std::string::npos) << message;
  const std::string long_path = "/v1/" + std::string(20000, 'x');
  EXPECT_EQ(server.ask("GET", long_path).status, 404);
}

TEST(MissingPaths, AreLogged) {
  std::string lines;
  std::mutex mutex;
  env::LogOptions log;
  log.sink = {.write = [&](std::string_view line) {
    const std::lock_guard lock(mutex);
    lines += line;
  }};
  ASSERT_TRUE(env::Log::configure(std::move(log)).ok());
  {
    TestServer server;
    server.load();
    (void)server.ask("GET", "/v1/models");
    (void)server.ask("POST", "/v1/nothing", "{}", "User-Agent: someone/1\r\n");
  }
  ASSERT_TRUE(env::Log::configure(env::LogOptions{}).ok());
  EXPECT_EQ(std::ranges::count(lines, '\n'), 2) << lines;  // one for each request
  const std::string line = lines.substr(lines.find('\n') + 1);
  for (const char* part : {"POST", "/v1/nothing", "404", "someone/1", "nearest"})
    EXPECT_NE(line.find(part), std::string::npos) << part << " in " << line;
}

}  // namespace
}  // namespace holdfast::api
