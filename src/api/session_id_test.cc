#include "api/session_id.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace holdfast::api {
namespace {

std::string in_header(const char* name, const std::string& value, const std::string& in_body = "") {
  HttpRequest request;
  request.headers = {{name, value}};
  return session_of(request, in_body);
}

std::string in_body(const std::string& text) {
  const Json body = Json::parse(text);
  FirstError error;
  const std::string session = read_session(JsonFields(body, "", error));
  EXPECT_TRUE(error.empty()) << text;
  return session;
}

TEST(SessionId, HeadersAreThoseThatAgentsSend) {
  for (const char* name :
       {"X-Claude-Code-Session-Id", "session-id", "thread-id", "x-session-affinity", "session_id"})
    EXPECT_EQ(in_header(name, "abc", "other"), "abc") << name;
  EXPECT_EQ(in_header("x-request-id", "abc"), "");
  EXPECT_EQ(in_header("x-request-id", "abc", "other"), "other");
}

TEST(SessionId, TheFirstHeaderOfTheListCounts) {
  HttpRequest request;
  request.headers = {{"thread-id", "t"}, {"x-session-affinity", "a"}, {"session-id", "s"}};
  EXPECT_EQ(session_of(request), "s");
}

TEST(SessionId, BodiesAreReadInOrder) {
  EXPECT_EQ(in_body(R"({"user":"u"})"), "u");
  EXPECT_EQ(in_body(R"({"user":"u","safety_identifier":"i"})"), "i");
  EXPECT_EQ(in_body(R"({"user":"u","metadata":{"user_id":"m"}})"), "m");
  EXPECT_EQ(in_body(R"({"user":"u","metadata":{"user_id":"m"},"prompt_cache_key":"k"})"), "k");
  EXPECT_EQ(in_body(R"({})"), "");
}

TEST(SessionId, ClaudeCodesUserIdHoldsTheSession) {
  EXPECT_EQ(in_body(R"({"metadata":{"user_id":"user_4f2a_account_9c_session_1b-2c"}})"), "1b-2c");
  EXPECT_EQ(
      in_body(
          R"({"metadata":{"user_id":"{\"device_id\":\"d\",\"account_uuid\":\"\",\"session_id\":\"1b-2c\"}"}})"),
      "1b-2c");
  EXPECT_EQ(in_body(R"({"metadata":{"user_id":"{\"device_id\":"}})"), "{\"device_id\":");
  EXPECT_EQ(in_body(R"({"metadata":{"user_id":"ends_session_"}})"), "ends_session_");
}

TEST(SessionId, WhatIsNoTextIsNoSession) {
  for (const char* odd :
       {R"({"user":5})", R"({"user":null})", R"({"user":""})", R"({"metadata":[]})",
        R"({"metadata":"m"})", R"({"metadata":{"user_id":{}}})", R"({"prompt_cache_key":["k"]})"})
    EXPECT_EQ(in_body(odd), "") << odd;
  EXPECT_EQ(in_body(R"({"prompt_cache_key":7,"user":"u"})"), "u");
}

const std::string kOdd[] = {std::string(kSessionIdMax + 1, 'x'),
                            "a b",
                            "\x1b[31m",
                            "l\xc3\xa9",
                            "a\nb",
                            std::string(9000, '"'),
                            std::string("a\0b", 3)};

TEST(SessionId, SESSION1IdsAreShortAndPrintable) {
  for (const std::string& odd : kOdd) {
    const std::string id = session_id(odd);
    EXPECT_LE(id.size(), kSessionIdMax);
    for (const char c : id) EXPECT_TRUE(c > ' ' && c < '\x7f') << id;
  }
  const std::string longest(kSessionIdMax, 'x');
  EXPECT_EQ(session_id(longest), longest);
}

TEST(SessionId, SESSION2IdsThatDifferStayDifferent) {
  EXPECT_NE(session_id("a b"), session_id("a\tb"));
  EXPECT_NE(session_id("a b"), session_id("a_b"));
  const std::string front(4000, 'x');
  EXPECT_NE(session_id(front + "1"), session_id(front + "2"));
}

TEST(SessionId, SESSION3TheIdOfAnIdIsTheId) {
  for (const std::string& odd : kOdd) EXPECT_EQ(session_id(session_id(odd)), session_id(odd));
  EXPECT_EQ(session_id(""), "");
}

}  // namespace
}  // namespace holdfast::api
