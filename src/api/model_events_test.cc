#include "api/model_events.h"

#include <gtest/gtest.h>

#include <list>

#include "api/testing/test_server.h"

namespace holdfast::api {
namespace {

constexpr const char* kWatch = "GET /models/sse HTTP/1.1\r\nHost: localhost\r\n\r\n";

// Reads on until the stream says this.
bool read_until(TestClient& client, TestAnswer& answer, std::string_view wanted) {
  while (answer.body.find(wanted) == std::string::npos) {
    if (!client.read_chunk(answer)) return false;
  }
  return true;
}

TEST(ModelEvents, TellOfALoadingModelUntilItIsLoaded) {
  TestServer server;
  server.api().backend().set_progress(0.256F);
  TestClient client(server.api().port());
  client.send(kWatch);
  TestAnswer answer = client.read_head();
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.has("Content-Type: text/event-stream"));
  ASSERT_TRUE(read_until(client, answer, "\n\n"));
  const Json loading = Json::parse(events_of(answer).front());
  EXPECT_EQ(loading["model"], "*");
  EXPECT_EQ(loading["event"], "status_change");
  EXPECT_EQ(loading["data"]["status"], "loading");
  EXPECT_EQ(loading["data"]["progress"]["current"], "text_model");
  EXPECT_DOUBLE_EQ(loading["data"]["progress"]["value"], 0.25);
  server.api().backend().set_progress(0.5F);
  ASSERT_TRUE(read_until(client, answer, R"("value":0.5)"));
  server.settings().aliases = {"other"};
  server.load();
  ASSERT_TRUE(read_until(client, answer, R"("model":"other")"));
  const auto events = events_of(answer);
  ASSERT_EQ(events.size(), 4U) << answer.body;
  EXPECT_EQ(Json::parse(events[2]), Json::parse(R"({"model":"fake","event":"status_change",
    "data":{"status":"loaded"}})"));
}

TEST(ModelEvents, ALoadedModelIsSaidToBeSoAtOnce) {
  TestServer server;
  server.load();
  TestClient client(server.api().port());
  client.send("GET /v1/models/sse HTTP/1.1\r\nHost: localhost\r\n\r\n");
  TestAnswer answer = client.read_head();
  ASSERT_TRUE(read_until(client, answer, R"("status":"loaded")"));
}

TEST(ModelEvents, EndWhenTheServerStops) {
  TestServer server;
  server.load();
  TestClient client(server.api().port());
  client.send(kWatch);
  TestAnswer answer = client.read_head();
  server.api().drain();
  while (client.read_chunk(answer)) {
  }
  EXPECT_TRUE(answer.complete) << "it was cut off";
}

TEST(ModelEvents, MeventsOneOnlySomeMayWatch) {
  TestServer server;
  server.load();
  std::list<TestClient> clients;
  for (std::size_t i = 0; i < ModelEvents::kStreamsMax; ++i) {
    clients.emplace_back(server.api().port()).send(kWatch);
    EXPECT_EQ(clients.back().read_head().status, 200);
  }
  const TestAnswer refused = server.ask("GET", "/models/sse");
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.body.find("/v1/models"), std::string::npos) << refused.body;
  clients.pop_front();
  for (int status = 503; status == 503;) {  // until the server has seen it go
    TestClient next(server.api().port());
    next.send(kWatch);
    status = next.read_head().status;
  }
}

TEST(ModelEvents, NeedAKeyWhereThereIsOne) {
  ApiOptions options;
  options.api_keys = {"secret"};
  TestServer server(std::move(options));
  server.load();
  EXPECT_EQ(server.ask("GET", "/models/sse").status, 401);
}

TEST(ModelEvents, AreNoModelForOtherMethods) {
  TestServer server;
  server.load();
  EXPECT_EQ(server.ask("POST", "/models/sse", "{}").status, 404);
}

}  // namespace
}  // namespace holdfast::api
