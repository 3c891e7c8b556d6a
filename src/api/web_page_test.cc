#include "api/web_page.h"

#include <gtest/gtest.h>

#include "api/testing/test_server.h"

namespace holdfast::api {
namespace {

constexpr WebFile kFiles[] = {
    {"/", "text/html; charset=utf-8", "\"p1\"", "<page>"},
    {"/assets/app-1.js", "text/javascript; charset=utf-8", "\"a1\"", "<script>"},
};

using Headers = std::vector<std::pair<std::string, std::string>>;
const Headers kBrowser = {{"Accept", "text/html,application/xhtml+xml,*/*;q=0.8"},
                          {"Accept-Encoding", "gzip, deflate, br"}};

HttpRequest get(std::string path, Headers headers = kBrowser) {
  return {.method = "GET", .path = std::move(path), .headers = std::move(headers)};
}

std::string header_of(const HttpResponse& response, std::string_view name) {
  for (const auto& [key, value] : response.headers)
    if (key == name) return value;
  return "";
}

TEST(WebPage, Page1EveryFileKeepsToItsOrigin) {
  for (const char* path : {"/", "/assets/app-1.js"}) {
    const auto page = web_page(get(path), kFiles);
    ASSERT_TRUE(page) << path;
    const std::string policy = header_of(*page, "Content-Security-Policy");
    EXPECT_NE(policy.find("default-src 'none'; script-src 'self'; style-src 'self';"),
              std::string::npos);
    EXPECT_EQ(policy.find("unsafe"), std::string::npos);
    EXPECT_NE(policy.find("frame-ancestors 'none'"), std::string::npos);
    EXPECT_EQ(header_of(*page, "X-Content-Type-Options"), "nosniff");
  }
}

TEST(WebPage, Page2OnlyWhoTakesGzipGetsAFile) {
  const auto page = web_page(get("/"), kFiles);
  ASSERT_TRUE(page);
  EXPECT_EQ(page->body, "<page>");
  EXPECT_EQ(header_of(*page, "Content-Encoding"), "gzip");
  EXPECT_FALSE(web_page(get("/", {{"Accept", "text/html"}}), kFiles));
  EXPECT_FALSE(web_page(get("/", {{"Accept", "*/*"}, {"Accept-Encoding", "gzip"}}), kFiles));
  EXPECT_EQ(web_page(get("/assets/app-1.js", {}), kFiles)->status, 406);
}

TEST(WebPage, Page3AnAssetIsKeptAndThePageAskedFor) {
  EXPECT_EQ(header_of(*web_page(get("/"), kFiles), "Cache-Control"), "no-cache");
  EXPECT_EQ(header_of(*web_page(get("/assets/app-1.js"), kFiles), "Cache-Control"),
            "public, max-age=31536000, immutable");
  Headers again = kBrowser;
  again.emplace_back("If-None-Match", "\"p1\"");
  const auto known = web_page(get("/", again), kFiles);
  EXPECT_EQ(known->status, 304);
  EXPECT_EQ(known->body, "");
  EXPECT_EQ(web_page(get("/assets/app-1.js", again), kFiles)->status, 200);
}

TEST(WebPage, WhatIsNotThereIsNotFound) {
  EXPECT_EQ(web_page(get("/assets/app-0.js"), kFiles)->status, 404);
  EXPECT_FALSE(web_page(get("/"), {}));
  EXPECT_EQ(web_page(get("/assets/app-1.js"), {})->status, 404);
}

TEST(WebPage, OnlyItsPathsAreThePage) {
  EXPECT_TRUE(asks_for_page(get("/")));
  EXPECT_TRUE(asks_for_page(get("/assets/x")));
  EXPECT_FALSE(asks_for_page(get("/cache")));
  EXPECT_FALSE(asks_for_page(get("/asset")));
  EXPECT_FALSE(asks_for_page({.method = "POST", .path = "/"}));
}

TEST(WebPage, NeedsNoKeyAndCanBeSwitchedOff) {
  ApiOptions options;
  options.api_keys = {"secret"};
  options.ui = false;
  TestServer server(options);
  const std::string browser = "Accept: text/html\r\nAccept-Encoding: gzip\r\n";
  const TestAnswer note = server.ask("GET", "/", "", browser);
  EXPECT_EQ(note.status, 200);
  EXPECT_NE(note.body.find("switched off (--no-ui)"), std::string::npos) << note.body;
  EXPECT_EQ(server.ask("GET", "/assets/app.js", "", browser).status, 404);
  EXPECT_EQ(server.ask("GET", "/cache").status, 401);
}

}  // namespace
}  // namespace holdfast::api
