#include "api/http_message.h"

#include <gtest/gtest.h>

namespace holdfast::api {
namespace {

TEST(HttpMessage, PercentDecodingLeavesBadEscapesAlone) {
  EXPECT_EQ("a b", percent_decode("a%20b", PlusSign::kLiteral));
  EXPECT_EQ("A", percent_decode("%41", PlusSign::kLiteral));
  EXPECT_EQ("%4", percent_decode("%4", PlusSign::kLiteral));
  EXPECT_EQ("%zz%", percent_decode("%zz%", PlusSign::kLiteral));
  EXPECT_EQ("a+b", percent_decode("a+b", PlusSign::kLiteral));
  EXPECT_EQ("a b", percent_decode("a+b", PlusSign::kSpace));
}

TEST(HttpMessage, TargetsOfAllForms) {
  EXPECT_EQ("/v1/models", parse_target("/v1/models").path);
  EXPECT_EQ("x=%20", parse_target("/a?x=%20").query);
  EXPECT_EQ("/a", parse_target("http://host:1/a?b").path);
  EXPECT_EQ("/", parse_target("http://host").path);
  EXPECT_EQ("b", parse_target("http://host?b").query);
  EXPECT_EQ("/a", parse_target("/a#fragment").path);
  EXPECT_EQ("*", parse_target("*").path);
  EXPECT_EQ("u=http://x/y", parse_target("/a?u=http://x/y").query);
}

TEST(HttpMessage, APrefixIsTakenAtASlash) {
  const auto rest = [](std::string path, const char* prefix) {
    return take_prefix(path, prefix) ? path : "outside";
  };
  EXPECT_EQ(rest("/llm/v1/models", "/llm"), "/v1/models");
  EXPECT_EQ(rest("/llm", "/llm"), "/");
  EXPECT_EQ(rest("/llm/", "/llm"), "/");
  EXPECT_EQ(rest("/llmv1", "/llm"), "outside");
  EXPECT_EQ(rest("/v1/models", "/llm"), "outside");
  EXPECT_EQ(rest("/v1/models", ""), "/v1/models");
}

TEST(HttpMessage, QueryValueFindsWholeNamesOnly) {
  HttpRequest request;
  request.query = "ab=1&b=2&&c&b=3&%64=4";
  EXPECT_EQ("2", request.query_value("b"));
  EXPECT_EQ("", request.query_value("c"));
  EXPECT_EQ("4", request.query_value("d"));
  EXPECT_EQ("", request.query_value("a"));
}

TEST(HttpMessage, HandlersCannotContradictTheFraming) {
  HttpResponse response;
  response.headers = {{"content-length", "9"}, {"X-A", "1"}, {"Connection", "upgrade"}};
  const std::string head = response_head(response, BodyFraming::kChunked, true);
  EXPECT_EQ(
      "HTTP/1.1 200 OK\r\nServer: holdfast\r\nContent-Type: application/json; charset=utf-8\r\n"
      "Transfer-Encoding: chunked\r\nConnection: keep-alive\r\nX-A: 1\r\n\r\n",
      head);
}

}  // namespace
}  // namespace holdfast::api
