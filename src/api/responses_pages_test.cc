// The Responses API over the fake engine.
#include "api/responses_pages.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>

#include "api/testing/test_server.h"
#include "env/log.h"

namespace holdfast::api {
namespace {

TestAnswer respond(TestServer& server, const std::string& fields, const std::string& headers = "") {
  return server.ask("POST", "/v1/responses",
                    R"({"input":"hello","max_output_tokens":12,"ignore_eos":true)" + fields + "}",
                    headers);
}

std::vector<Json> stream_of(const TestAnswer& answer) {
  std::vector<Json> events;
  for (const std::string& event : events_of(answer)) events.push_back(*parse_json(event));
  return events;
}

std::string text_of(const Json& response) {
  return response["output"][0]["content"][0]["text"].get<std::string>();
}

TEST(Responses, WholeAndStreamedAnswersAgree) {
  TestServer server;
  server.load();
  const TestAnswer whole = respond(server, R"(,"cache_prompt":false,"model":"any")");
  ASSERT_EQ(whole.status, 200) << whole.body;
  const Json response = json_of(whole);
  EXPECT_TRUE(response["id"].get<std::string>().starts_with("resp_"));
  EXPECT_EQ(response["model"], "any");
  EXPECT_EQ(response["status"], "incomplete") << "the fake writes until it is stopped";
  EXPECT_EQ(response["usage"]["output_tokens"], 12);

  const TestAnswer stream = respond(server, R"(,"cache_prompt":false,"stream":true)");
  ASSERT_TRUE(stream.complete);
  const auto events = stream_of(stream);
  EXPECT_EQ(events.front()["type"], "response.created");
  EXPECT_EQ(events.back()["type"], "response.incomplete");
  EXPECT_EQ(text_of(events.back()["response"]), text_of(response));
  EXPECT_EQ(events.back()["response"]["usage"], response["usage"]);
  std::string streamed;
  for (const Json& event : events)
    if (event["type"] == "response.output_text.delta")
      streamed += event["delta"].get<std::string>();
  EXPECT_EQ(streamed, text_of(response));
}

TEST(Responses, APreviousResponseStandsForItsWholeConversation) {
  TestServer server;
  server.load();
  const Json first = json_of(respond(server, ""));
  const Json second = json_of(respond(server, R"(,"previous_response_id":)" + first["id"].dump()));
  EXPECT_EQ(second["previous_response_id"], first["id"]);
  const Json third = json_of(respond(server, R"(,"previous_response_id":)" + second["id"].dump()));

  Json items = Json::array({{{"role", "user"}, {"content", "hello"}}});
  for (const Json& response : {first, second}) {
    for (const Json& item : response["output"]) items.push_back(item);
    items.push_back({{"role", "user"}, {"content", "hello"}});
  }
  const Json counted =
      json_of(server.ask("POST", "/v1/responses/input_tokens", json_text(Json{{"input", items}})));
  EXPECT_EQ(third["usage"]["input_tokens"], counted["input_tokens"]);
}

TEST(Responses, StoredOnesAreShownAndDeleted) {
  TestServer server;
  server.load();
  const Json response = json_of(respond(server, ""));
  const std::string path = "/v1/responses/" + response["id"].get<std::string>();
  EXPECT_EQ(json_of(server.ask("GET", path)), response);
  EXPECT_EQ(json_of(server.ask("DELETE", path))["deleted"], true);
  const TestAnswer gone = server.ask("GET", path);
  EXPECT_EQ(gone.status, 404);
  EXPECT_NE(gone.body.find(response["id"].get<std::string>()), std::string::npos);
  EXPECT_EQ(server.ask("DELETE", path).status, 404);

  const Json streamed = stream_of(respond(server, R"(,"stream":true)")).back()["response"];
  EXPECT_EQ(json_of(server.ask("GET", "/responses/" + streamed["id"].get<std::string>())),
            streamed);

  const Json unstored = json_of(respond(server, R"(,"store":false)"));
  EXPECT_EQ(server.ask("GET", "/v1/responses/" + unstored["id"].get<std::string>()).status, 404);
  const TestAnswer refused = respond(server, R"(,"previous_response_id":)" + unstored["id"].dump());
  EXPECT_EQ(refused.status, 404);
  EXPECT_EQ(json_of(refused)["error"]["param"], "previous_response_id");
}

TEST(Responses, TenantsDoNotSeeEachOthers) {
  ApiOptions options;
  options.api_keys = {"one", "two"};
  TestServer server(std::move(options));
  server.load();
  const std::string one = "Authorization: Bearer one\r\n";
  const std::string two = "Authorization: Bearer two\r\n";
  const Json response = json_of(respond(server, "", one));
  const std::string path = "/v1/responses/" + response["id"].get<std::string>();
  EXPECT_EQ(server.ask("GET", path, "", two).status, 404);
  EXPECT_EQ(server.ask("DELETE", path, "", two).status, 404);
  const std::string previous = R"(,"previous_response_id":)" + response["id"].dump();
  EXPECT_EQ(respond(server, previous, two).status, 404);
  EXPECT_EQ(respond(server, previous, one).status, 200);
  EXPECT_EQ(server.ask("GET", path, "", one).status, 200);
  const Json salted = json_of(respond(server, R"(,"cache_salt":"s")", one));
  const std::string salted_path = "/v1/responses/" + salted["id"].get<std::string>();
  EXPECT_EQ(server.ask("GET", salted_path, "", one).status, 404);
  EXPECT_EQ(server.ask("GET", salted_path + "?cache_salt=s", "", one).status, 200);
}

TEST(Responses, InputTokensAreWhatTheAnswerReports) {
  TestServer server;
  server.load();
  const Json counted =
      json_of(server.ask("POST", "/v1/responses/input_tokens", R"({"input":"hello"})"));
  EXPECT_EQ(counted["object"], "response.input_tokens");
  EXPECT_EQ(counted["input_tokens"], json_of(respond(server, ""))["usage"]["input_tokens"]);
  EXPECT_EQ(server.ask("POST", "/v1/responses/input_tokens", "{}").status, 400);
}

TEST(Responses, ErrorsBeforeAStreamHaveTheirOwnStatus) {
  TestServer server;
  server.load();
  const TestAnswer refused = respond(server, R"(,"stream":true,"temperature":"hot")");
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(json_of(refused)["error"]["param"], "temperature");
}

TEST(Responses, ATooLongConversationFailsInsideOfAStream) {
  TestServer server({}, {}, {.slots = 1, .context_tokens = 256});
  server.load();
  const std::string body = R"({"input":")" + std::string(300, 'x') + '"';
  const TestAnswer whole = server.ask("POST", "/v1/responses", body + "}");
  EXPECT_EQ(whole.status, 400);
  EXPECT_EQ(json_of(whole)["error"]["code"], "context_length_exceeded");
  EXPECT_EQ(json_of(whole)["error"]["param"], "input");
  const TestAnswer stream = server.ask("POST", "/v1/responses", body + R"(,"stream":true})");
  EXPECT_EQ(stream.status, 200);
  const auto events = stream_of(stream);
  ASSERT_EQ(events.size(), 3U) << stream.body;
  EXPECT_EQ(events[2]["type"], "response.failed");
  EXPECT_EQ(events[2]["response"]["error"]["code"], "context_length_exceeded");
}

TEST(Responses, ARefusalInsideOfAStreamIsLogged) {
  std::string lines;
  std::mutex mutex;
  env::LogOptions log;
  log.sink = {.write = [&](std::string_view line) {
    const std::lock_guard lock(mutex);
    lines += line;
  }};
  ASSERT_TRUE(env::Log::configure(std::move(log)).ok());
  {
    TestServer server({}, {}, {.slots = 1, .context_tokens = 256});
    server.load();
    const std::string body = R"({"stream":true,"input":")" + std::string(300, 'x') + "\"}";
    (void)server.ask("POST", "/v1/responses", body);
  }
  ASSERT_TRUE(env::Log::configure(env::LogOptions{}).ok());
  for (const char* part :
       {"path=/v1/responses",
        "why=", "343 tokens. With one for the answer, it exceeds the available context size (256"})
    EXPECT_NE(lines.find(part), std::string::npos) << part << " in " << lines;
}

