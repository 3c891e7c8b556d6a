#include "api/request_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <sstream>

#include "api/testing/test_server.h"
#include "env/log.h"

namespace holdfast::api {
namespace {

// The program's log, kept in memory.
class RequestLogTest : public ::testing::Test {
 protected:
  void SetUp() override { configure(env::LogLevel::kInfo); }
  void TearDown() override { static_cast<void>(env::Log::configure({})); }

  void configure(env::LogLevel level) {
    const auto keep = [this](std::string_view text) {
      const std::lock_guard lock(mutex_);
      out_ += text;
    };
    ASSERT_TRUE(env::Log::configure({.level = level, .sink = {.write = keep}}));
  }

  // The lines of requests without their times. A line is written when a request is over,
  // which may be after its client has read the answer.
  std::vector<std::string> lines(std::size_t expected) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (written().size() < expected && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return written();
  }

  std::vector<std::string> written() {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> found;
    std::istringstream stream(out_);
    for (std::string line; std::getline(stream, line);)
      if (const auto at = line.find("request method="); at != std::string::npos)
        found.push_back(line.substr(at));
    return found;
  }

 private:
  std::mutex mutex_;
  std::string out_;
};

bool has(const std::string& line, std::string_view part) {
  return line.find(part) != std::string::npos;
}

TEST_F(RequestLogTest, RLOG1AnswersSayWhatTheyCost) {
  TestServer server;
  server.load();
  EXPECT_EQ(server.chat(R"(,"max_tokens":3)").status, 200);
  const auto line = lines(1).at(0);
  EXPECT_TRUE(
      line.starts_with("request method=POST path=/v1/chat/completions status=200 "
                       "client=127.0.0.1:"))
      << line;
  for (const char* part : {" session=- ", " cached=0 ", " read=", " wrote=3 ", " ms="})
    EXPECT_TRUE(has(line, part)) << line;
}

TEST_F(RequestLogTest, RLOG1AStreamHasItsLineAtItsEnd) {
  TestServer server;
  server.load();
  EXPECT_EQ(server.chat(R"(,"max_tokens":3,"stream":true)").status, 200);
  EXPECT_TRUE(has(lines(1).at(0), " wrote=3 "));
  EXPECT_EQ(written().size(), 1U);
}

TEST_F(RequestLogTest, RLOG1RefusalsSayWhy) {
  TestServer server;
  server.load();
  EXPECT_EQ(server.ask("GET", "/v1/modles", "", "User-Agent: probe/1\r\n").status, 404);
  const auto missing = lines(1).at(0);
  EXPECT_TRUE(has(missing, "status=404")) << missing;
  EXPECT_TRUE(has(missing,
                  "agent=probe/1 why=\"There is no GET /v1/modles here. What comes nearest: "
                  "/v1/models"))
      << missing;
  EXPECT_EQ(server.ask("POST", "/v1/chat/completions", "{").status, 400);
  EXPECT_TRUE(has(lines(2).at(1), "status=400")) << lines(2).at(1);
}

// A body that nobody may send is not read; the line says why all the same.
TEST_F(RequestLogTest, RLOG1ARefusedHeadSaysWhy) {
  ApiOptions options;
  options.api_keys = {"sesame"};
  TestServer server(options);
  server.load();
  EXPECT_EQ(server.ask("POST", "/v1/chat/completions", "{}").status, 401);
  EXPECT_TRUE(has(lines(1).at(0), "why=\"The API key is missing or wrong.")) << lines(1).at(0);
}

// What fails before there is a request that a handler could see.
TEST_F(RequestLogTest, RLOG1BrokenHttpHasALine) {
  TestServer server;
  server.load();
  TestClient client(server.api().port());
  client.send("POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n");
  EXPECT_EQ(client.read_answer().status, 400);
  const auto line = lines(1).at(0);
  EXPECT_TRUE(has(line, "status=400 client=127.0.0.1:")) << line;
}

TEST_F(RequestLogTest, RLOG1AClientThatLeavesHasALine) {
  TestServer server({}, {}, {.slots = 1, .context_tokens = 1 << 20});  // it would take a while
  server.load();
  {
    TestClient client(server.api().port());
    client.send(TestServer::request_text(
        "POST", "/v1/chat/completions",
        R"({"messages":[{"role":"user","content":"hello"}],"stream":true,"max_tokens":1000000,"ignore_eos":true})"));
    ASSERT_EQ(client.read_head().status, 200);
  }
  EXPECT_TRUE(has(lines(1).at(0), "why=\"the client left\"")) << lines(1).at(0);
}

TEST_F(RequestLogTest, RLOG2TextOfClientsIsEscapedAndShort) {
  TestServer server;
  server.load();
  const std::string forged = "/a%0a12:00:00.000%20info%20%20request%20method=GET%1b%5b2J%c2%9b";
  EXPECT_EQ(
      server
          .ask("GET", forged + std::string(4000, 'x'), "", "x-claude-code-session-id: s-1\xff\r\n")
          .status,
      404);
  const auto all = lines(1);
  ASSERT_EQ(all.size(), 1U);
  for (const char c : all[0])
    EXPECT_GE(static_cast<unsigned char>(c), ' ') << "a control character in " << all[0];
  EXPECT_FALSE(has(all[0], "\xc2\x9b"));
  EXPECT_TRUE(has(all[0], "\\n12:00:00.000")) << all[0];
  EXPECT_LT(all[0].size(), 1200U);
}

TEST_F(RequestLogTest, TheSessionMayBeNamedInTheBody) {
  TestServer server;
  server.load();
  EXPECT_EQ(server.chat(R"(,"max_tokens":1,"prompt_cache_key":"s-1")").status, 200);
  EXPECT_TRUE(has(lines(1).at(0), " session=s-1 ")) << lines(1).at(0);
}

TEST_F(RequestLogTest, WhatIsPolledIsForDebugging) {
  TestServer server;
  server.load();
  const auto poll = [&] {
    for (const char* path : {"/health", "/v1/health", "/metrics", "/slots", "/cache", "/"})
      EXPECT_EQ(server.ask("GET", path).status, 200) << path;
    EXPECT_EQ(server.ask("GET", "/v1/models").status, 200);
  };
  poll();
  EXPECT_TRUE(has(lines(1).at(0), "path=/v1/models"));
  EXPECT_EQ(written().size(), 1U);
  configure(env::LogLevel::kDebug);
  poll();
  EXPECT_EQ(lines(8).size(), 8U);
}

}  // namespace
}  // namespace holdfast::api
