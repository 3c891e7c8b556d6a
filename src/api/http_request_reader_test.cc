#include "api/http_request_reader.h"

#include <gtest/gtest.h>

#include <random>

namespace holdfast::api {
namespace {

constexpr HttpRequestReader::Limits kLimits{.header_bytes_max = 1000, .body_bytes_max = 1000};

struct Reading {
  std::optional<HttpRequest> request;
  int failure = 0;
  std::string leftover;

  bool operator==(const Reading& other) const {
    return failure == other.failure && leftover == other.leftover &&
           request.has_value() == other.request.has_value() &&
           (!request ||
            (request->method == other.request->method && request->path == other.request->path &&
             request->headers == other.request->headers && request->body == other.request->body));
  }
};

// Gives the reader `text` in pieces of at most `piece_max` bytes, and at random.
Reading read_in_pieces(std::string_view text, std::size_t piece_max, std::mt19937& random) {
  HttpRequestReader reader(kLimits);
  Reading reading;
  while (!text.empty() && !reader.done() && !reader.failure()) {
    const std::size_t bytes = 1 + random() % std::min(piece_max, text.size());
    reading.leftover += text.substr(0, bytes);
    text.remove_prefix(bytes);
    reading.leftover.erase(0, reader.put(reading.leftover));
    EXPECT_TRUE(reader.failure() || reader.done() ||
                reading.leftover.size() <= kLimits.header_bytes_max);  // READER-3
  }
  reading.leftover += text;
  if (reader.done()) reading.request = reader.take();
  if (reader.failure()) {
    reading.failure = reader.failure()->status;
    reading.leftover.clear();  // how much was used before a failure is nobody's business
  }
  return reading;
}

TEST(HttpRequestReader, ReadsTheSameHoweverTheBytesArrive) {
  const std::string chunk(500, 'c');
  const std::string texts[] = {
      "GET / HTTP/1.1\r\nHost: localhost\r\n\r\nGET /next HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "\r\n\r\nPOST /a?b=c HTTP/1.1\r\nHost: localhost\r\nX: 1\r\nY: 2\r\nX: 3\r\nContent-Length: "
      "5\r\n\r\nhellorest",
      "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
      "chunked\r\n\r\n3\r\nabc\r\n2;x=\"y\"\r\nde\r\n0\r\n"
      "Trailer: t\r\n\r\nrest",
      "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1f4\r\n" + chunk +
          "\r\n1f5\r\n" + chunk,
      "GET /" + std::string(600, 'a') +
          " HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(600, 'x') + "\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
      "GET / HTTP/1.1\r\nHost: localhost\r\nX 1\r\n\r\n",
  };
  const int failures[] = {0, 0, 0, 413, 431, 400, 400};
  std::mt19937 random(1);
  for (std::size_t i = 0; i < std::size(texts); ++i) {
    const Reading whole = read_in_pieces(texts[i], texts[i].size(), random);
    EXPECT_EQ(failures[i], whole.failure) << texts[i];
    for (int round = 0; round < 50; ++round) {
      EXPECT_EQ(whole, read_in_pieces(texts[i], 1 + round, random)) << texts[i];
    }
  }
}

TEST(HttpRequestReader, READER2AnAnnouncedBodyTooLargeFailsBeforeItArrives) {
  HttpRequestReader reader(kLimits);
  (void)reader.put("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1001\r\n\r\n");
  ASSERT_TRUE(reader.failure());
  EXPECT_EQ(413, reader.failure()->status);
}

TEST(HttpRequestReader, OnlyAClientThatIsStillWaitingAwaitsContinue) {
  const std::string head =
      "POST / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\n";
  HttpRequestReader waiting(kLimits);
  (void)waiting.put(head);
  EXPECT_TRUE(waiting.awaits_continue());
  HttpRequestReader complete(kLimits);
  (void)complete.put(head + "x");
  EXPECT_FALSE(complete.awaits_continue());
}

// Read whole; `failure` is a status.
Reading read_at_once(std::string_view text) {
  std::mt19937 random(1);
  return read_in_pieces(text, text.size(), random);
}

TEST(HttpRequestReader, READER5TrailersAreNoHeaders) {
  const Reading reading = read_at_once(
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n"
      "Authorization: Bearer key\r\nX-Api-Key: key\r\n\r\n");
  ASSERT_TRUE(reading.request);
  EXPECT_EQ(reading.request->body, "hi");
  EXPECT_EQ(reading.request->header("Authorization"), "");
  EXPECT_EQ(reading.request->header("x-api-key"), "");
  EXPECT_EQ(reading.request->header("Host"), "a");
}

TEST(HttpRequestReader, READER6ARequestHasOneHost) {
  EXPECT_EQ(read_at_once("GET / HTTP/1.1\r\nX: 1\r\n\r\n").failure, 400);
  EXPECT_EQ(read_at_once("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n").failure, 400);
  EXPECT_EQ(read_at_once("GET / HTTP/1.0\r\nHost: a\r\nhost: b\r\n\r\n").failure, 400);
  EXPECT_EQ(read_at_once("GET / HTTP/1.0\r\n\r\n").failure, 0) << "older than Host";
  EXPECT_EQ(read_at_once("GET / HTTP/1.1\r\nHost: a\r\n\r\n").failure, 0);
}

}  // namespace
}  // namespace holdfast::api
