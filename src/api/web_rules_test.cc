// Which web pages may use the server: names that it is asked by, and origins.
#include "api/web_rules.h"

#include <gtest/gtest.h>

#include "api/testing/test_server.h"

namespace holdfast::api {
namespace {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Ask {
  std::string method = "GET";
  std::string host = "127.0.0.1:8080";
  Headers more = {};
};

HttpRequest request_of(const Ask& ask) {
  HttpRequest request{.method = ask.method, .path = "/cache/receipts"};
  if (!ask.host.empty()) request.headers.emplace_back("Host", ask.host);
  request.headers.insert(request.headers.end(), ask.more.begin(), ask.more.end());
  return request;
}

// The refusal's text; empty: not refused.
std::string refusal(const WebOptions& options, const Ask& ask, bool keys = false) {
  const auto refused = WebRules(options).refuse(request_of(ask), keys);
  if (!refused) return "";
  EXPECT_EQ(refused->status, 403);
  return refused->body;
}

bool names_are_known(const WebOptions& options, const std::string& host) {
  return refusal(options, {.host = host}).empty();
}

TEST(WebRules, WEB1AddressesAndLoopbackNamesAreKnown) {
  for (const char* host :
       {"127.0.0.1:8080", "127.0.0.1", "[::1]:8080", "localhost", "LocalHost:1", "localhost.:8080",
        "app.localhost:80", "192.168.1.7:8080", "[fe80::1]"}) {
    EXPECT_TRUE(names_are_known({}, host)) << host;
  }
  EXPECT_TRUE(names_are_known({}, "")) << "no browser leaves Host out";
}

TEST(WebRules, WEB1ANameThatIsNotOursIsRefused) {
  for (const char* host :
       {"evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example",
        "notlocalhost", "holdfast", "x.local", "[evil.example]"}) {
    const std::string why = refusal({}, {.host = host});
    EXPECT_NE(why.find("--allowed-hosts"), std::string::npos) << host;
  }
}

TEST(WebRules, WEB1NamesCanBeAdded) {
  const WebOptions given{.allowed_hosts = {"ai.example", "b.example:8080"}};
  EXPECT_TRUE(names_are_known(given, "ai.example"));
  EXPECT_TRUE(names_are_known(given, "AI.example:443"));
  EXPECT_TRUE(names_are_known(given, "b.example"));
  EXPECT_FALSE(names_are_known(given, "c.ai.example"));
  EXPECT_TRUE(names_are_known({.allowed_hosts = {"*"}}, "evil.example"));
  EXPECT_TRUE(names_are_known({.hosts = {"::1", "ai.example"}}, "ai.example:8080"));
}

TEST(WebRules, WEB1AServerForOthersKnowsNamesOfItsNetwork) {
  const WebOptions open{.hosts = {"127.0.0.1", "0.0.0.0"}};
  for (const char* host : {"holdfast:8080", "box.local", "host.docker.internal", "a.home.arpa"}) {
    EXPECT_TRUE(names_are_known(open, host)) << host;
    EXPECT_FALSE(names_are_known({}, host)) << host;
  }
  EXPECT_FALSE(names_are_known(open, "evil.example"));
  EXPECT_FALSE(names_are_known({.hosts = {"::1", "/run/holdfast.sock"}}, "holdfast:8080"));
}

TEST(WebRules, WEB1NoNameLeadsToAUnixSocket) {
  HttpRequest request = request_of({.host = "holdfast"});
  EXPECT_TRUE(WebRules({}).refuse(request, false));
  request.peer = kUnixPeer;
  EXPECT_FALSE(WebRules({}).refuse(request, false));
  request.headers.emplace_back("Origin", "https://evil.example");
  EXPECT_TRUE(WebRules({}).refuse(request, false)) << "a proxy may pass a page's request on";
}

TEST(WebRules, WEB1WithKeysAnyNameWillDo) {
  EXPECT_EQ(refusal({}, {.host = "evil.example"}, true), "");
}

bool has_cors(const WebOptions& options, const std::string& origin) {
  const auto headers =
      WebRules(options).headers_for(request_of({.more = {{"Origin", origin}}}), false);
  return !headers.empty() &&
         headers[0] == Headers::value_type("Access-Control-Allow-Origin", origin);
}

TEST(WebRules, WEB2OnlyAllowedOriginsGetHeaders) {
  EXPECT_FALSE(has_cors({}, "https://a.example"));
  EXPECT_FALSE(has_cors({}, "null"));
  const WebOptions one{.cors_origins = {"https://a.example"}};
  EXPECT_TRUE(has_cors(one, "https://a.example"));
  for (const char* origin : {"http://a.example", "https://a.example:444", "https://b.example",
                             "https://a.example.evil.example", "null"}) {
    EXPECT_FALSE(has_cors(one, origin)) << origin;
  }
  EXPECT_TRUE(has_cors({.cors_origins = {"*"}}, "https://any.example"));
  EXPECT_TRUE(has_cors({.cors_origins = {"app://*"}}, "app://obsidian.md"));
  EXPECT_FALSE(has_cors({.cors_origins = {"app://*"}}, "https://app.example"));
}

TEST(WebRules, WEB2LocalhostMeansPagesOfThisMachine) {
  const WebOptions local{.cors_origins = {"localhost"}};
  for (const char* origin :
       {"http://localhost", "http://localhost:3000", "https://localhost:3000", "http://127.0.0.1",
        "http://127.0.0.1:3000", "http://[::1]", "http://[::1]:3000", "http://app.localhost"}) {
    EXPECT_TRUE(has_cors(local, origin)) << origin;
  }
  for (const char* origin : {"http://evil.example", "http://notlocalhost", "null",
                             "http://localhost.evil.example", "http://192.168.1.7"}) {
    EXPECT_FALSE(has_cors(local, origin)) << origin;
  }
}

TEST(WebRules, WEB2CredentialsAreForOriginsThatWereNamed) {
  const HttpRequest request =
      request_of({.more = {{"Origin", "https://a.example"}, {"X-Api-Key", "x"}}});
  const Headers::value_type credentials{"Access-Control-Allow-Credentials", "true"};
  const auto count = [&](std::vector<std::string> origins) {
    const auto headers = WebRules({.cors_origins = std::move(origins)}).headers_for(request, true);
    return std::ranges::count(headers, credentials);
  };
  EXPECT_EQ(count({"https://a.example"}), 1);
  EXPECT_EQ(count({"*"}), 0);
  EXPECT_EQ(count({}), 0);
}

TEST(WebRules, WEB2WithKeysAPageThatCarriesOneGetsHeaders) {
  const auto granted = [](const WebOptions& options, const Ask& ask, bool keys = true) {
    return !WebRules(options).headers_for(request_of(ask), keys).empty();
  };
  const Headers::value_type origin{"Origin", "https://a.example"};
  for (const char* name : {"Authorization", "X-Api-Key"}) {
    EXPECT_TRUE(granted({}, {.more = {origin, {name, "x"}}}));
    EXPECT_FALSE(granted({}, {.more = {origin, {name, "x"}}}, false)) << "without keys";
    EXPECT_FALSE(granted({.cors_origins = {"https://b.example"}}, {.more = {origin, {name, "x"}}}))
        << "origins that were named are all";
  }
  EXPECT_TRUE(granted({}, {.method = "OPTIONS", .more = {origin}})) << "the key comes later";
  EXPECT_FALSE(granted({}, {.more = {origin}})) << "nothing to read without a key";
}

TEST(WebRules, WEB3PagesOfOtherOriginsAreRefused) {
  for (const char* method : {"GET", "POST", "DELETE"}) {
    for (const char* origin : {"https://evil.example", "null", "http://127.0.0.1:3000",
                               "chrome-extension://abc", "http://evil.example:8080"}) {
      const Ask ask{.method = method, .more = {{"Origin", origin}}};
      EXPECT_NE(refusal({}, ask).find("--cors-origins"), std::string::npos) << method << origin;
      EXPECT_EQ(refusal({.cors_origins = {"*"}}, ask), "");
    }
    const Ask own{.method = method, .more = {{"Origin", "http://127.0.0.1:8080"}}};
    EXPECT_EQ(refusal({}, own), "") << "the server's own page";
  }
}

TEST(WebRules, WEB3WithKeysPagesAreAnsweredLikeEverybody) {
  EXPECT_EQ(refusal({}, {.method = "POST", .more = {{"Origin", "https://evil.example"}}}, true),
            "");
}

TEST(WebRules, WEB3APreflightOfAForeignPageGetsAReasonAndNoHeaders) {
  const HttpRequest request =
      request_of({.method = "OPTIONS", .more = {{"Origin", "https://evil.example"}}});
  const WebRules rules({});
  EXPECT_FALSE(rules.refuse(request, false));
  const HttpResponse answer = rules.preflight(request, false);
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.headers.empty());
  EXPECT_NE(answer.body.find("--cors-origins https://evil.example"), std::string::npos);
}

TEST(WebRules, WEB3RequestsWithoutAnOriginAreToldBySecFetch) {
  const auto asked = [](const char* site, const char* mode, const char* dest) {
    return refusal(
        {},
        {.more = {{"Sec-Fetch-Site", site}, {"Sec-Fetch-Mode", mode}, {"Sec-Fetch-Dest", dest}}});
  };
  EXPECT_NE(asked("cross-site", "no-cors", "image"), "");
  EXPECT_NE(asked("same-site", "no-cors", "script"), "");
  EXPECT_NE(asked("cross-site", "navigate", "iframe"), "");
  EXPECT_EQ(asked("cross-site", "navigate", "document"), "") << "a link may be followed";
  EXPECT_EQ(asked("same-origin", "cors", "empty"), "");
  EXPECT_EQ(asked("none", "navigate", "document"), "");
}

TEST(WebRules, APreflightIsAnsweredWithWhatWasAsked) {
  const WebRules rules({.cors_origins = {"https://a.example"}});
  const HttpResponse allowed =
      rules.preflight(request_of({.method = "OPTIONS",
                                  .more = {{"Origin", "https://a.example"},
                                           {"Access-Control-Request-Headers", "x-special"},
                                           {"Access-Control-Request-Private-Network", "true"}}}),
                      false);
  EXPECT_EQ(allowed.status, 200);
  const auto has = [&](const char* name, const char* value) {
    return std::ranges::count(allowed.headers, Headers::value_type(name, value)) == 1;
  };
  EXPECT_TRUE(has("Access-Control-Allow-Headers", "x-special"));
  EXPECT_TRUE(has("Access-Control-Allow-Private-Network", "true"));
}

// The whole server: nothing is cleared, nothing is told, and the answer is readable to nobody.
TEST(WebRules, WEB3AServerWithoutKeysRefusesOtherPages) {
  TestServer server;
  server.load();
  const std::string foreign = "Origin: https://evil.example\r\n";
  for (const auto& [method, path] : std::vector<std::pair<std::string, std::string>>{
           {"GET", "/cache/receipts"}, {"DELETE", "/cache"}, {"POST", "/v1/chat/completions"}}) {
    const auto answer = server.ask(method, path, "{}", foreign);
    EXPECT_EQ(answer.status, 403) << path;
    EXPECT_EQ(answer.head.find("Access-Control"), std::string::npos);
  }
  const auto anthropic = server.ask("POST", "/v1/messages", "{}", foreign);
  EXPECT_EQ(json_of(anthropic)["error"]["type"], "permission_error");
}

}  // namespace
}  // namespace holdfast::api