// Holds the first chunk of a prompt until it is opened.
class Gate {
 public:
  engine::FakeFault wait(engine::FakeOperation operation) {
    std::unique_lock lock(mutex_);
    if (operation == engine::FakeOperation::kPrefill) changed_.wait(lock, [&] { return open_; });
    return fault_;
  }
  void open(engine::FakeFault fault = engine::FakeFault::kNone) {
    const std::lock_guard lock(mutex_);
    open_ = true;
    fault_ = fault;
    changed_.notify_all();
  }
  engine::FakeOptions options() {
    return {.slots = 1, .context_tokens = 4096, .faults = [this](engine::FakeOperation operation) {
              return wait(operation);
            }};
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  engine::FakeFault fault_ = engine::FakeFault::kNone;
};

TestClient begin(TestServer& server) {
  TestClient client(server.api().port());
  client.send(TestServer::request_text(
      "POST", "/v1/responses",
      R"({"input":"hello","max_output_tokens":4,"stream":true,"ignore_eos":true})"));
  return client;
}

std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size())
    ++count;
  return count;
}

TEST(Responses, EventsComeWhileNothingIsVisible) {
  Gate gate;
  TestServer server({}, {}, gate.options());
  server.settings().keep_alive_every = std::chrono::milliseconds(10);
  server.load();
  TestClient client = begin(server);
  TestAnswer answer = client.read_head();
  const auto signs = [&] { return count_of(answer.body, "event: response.in_progress"); };
  for (int chunk = 0; chunk < 100 && signs() < 3; ++chunk) ASSERT_TRUE(client.read_chunk(answer));
  EXPECT_GE(signs(), 3U);
  gate.open();
  while (client.read_chunk(answer)) {
  }
  EXPECT_EQ(stream_of(answer).back()["type"], "response.incomplete");
}

TEST(Responses, AStreamBeginsBeforeThereIsASlot) {
  Gate gate;
  TestServer server({}, {}, gate.options());
  server.settings().keep_alive_every = std::chrono::hours(1);
  server.load();
  TestClient first = begin(server);
  TestAnswer of_first = first.read_head();
  TestClient second = begin(server);  // the only slot is taken
  TestAnswer of_second = second.read_head();
  ASSERT_TRUE(second.read_chunk(of_second));
  EXPECT_TRUE(of_second.body.starts_with("event: response.created\n")) << of_second.body;
  gate.open();
  while (second.read_chunk(of_second)) {
  }
  EXPECT_TRUE(of_second.complete);
}

TEST(Responses, AFailureInsideOfAStreamIsItsLastEvent) {
  Gate gate;
  TestServer server({}, {}, gate.options());
  server.load();
  TestClient client = begin(server);
  TestAnswer answer = client.read_head();
  gate.open(engine::FakeFault::kFail);
  while (client.read_chunk(answer)) {
  }
  EXPECT_TRUE(answer.complete);
  const Json last = stream_of(answer).back();
  EXPECT_EQ(last["type"], "response.failed");
  EXPECT_EQ(last["response"]["error"]["code"], "server_error");
  EXPECT_EQ(last["response"]["status"], "failed");
}

}  // namespace
}  // namespace holdfast::api
