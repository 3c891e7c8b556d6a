#include "api/cache_events.h"

#include <gtest/gtest.h>

#include <list>

#include "api/testing/test_server.h"

namespace holdfast::api {
namespace {

constexpr SpaceKey kOurs{1, 1};
constexpr SpaceKey kTheirs{2, 2};

void clear_times(CacheEvents& events, std::size_t times, const std::optional<SpaceKey>& space) {
  for (std::size_t i = 0; i < times; ++i) events.on_cleared(space, i);
}

// --- the log -------------------------------------------------------------------------------

TEST(EVENTS1, NumbersAscendAndTheLatestAreKept) {
  CacheEvents events;
  const std::uint64_t start = events.last();
  clear_times(events, CacheEvents::kKept + 10, kOurs);
  const auto news = events.since(start, std::nullopt);
  ASSERT_EQ(news.events.size(), CacheEvents::kKept);
  EXPECT_TRUE(std::ranges::is_sorted(news.events, std::less_equal<>{}, &CacheEvent::number));
  EXPECT_NE(news.events.front().data.find("\"freed_bytes\":10}"), std::string::npos);
  EXPECT_EQ(news.last, news.events.back().number);
}

TEST(EVENTS2, AReaderGetsWhatCameLater) {
  CacheEvents events;
  const std::uint64_t start = events.last();
  EXPECT_FALSE(events.since(start, std::nullopt).missed);
  clear_times(events, 3, kOurs);
  const auto three = events.since(start, std::nullopt);
  EXPECT_EQ(three.events.size(), 3U);
  EXPECT_EQ(events.since(three.events[0].number, std::nullopt).events.size(), 2U);
  EXPECT_TRUE(events.since(three.last, std::nullopt).events.empty());
}

TEST(EVENTS2, SaysWhetherSomeWereDropped) {
  CacheEvents events;
  const std::uint64_t start = events.last();
  EXPECT_TRUE(events.since(start - 1, std::nullopt).missed) << "it was another server's";
  clear_times(events, CacheEvents::kKept, kOurs);
  EXPECT_FALSE(events.since(start, std::nullopt).missed);
  clear_times(events, 1, kOurs);
  const auto news = events.since(start, std::nullopt);
  EXPECT_TRUE(news.missed);
  EXPECT_FALSE(events.since(news.events.front().number, std::nullopt).missed);
}

TEST(EVENTS2, NobodyIsToldOfOthers) {
  CacheEvents events;
  const std::uint64_t start = events.last();
  clear_times(events, 1, kOurs);
  clear_times(events, 2, kTheirs);
  clear_times(events, 4, std::nullopt);
  EXPECT_EQ(events.since(start, kOurs).events.size(), 5U);
  EXPECT_EQ(events.since(start, kTheirs).events.size(), 6U);
  EXPECT_EQ(events.since(start, std::nullopt).events.size(), 7U);
}

// --- the stream ----------------------------------------------------------------------------

std::string watching(const std::string& path, const std::string& headers = "") {
  return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n";
}

void read_until(TestClient& client, TestAnswer& answer, std::string_view wanted) {
  while (answer.body.find(wanted) == std::string::npos) {
    if (!client.read_chunk(answer)) FAIL() << "it ended without " << wanted << ": " << answer.body;
  }
}

std::size_t count_of(const std::string& text, std::string_view word) {
  std::size_t count = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

TEST(CacheEventsPage, TellsOfARequestFromItsStartToItsEnd) {
  TestServer server;
  server.load();
  TestClient client(server.api().port());
  client.send(watching("/cache/events"));
  TestAnswer answer = client.read_head();
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.has("Content-Type: text/event-stream"));
  const Json chat = json_of(server.chat(R"(,"max_tokens":2)"));
  read_until(client, answer, "event: request.finished");
  read_until(client, answer, "}\n\n");
  EXPECT_LT(answer.body.find("event: request.started"), answer.body.find("event: request.read"));
  EXPECT_LT(answer.body.find("event: request.read"), answer.body.find("event: request.finished"));
  const Json over = Json::parse(events_of(answer).back());
  EXPECT_EQ(over["response"], chat["id"]);
  EXPECT_EQ(over["prompt_tokens"], chat["usage"]["prompt_tokens"]);
  EXPECT_EQ(over["written_tokens"], chat["usage"]["completion_tokens"]);
  EXPECT_EQ(over["finish_reason"], "length");
  EXPECT_EQ(answer.body.find("hello"), std::string::npos) << "it quotes the prompt";
}

TEST(CacheEventsPage, TellsOfForgetting) {
  TestServer server;
  server.load();
  TestClient client(server.api().port());
  client.send(watching("/v1/cache/events"));
  TestAnswer answer = client.read_head();
  EXPECT_EQ(server.ask("DELETE", "/cache").status, 200);
  read_until(client, answer, "event: cache.cleared");
}

TEST(CacheEventsPage, GoesOnWhereItWasLeft) {
  TestServer server;
  server.load();
  const std::string start = std::to_string(server.settings().events->last());
  EXPECT_EQ(server.chat(R"(,"max_tokens":1)").status, 200);
  EXPECT_EQ(server.ask("DELETE", "/cache").status, 200);
  for (const auto& wish : {watching("/cache/events?after=" + start),
                           watching("/cache/events", "Last-Event-ID: " + start + "\r\n")}) {
    TestClient client(server.api().port());
    client.send(wish);
    TestAnswer answer = client.read_head();
    read_until(client, answer, "event: cache.cleared");
    EXPECT_EQ(count_of(answer.body, "event: request.started"), 1U);
    EXPECT_EQ(count_of(answer.body, "event: events.missed"), 0U);
  }
  TestClient older(server.api().port());
  older.send(watching("/cache/events?after=1"));
  TestAnswer answer = older.read_head();
  read_until(older, answer, "event: events.missed");
  EXPECT_EQ(server.ask("GET", "/cache/events?after=x").status, 400);
}

TEST(CacheEventsPage, AKeyOfAUserIsToldOfItsOwnAlone) {
  ApiOptions options;
  options.file_keys = {{"ann", "sk-ann", KeyRole::kUser, {}},
                       {"bob", "sk-bob", KeyRole::kUser, {}},
                       {"eye", "sk-eye", KeyRole::kMetrics, {}}};
  TestServer server(std::move(options));
  server.load();
  const std::string start = std::to_string(server.settings().events->last());
  for (const char* key : {"sk-ann", "sk-bob", "sk-bob"}) {
    const std::string body = R"({"messages":[{"role":"user","content":"hello"}],"max_tokens":1})";
    const std::string header = std::string("Authorization: Bearer ") + key + "\r\n";
    EXPECT_EQ(server.ask("POST", "/v1/chat/completions", body, header).status, 200);
  }
  const auto finished_for = [&](const std::string& key) {
    TestClient client(server.api().port());
    client.send(watching("/cache/events?after=" + start, "Authorization: Bearer " + key + "\r\n"));
    TestAnswer answer = client.read_head();
    read_until(client, answer, "event: request.finished");
    return count_of(answer.body, "event: request.finished");
  };
  EXPECT_EQ(finished_for("sk-ann"), 1U);
  EXPECT_EQ(finished_for("sk-bob"), 2U);
  EXPECT_EQ(finished_for("sk-eye"), 3U);
  EXPECT_EQ(server.ask("GET", "/cache/events").status, 401);
}

TEST(CacheEventsPage, EndsWhenTheServerStops) {
  TestServer server;
  server.load();
  TestClient client(server.api().port());
  client.send(watching("/cache/events"));
  TestAnswer answer = client.read_head();
  server.api().drain();
  while (client.read_chunk(answer)) {
  }
  EXPECT_TRUE(answer.complete) << "it was cut off";
}

TEST(CacheEventsPage, OnlySomeMayWatch) {
  TestServer server;
  server.load();
  std::list<TestClient> clients;
  for (std::size_t i = 0; i < CacheEvents::kWatchersMax; ++i) {
    clients.emplace_back(server.api().port()).send(watching("/cache/events"));
    EXPECT_EQ(clients.back().read_head().status, 200);
  }
  EXPECT_EQ(server.ask("GET", "/cache/events").status, 503);
}

}  // namespace
}  // namespace holdfast::api
