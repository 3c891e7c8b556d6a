// Several keys on one server: what each sees, drops and is told.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/json_fields.h"
#include "api/testing/test_server.h"
#include "env/log.h"

namespace holdfast::api {
namespace {

// Two users, one who reads figures, one admin.
class Tenants : public ::testing::Test {
 protected:
  Tenants() : server(options(), scheduling()) { server.load(); }

  static serve::SchedulerOptions scheduling() {
    serve::SchedulerOptions options;
    options.cache.memory.budget = 64 << 20;
    return options;
  }

  static ApiOptions options() {
    ApiOptions options;
    options.file_keys = parse_key_file(
                            "alice: a\nbob: b\ngrafana: m: metrics\nops: o: admin\n"
                            "slow: s: rate=2\n")
                            .value();
    return options;
  }

  TestAnswer ask(const std::string& key, const std::string& method, const std::string& path,
                 const std::string& body = "") {
    return server.ask(method, path, body, "Authorization: Bearer " + key + "\r\n");
  }
  // How much of a prompt was known. Each one goes on from the text in another way.
  int cached(const std::string& key, const std::string& text) {
    const std::string turn = "</s><s>" + std::to_string(++turns_);
    const auto answer = ask(key, "POST", "/v1/completions",
                            R"({"max_tokens":0,"prompt":"<s>)" + text + turn + R"(</s>"})");
    EXPECT_EQ(answer.status, 200) << answer.body;
    return json_of(answer)["usage"]["prompt_tokens_details"]["cached_tokens"];
  }

  TestServer server;
  int turns_ = 0;
};

TEST_F(Tenants, AKeyDropsItsOwnStatesAlone) {
  cached("a", "the first text");
  cached("b", "the second text");
  const auto cleared = ask("b", "DELETE", "/cache");
  EXPECT_EQ(cleared.status, 200) << cleared.body;
  EXPECT_GT(cached("a", "the first text"), 0) << "alice's are there";
  EXPECT_EQ(cached("b", "the second text"), 0) << "bob's are gone";
  EXPECT_EQ(ask("o", "DELETE", "/cache").status, 200);
  EXPECT_EQ(cached("a", "the first text"), 0) << "an admin drops all";
  server.scheduler().stop(serve::StopMode::kAbort);  // its thread would change what check() reads
  EXPECT_EQ(server.scheduler().check(), std::vector<std::string>{});
}

TEST_F(Tenants, AfterItTheOwnersTextIsNotTold) {
  cached("a", "the secret text");
  cached("a", "the secret of it");
  const auto stored =
      ask("a", "POST", "/v1/responses", R"({"input":"a secret","max_output_tokens":2})");
  const std::string id = json_of(stored)["id"];
  EXPECT_GE(json_of(ask("a", "GET", "/cache/receipts"))["data"].size(), 2U);
  EXPECT_EQ(ask("a", "DELETE", "/cache").status, 200);
  EXPECT_EQ(json_of(ask("a", "GET", "/cache/receipts"))["data"].size(), 0U);
  EXPECT_EQ(ask("a", "GET", "/v1/responses/" + id).status, 404);
  cached("a", "the secret is told again?");
  const Json receipt = json_of(ask("a", "GET", "/cache/receipts"))["data"][0];
  EXPECT_EQ(receipt["matched_tokens"], 0);
  EXPECT_TRUE(receipt["difference"].is_null()) << receipt;
}

TEST_F(Tenants, AnothersReceiptsAndResponsesStay) {
  cached("a", "the first text");
  const auto stored = ask("a", "POST", "/v1/responses", R"({"input":"x","max_output_tokens":2})");
  const std::string id = json_of(stored)["id"];
  EXPECT_EQ(ask("b", "DELETE", "/cache").status, 200);
  EXPECT_EQ(ask("a", "GET", "/v1/responses/" + id).status, 200);
  EXPECT_EQ(json_of(ask("a", "GET", "/cache/receipts"))["data"].size(), 2U);
}

TEST_F(Tenants, FiguresOfAllAreForThoseWhoMaySeeThem) {
  cached("a", "the first text");
  EXPECT_EQ(ask("b", "GET", "/metrics").status, 403);
  EXPECT_EQ(json_of(ask("b", "GET", "/slots")).size(), 0U);
  const Json own = json_of(ask("b", "GET", "/cache"));
  EXPECT_EQ(own["conversations"]["count"], 0);
  EXPECT_TRUE(own["totals"].is_null() && own["memory"].is_null() && own["disk"].is_null());
  EXPECT_EQ(own.dump().find("in use"), std::string::npos);
  EXPECT_GT(json_of(ask("a", "GET", "/cache"))["conversations"]["count"], 0);
  for (const char* key : {"m", "o"}) {
    EXPECT_EQ(ask(key, "GET", "/metrics").status, 200);
    EXPECT_EQ(json_of(ask(key, "GET", "/slots")).size(), 2U);
    EXPECT_EQ(json_of(ask(key, "GET", "/cache"))["totals"]["requests"], 1);
  }
}

TEST_F(Tenants, AKeyForFiguresDoesNothingElse) {
  EXPECT_EQ(ask("m", "GET", "/v1/models").status, 200);
  EXPECT_EQ(ask("m", "DELETE", "/cache").status, 403);
  EXPECT_EQ(ask("m", "POST", "/slots/0?action=erase").status, 403);
  EXPECT_EQ(ask("m", "GET", "/cache/receipts").status, 403);
  const auto chat = ask("m", "POST", "/v1/messages", "{}");
  EXPECT_EQ(chat.status, 403);
  EXPECT_EQ(json_of(chat)["error"]["type"], "permission_error");
}

TEST_F(Tenants, ARateIsKeptAndToldInTheClientsShape) {
  cached("s", "one");
  cached("s", "two");
  const auto refused = ask("s", "POST", "/v1/completions", R"({"prompt":"x"})");
  EXPECT_EQ(refused.status, 429);
  EXPECT_TRUE(refused.has("Retry-After: 30"));
  EXPECT_EQ(json_of(refused)["error"]["type"], "rate_limit_error");
  const auto anthropic = ask("s", "POST", "/v1/messages", "{}");
  EXPECT_EQ(anthropic.status, 429);
  EXPECT_EQ(json_of(anthropic)["type"], "error");
  EXPECT_EQ(json_of(anthropic)["error"]["type"], "rate_limit_error");
  EXPECT_EQ(ask("s", "GET", "/v1/models").status, 200) << "reading about the server is free";
}

TEST_F(Tenants, WithoutAKeyTheBodyIsNotReadNorInATrailer) {
  TestClient client(server.api().port());
  client.send(
      "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000000\r\n\r\n");
  EXPECT_EQ(client.read_answer().status, 401);
  TestClient trailing(server.api().port());
  trailing.send(
      "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"
      "0\r\nAuthorization: Bearer a\r\n\r\n");
  EXPECT_EQ(trailing.read_answer().status, 401);
}

TEST_F(Tenants, ActionsOfAdminsAreInTheLogWithTheirNames) {
  ::testing::internal::CaptureStderr();
  ask("o", "DELETE", "/cache");
  ask("a", "POST", "/slots/0?action=erase");
  ask("a", "POST", "/slots/0?action=%0Aforged");
  server.api().stop();
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("audit action=\"clear cache\" key=ops path=/cache"), std::string::npos) << log;
  EXPECT_NE(log.find("audit action=\"slot erase\" key=alice path=/slots/0"), std::string::npos);
  EXPECT_EQ(log.find("\nforged"), std::string::npos) << "a client adds no line";
}

}  // namespace
}  // namespace holdfast::api
