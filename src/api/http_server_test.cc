#include "api/http_server.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <future>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "api/testing/http_test_client.h"
#include "env/log.h"

namespace holdfast::api {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using std::chrono::seconds;

constexpr seconds kPatience{20};

// An event that a test on its own thread can wait for, and raise.
class Event {
 public:
  void set() { promise_.set_value(); }
  [[nodiscard]] bool wait() { return future_.wait_for(kPatience) == std::future_status::ready; }

 private:
  std::promise<void> promise_;
  std::future<void> future_ = promise_.get_future();
};

// The same for a handler: closed until the test opens it, from any thread.
class Gate {
 public:
  explicit Gate(HttpServer& server)
      : timer_(server.executor(), asio::steady_timer::time_point::max()) {}

  awaitable<void> pass() {
    while (!open_) {
      boost::system::error_code ignored;
      co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
  }
  void open() {
    asio::post(timer_.get_executor(), [this] { open_here(); });
  }
  void open_here() {
    open_ = true;
    timer_.cancel();
  }

 private:
  asio::steady_timer timer_;
  bool open_ = false;
};

HttpResponse text(std::string body) {
  HttpResponse response;
  response.content_type = "text/plain";
  response.body = std::move(body);
  return response;
}

class HttpServerTest : public ::testing::Test {
 protected:
  using Route = HttpHandler;

  void SetUp() override {
    options_.port = 0;
    routes_["/echo"] = [](const HttpRequest& request, HttpResponder& out) -> awaitable<void> {
      co_await out.send(text(request.method + " " + request.body));
    };
  }
  void TearDown() override {
    if (server_) server_->stop();
  }

  void start() {
    auto server = HttpServer::listen(
        options_, [this](const HttpRequest& request, HttpResponder& out) -> awaitable<void> {
          return routes_.at(request.path)(request, out);
        });
    ASSERT_TRUE(server.ok()) << server.error().message;
    server_ = std::move(*server);
    gate_.emplace(*server_);
    server_->start();
  }

  // Waits until the I/O thread has done all that was posted before.
  void sync() {
    Event done;
    asio::post(server_->executor(), [&] { done.set(); });
    ASSERT_TRUE(done.wait());
  }
  void wait_for_connection_count(std::size_t count) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (server_->connection_count() != count && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    ASSERT_EQ(count, server_->connection_count());
  }
  [[nodiscard]] std::uint16_t port() const { return server_->port(); }

  // A handler that streams "hello", waits for the client to go, and says so.
  Route streams_until_gone() {
    return [this](const HttpRequest&, HttpResponder& out) -> awaitable<void> {
      Gate gone(*server_);
      out.on_gone([&] { gone.open_here(); });
      co_await out.begin_stream(text("hello"));
      started_.set();
      co_await gone.pass();
      EXPECT_TRUE(out.gone());
      co_await out.write("nobody reads this");
      co_await out.end_stream();
      gone_.set();
    };
  }
  // A handler that answers only after its client has gone, and says so.
  Route waits_until_gone() {
    return [this](const HttpRequest&, HttpResponder& out) -> awaitable<void> {
      Gate gone(*server_);
      out.on_gone([&] { gone.open_here(); });
      started_.set();
      co_await gone.pass();
      gone_.set();
      co_await out.send(text("too late?"));
    };
  }

  HttpServerOptions options_;
  std::map<std::string, Route> routes_;
  std::unique_ptr<HttpServer> server_;
  std::optional<Gate> gate_;
  Event started_;
  Event gone_;
};

// ---------------------------------------------------------------- requests

TEST_F(HttpServerTest, KeepsTheConnectionForSeveralRequests) {
  start();
  TestClient client(port());
  for (int i = 0; i < 3; ++i) {
    client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhi");
    const TestAnswer answer = client.read_answer();
    EXPECT_EQ(200, answer.status);
    EXPECT_EQ("POST hi", answer.body);
    EXPECT_TRUE(answer.has("Server: holdfast"));
    EXPECT_TRUE(answer.has("Connection: keep-alive"));
  }
  EXPECT_EQ(1u, server_->connection_count());
}

TEST_F(HttpServerTest, ClosesAfterTheAnswerWhenAsked) {
  start();
  TestClient client(port());
  client.send("GET /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  const TestAnswer answer = client.read_answer();
  EXPECT_EQ(200, answer.status);
  EXPECT_TRUE(answer.has("Connection: close"));
  EXPECT_TRUE(client.sees_end());
}

TEST_F(HttpServerTest, HandlerSeesPathQueryHeadersAndPeer) {
  routes_["/a b"] = [](const HttpRequest& request, HttpResponder& out) -> awaitable<void> {
    EXPECT_EQ("x=1&y=%26+2", request.query);
    EXPECT_EQ("& 2", request.query_value("y"));
    EXPECT_EQ("", request.query_value("z"));
    EXPECT_EQ("v", request.header("x-THING"));
    EXPECT_EQ("", request.header("x-other"));
    EXPECT_TRUE(request.peer.starts_with("127.0.0.1:")) << request.peer;
    co_await out.send(text("ok"));
  };
  start();
  TestClient client(port());
  client.send(
      "GET http://host/a%20b?x=1&y=%26+2 HTTP/1.1\r\nHost: localhost\r\nX-Thing: v\r\n\r\n");
  EXPECT_EQ("ok", client.read_answer().body);
}

TEST_F(HttpServerTest, ReadsAChunkedBody) {
  start();
  TestClient client(port());
  client.send(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel");
  client.send("lo\r\n6;ext=1\r\n world\r\n0\r\nTrailer: x\r\n\r\n");
  EXPECT_EQ("POST hello world", client.read_answer().body);
  EXPECT_EQ("GET ", client.get("/echo").body);
}

TEST_F(HttpServerTest, ReadsARequestThatArrivesByteByByte) {
  start();
  TestClient client(port());
  for (const char c :
       std::string("\r\nPOST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc")) {
    client.send({&c, 1});
    sync();
  }
  EXPECT_EQ("POST abc", client.read_answer().body);
}

TEST_F(HttpServerTest, ReadsALargeBody) {
  start();
  const std::string body(3'000'000, 'x');
  TestClient client(port());
  client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3000000\r\n\r\n" + body);
  EXPECT_EQ("POST " + body, client.read_answer().body);
}

TEST_F(HttpServerTest, AnswersPipelinedRequestsInOrder) {
  start();
  TestClient client(port());
  client.send(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n1"
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n2"
      "GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ("POST 1", client.read_answer().body);
  EXPECT_EQ("POST 2", client.read_answer().body);
  EXPECT_EQ("GET ", client.read_answer().body);
}

TEST_F(HttpServerTest, TellsAPatientClientToContinue) {
  start();
  TestClient client(port());
  client.send(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: "
      "2\r\n\r\n");
  EXPECT_EQ(100, client.read_head().status);
  client.send("hi");
  EXPECT_EQ("POST hi", client.read_answer().body);
}

TEST_F(HttpServerTest, HeadGetsTheHeadOnly) {
  start();
  TestClient client(port());
  client.send("HEAD /echo HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const TestAnswer head = client.read_head();
  EXPECT_EQ(200, head.status);
  EXPECT_TRUE(head.has("Content-Length: 5"));
  EXPECT_EQ("GET ", client.get("/echo").body);  // nothing of a body in between
}

TEST_F(HttpServerTest, HeadOfAStreamGetsTheHeadOnly) {
  routes_["/stream"] = [](const HttpRequest&, HttpResponder& out) -> awaitable<void> {
    co_await out.begin_stream(text("a"));
    co_await out.write("b");
    co_await out.end_stream();
  };
  start();
  TestClient client(port());
  client.send("HEAD /stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(200, client.read_head().status);
  EXPECT_EQ("GET ", client.get("/echo").body);
}

TEST_F(HttpServerTest, NoContentHasNoBodyAndNoLength) {
  routes_["/none"] = [](const HttpRequest&, HttpResponder& out) -> awaitable<void> {
    HttpResponse response;
    response.status = 204;
    response.headers = {{"X-Echo", "a\r\nX-Forged: 1"}};
    co_await out.send(std::move(response));
  };
  start();
  TestClient client(port());
  client.send("OPTIONS /none HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const TestAnswer answer = client.read_head();
  EXPECT_EQ(204, answer.status);
  EXPECT_EQ(std::string::npos, answer.head.find("Content-"));
  EXPECT_EQ(std::string::npos, answer.head.find("\r\nX-Forged"));
  EXPECT_EQ("GET ", client.get("/echo").body);
}

// ------------------------------------------------------------------ limits

TEST_F(HttpServerTest, HTTP1HeaderTooLargeGets431) {
  options_.header_bytes_max = 1000;
  start();
  for (const std::size_t piece : {10, 2000, 100'000}) {
    TestClient client(port());
    client.send("GET /" + std::string(800, 'a') + " HTTP/1.1\r\nHost: localhost\r\n");
    client.send("X: " + std::string(piece, 'x'));
    client.send("\r\nY: " + std::string(500, 'y') + "\r\n\r\n");
    EXPECT_EQ(431, client.read_answer().status) << piece;
    EXPECT_TRUE(client.sees_end());
  }
}

TEST_F(HttpServerTest, HTTP1HeaderNotCompleteInTimeGets408) {
  options_.header_timeout = seconds(1);
  start();
  TestClient silent(port());
  TestClient client(port());
  client.send("GET /echo HTTP/1.1\r\nHost: localhost\r\nX-Half");
  EXPECT_EQ(408, client.read_answer().status);
  EXPECT_TRUE(client.sees_end());
  EXPECT_EQ(408, silent.read_answer().status);
}

TEST_F(HttpServerTest, BodyThatStallsGets408) {
  options_.body_timeout = seconds(1);
  start();
  TestClient client(port());
  client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf");
  EXPECT_EQ(408, client.read_answer().status);
}

TEST_F(HttpServerTest, IdleConnectionIsClosedWithoutAWord) {
  options_.idle_timeout = seconds(1);
  start();
  TestClient client(port());
  EXPECT_EQ(200, client.get("/echo").status);
  EXPECT_TRUE(client.sees_end());
}

TEST_F(HttpServerTest, HTTP2BodyTooLargeGets413) {
  options_.body_bytes_max = 1000;
  start();
  TestClient announced(port());
  announced.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1001\r\n\r\n");
  EXPECT_EQ(413, announced.read_answer().status);

  TestClient chunked(port());
  chunked.send(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n200\r\n" +
      std::string(512, 'x') + "\r\n200\r\n");
  EXPECT_EQ(413, chunked.read_answer().status);

  TestClient expecting(port());
  expecting.send(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: "
      "1001\r\n\r\n");
  EXPECT_EQ(413, expecting.read_answer().status);
}

TEST_F(HttpServerTest, HTTP2ClientThatWritesItAllFirstStillReadsThe413) {
  options_.body_bytes_max = 1000;
  start();
  TestClient client(port());
  EXPECT_TRUE(
      client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000\r\n\r\n" +
                  std::string(900'000, 'x')));
  EXPECT_EQ(413, client.read_answer().status);
  EXPECT_TRUE(client.sees_end());
}

TEST_F(HttpServerTest, MalformedRequestsGet400) {
  options_.header_bytes_max = 2000;
  start();
  const std::string bad[] = {
      "nonsense\r\n\r\n",
      "GET /echo HTTP/7.1\r\n\r\n",
      "GET /echo HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n",
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: "
      "chunked\r\n\r\n",
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n",
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
  };
  for (const auto& request : bad) {
    TestClient client(port());
    client.send(request);
    const TestAnswer answer = client.read_answer();
    EXPECT_EQ(400, answer.status) << request;
    EXPECT_TRUE(answer.has("Connection: close"));
    EXPECT_TRUE(client.sees_end()) << request;
  }
}

TEST_F(HttpServerTest, EndlessChunkExtensionIsNotCollected) {
  options_.header_bytes_max = 2000;
  start();
  TestClient client(port());
  client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5;" +
              std::string(100'000, 'x'));
  EXPECT_EQ(431, client.read_answer().status);
}

TEST_F(HttpServerTest, HTTP3OneConnectionTooManyGets503) {
  options_.connections_max = 2;
  start();
  TestClient first(port());
  TestClient second(port());
  EXPECT_EQ(200, first.get("/echo").status);
  EXPECT_EQ(200, second.get("/echo").status);
  TestClient third(port());
  EXPECT_EQ(503, third.get("/echo").status);
  EXPECT_TRUE(third.sees_end());
  first.close();
  wait_for_connection_count(1);
  TestClient fourth(port());
  EXPECT_EQ(200, fourth.get("/echo").status);
}

TEST_F(HttpServerTest, HTTP4ClientThatReadsTooSlowlyIsDropped) {
  options_.send_buffer_max = 256 * 1024;
  routes_["/flood"] = [this](const HttpRequest&, HttpResponder& out) -> awaitable<void> {
    Gate told(*server_);
    out.on_gone([&] { told.open_here(); });
    co_await out.begin_stream(text(""));
    const std::string piece(32 * 1024, 'x');
    // The kernel takes some megabytes before the queue begins to grow.
    for (int i = 0; i < 2'000 && !out.gone(); ++i) co_await out.write(piece);
    EXPECT_TRUE(out.gone());
    co_await told.pass();
    gone_.set();
  };
  start();
  TestClient client(port(), {.receive_buffer = 4096});
  client.send("GET /flood HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_TRUE(gone_.wait());
  EXPECT_FALSE(client.read_answer().complete);
  wait_for_connection_count(0);
}

TEST_F(HttpServerTest, HTTP4PieceLargerThanTheBufferIsRefusedAndTold) {
  options_.send_buffer_max = 1000;
  routes_["/big"] = [this](const HttpRequest&, HttpResponder& out) -> awaitable<void> {
    Gate told(*server_);
    out.on_gone([&] { told.open_here(); });
    co_await out.begin_stream(text("ok"));
    co_await gate_->pass();
    co_await out.write(std::string(1001, 'x'));
    EXPECT_TRUE(out.gone());
    co_await told.pass();
    gone_.set();
  };
  start();
  TestClient client(port());
  client.send("GET /big HTTP/1.1\r\nHost: localhost\r\n\r\n");
  TestAnswer answer = client.read_head();
  EXPECT_TRUE(client.read_chunk(answer));
  gate_->open();
  EXPECT_TRUE(gone_.wait());
}

TEST_F(HttpServerTest, HTTP4WholeAnswerMayBeLargerThanTheBuffer) {
  options_.send_buffer_max = 1000;
  routes_["/whole"] = [](const HttpRequest&, HttpResponder& out) -> awaitable<void> {
    co_await out.send(text(std::string(8'000'000, 'x')));
  };
  start();
  EXPECT_EQ(8'000'000u, TestClient(port()).get("/whole").body.size());
}

TEST_F(HttpServerTest, HTTP5ClientThatTakesNothingIsDropped) {
  options_.write_timeout = seconds(1);
  options_.send_buffer_max = 64 * 1024 * 1024;
  routes_["/flood"] = [this](const HttpRequest&, HttpResponder& out) -> awaitable<void> {
    Gate told(*server_);
    out.on_gone([&] { told.open_here(); });
    co_await out.begin_stream(text(std::string(32 * 1024 * 1024, 'x')));
    co_await told.pass();
    gone_.set();
  };
  start();
  TestClient client(port(), {.receive_buffer = 4096});
  client.send("GET /flood HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_TRUE(gone_.wait());
}

TEST_F(HttpServerTest, BurstWithinTheBufferArrivesWhole) {
  routes_["/bulk"] = [](const HttpRequest&, HttpResponder& out) -> awaitable<void> {
    co_await out.begin_stream(text(""));
    const std::string piece(8 * 1024, 'x');
    for (int i = 0; i < 256; ++i) co_await out.write(piece);
    co_await out.end_stream();
  };
  start();
  const TestAnswer answer = TestClient(port()).get("/bulk");
  EXPECT_TRUE(answer.complete);
  EXPECT_EQ(256u * 8 * 1024, answer.body.size());
}

TEST_F(HttpServerTest, ErrorPageShapesFailures) {
  options_.error_page = [](int status, std::string_view message, const HttpRequest&) {
    HttpResponse page = text("page: " + std::string(message));
    page.status = status;
    return page;
  };
  start();
  TestClient client(port());
  client.send("nonsense\r\n\r\n");
  EXPECT_TRUE(client.read_answer().body.starts_with("page: malformed HTTP request"));
}

// --------------------------------------------------------------- streaming

TEST_F(HttpServerTest, StreamArrivesPieceByPieceAndEnds) {
  routes_["/stream"] = [this](const HttpRequest&, HttpResponder& out) -> awaitable<void> {
    co_await out.begin_stream(text("one"));
    co_await gate_->pass();
    co_await out.write("two");
    co_await out.write("");
    co_await out.write("three");
    co_await out.end_stream();
  };
  start();
  TestClient client(port());
  client.send("GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
  TestAnswer answer = client.read_head();
  EXPECT_TRUE(answer.has("Transfer-Encoding: chunked"));
  ASSERT_TRUE(client.read_chunk(answer));
  EXPECT_EQ("one", answer.body);  // while the handler still waits
  gate_->open();
  while (client.read_chunk(answer)) {
  }
  EXPECT_EQ("onetwothree", answer.body);
  EXPECT_EQ(2u, answer.chunks.size());  // two writes of one turn travel together
  EXPECT_TRUE(answer.complete);
  EXPECT_EQ("GET ", client.get("/echo").body);
}

TEST_F(HttpServerTest, HttpOneZeroStreamIsUnchunkedAndEndsWithTheConnection) {
  routes_["/stream"] = [](const HttpRequest&, HttpResponder& out) -> awaitable<void> {
    co_await out.begin_stream(text("one"));
    co_await out.write("two");
    co_await out.end_stream();
  };
  start();
  TestClient client(port());
  client.send("GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  const TestAnswer answer = client.read_head();
  EXPECT_TRUE(answer.has("Connection: close"));
  EXPECT_FALSE(answer.has("Transfer-Encoding: chunked"));
  EXPECT_EQ("onetwo", client.read_to_end());
}

TEST_F(HttpServerTest, HttpOneZeroKeepsAliveOnlyWhenAsked) {
  start();
  TestClient client(port());
  client.send("GET /echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_TRUE(client.read_answer().has("Connection: keep-alive"));
  client.send("GET /echo HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(client.read_answer().has("Connection: close"));
  EXPECT_TRUE(client.sees_end());
}

// -------------------------------------------------------------------- gone

TEST_F(HttpServerTest, DisconnectDuringAStreamIsTold) {
  routes_["/stream"] = streams_until_gone();
  start();
  TestClient client(port());
  client.send("GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(started_.wait());
  client.close();
  EXPECT_TRUE(gone_.wait());
  wait_for_connection_count(0);
}

TEST_F(HttpServerTest, DisconnectBeforeALongAnswerIsTold) {
  routes_["/long"] = waits_until_gone();
  start();
  TestClient client(port());
  client.send("GET /long HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(started_.wait());
  const auto left = std::chrono::steady_clock::now();
  client.close();
  EXPECT_TRUE(gone_.wait());
  EXPECT_LT(std::chrono::steady_clock::now() - left, seconds(2));  // no timeout was needed
  wait_for_connection_count(0);
}

TEST_F(HttpServerTest, DisconnectBehindUnreadBytesIsTold) {
  routes_["/long"] = waits_until_gone();
  start();
  TestClient client(port());
  client.send("GET /long HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(started_.wait());
  client.send("GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\n");
  sync();
  client.close();
  EXPECT_TRUE(gone_.wait());
}

TEST_F(HttpServerTest, PipelinedBytesDuringAHandlerAreNotADisconnect) {
  routes_["/gated"] = [this](const HttpRequest&, HttpResponder& out) -> awaitable<void> {
    out.on_gone([] { ADD_FAILURE() << "the client is still there"; });
    started_.set();
    co_await gate_->pass();
    co_await out.send(text("gated"));
  };
  start();
  TestClient client(port());
  client.send("GET /gated HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(started_.wait());
  client.send("GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\n");
  sync();
  gate_->open();
  EXPECT_EQ("gated", client.read_answer().body);
  EXPECT_EQ("GET ", client.read_answer().body);
}

TEST_F(HttpServerTest, HalfClosedClientIsGoneButStillGetsAWholeAnswer) {
  routes_["/long"] = waits_until_gone();
  start();
  TestClient client(port());
  client.send("GET /long HTTP/1.1\r\nHost: localhost\r\n\r\n");
  client.end_sending();
  EXPECT_TRUE(gone_.wait());
  EXPECT_EQ("too late?", client.read_answer().body);
  EXPECT_TRUE(client.sees_end());

  TestClient quick(port());
  quick.send("GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\n");
  quick.end_sending();
  EXPECT_EQ("GET ", quick.read_answer().body);
  EXPECT_TRUE(quick.sees_end());
}

TEST_F(HttpServerTest, OnGoneAfterTheFactRunsAtOnce) {
  routes_["/late"] = [this](const HttpRequest&, HttpResponder& out) -> awaitable<void> {
    Gate gone(*server_);
    out.on_gone([&] { gone.open_here(); });
    started_.set();
    co_await gone.pass();
    bool told = false;
    out.on_gone([&] { told = true; });
    EXPECT_TRUE(told);
    gone_.set();
  };
  start();
  TestClient client(port());
  client.send("GET /late HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(started_.wait());
  client.close();
  EXPECT_TRUE(gone_.wait());
}

// ---------------------------------------------------------------- failures

TEST_F(HttpServerTest, HandlerExceptionGives500AndTheServerGoesOn) {
  routes_["/throws"] = [](const HttpRequest&, HttpResponder&) -> awaitable<void> {
    throw std::runtime_error("secret");
    co_return;
  };
  start();
  TestClient client(port());
  for (int i = 0; i < 2; ++i) {
    const TestAnswer answer = client.get("/throws");
    EXPECT_EQ(500, answer.status);
    EXPECT_EQ(R"({"error":{"message":"the server failed to answer this request",)"
              R"("type":"server_error","code":500}})",
              answer.body);
    EXPECT_EQ(200, client.get("/echo").status);
  }
}

TEST_F(HttpServerTest, HandlerThatDoesNotAnswerGives500) {
  routes_["/silent"] = [](const HttpRequest&, HttpResponder&) -> awaitable<void> { co_return; };
  start();
  EXPECT_EQ(500, TestClient(port()).get("/silent").status);
}

TEST_F(HttpServerTest, StreamThatFailsDoesNotLookComplete) {
  routes_["/breaks"] = [](const HttpRequest&, HttpResponder& out) -> awaitable<void> {
    co_await out.begin_stream(text("half"));
    throw std::runtime_error("broken");
  };
  start();
  TestClient client(port());
  const TestAnswer answer = client.get("/breaks");
  EXPECT_EQ("half", answer.body);
  EXPECT_FALSE(answer.complete);
  EXPECT_TRUE(client.sees_end());
  EXPECT_EQ(200, TestClient(port()).get("/echo").status);
}

TEST_F(HttpServerTest, SecondAnswerIsAnErrorOfTheHandlerOnly) {
  routes_["/twice"] = [](const HttpRequest&, HttpResponder& out) -> awaitable<void> {
    co_await out.send(text("once"));
    EXPECT_THROW(co_await out.send(text("twice")), std::logic_error);
    EXPECT_THROW(co_await out.write("more"), std::logic_error);
  };
  start();
  TestClient client(port());
  EXPECT_EQ("once", client.get("/twice").body);
  EXPECT_EQ("GET ", client.get("/echo").body);
}

TEST_F(HttpServerTest, OutOfDescriptorsOnlyDelaysAccepting) {
  Event refused;
  env::LogOptions log;
  log.sink = {.write = [&, told = false](std::string_view line) mutable {
    if (line.find("cannot accept") != line.npos && !std::exchange(told, true)) refused.set();
  }};
  ASSERT_TRUE(env::Log::configure(std::move(log)).ok());
  start();
  rlimit usual{};
  ::getrlimit(RLIMIT_NOFILE, &usual);
  rlimit low = usual;
  low.rlim_cur = 256;
  ::setrlimit(RLIMIT_NOFILE, &low);
  std::vector<int> fillers;
  for (int fd; (fd = ::dup(0)) >= 0;) fillers.push_back(fd);
  ASSERT_FALSE(fillers.empty());
  ::close(fillers.back());
  fillers.pop_back();

  TestClient client(port());  // takes the last descriptor
  EXPECT_TRUE(refused.wait());
  for (const int fd : fillers) ::close(fd);
  ::setrlimit(RLIMIT_NOFILE, &usual);
  EXPECT_EQ(200, client.get("/echo").status);
  server_->stop();
  ASSERT_TRUE(env::Log::configure(env::LogOptions{}).ok());
}

TEST_F(HttpServerTest, ListenNamesTheAddressInUse) {
  start();
  options_.port = port();
  const auto second = HttpServer::listen(options_, routes_["/echo"]);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(std::string::npos, second.error().message.find(std::to_string(port())));
}

TEST_F(HttpServerTest, ListenNamesTheBadCertificate) {
  options_.tls = TlsFiles{"/nonexistent/cert.pem", "/nonexistent/key.pem"};
  const auto server = HttpServer::listen(options_, routes_["/echo"]);
  ASSERT_FALSE(server.ok());
  EXPECT_NE(std::string::npos, server.error().message.find("/nonexistent/cert.pem"));
}

// ---------------------------------------------------------- drain and stop

TEST_F(HttpServerTest, DrainClosesIdleConnectionsAndLetsAnswersFinish) {
  routes_["/gated"] = [this](const HttpRequest&, HttpResponder& out) -> awaitable<void> {
    started_.set();
    co_await gate_->pass();
    co_await out.send(text("finished"));
  };
  start();
  TestClient idle(port());
  EXPECT_EQ(200, idle.get("/echo").status);
  TestClient busy(port());
  busy.send("GET /gated HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(started_.wait());

  server_->drain();
  EXPECT_TRUE(idle.sees_end());
  gate_->open();
  const TestAnswer answer = busy.read_answer();
  EXPECT_EQ("finished", answer.body);
  EXPECT_TRUE(answer.has("Connection: close"));
  EXPECT_TRUE(busy.sees_end());
  busy.close();
  wait_for_connection_count(0);
}

TEST_F(HttpServerTest, StopEndsOpenStreams) {
  constexpr int kStreams = 50;
  std::atomic<int> ended = 0;
  routes_["/stream"] = [&](const HttpRequest&, HttpResponder& out) -> awaitable<void> {
    Gate gone(*server_);
    out.on_gone([&] { gone.open_here(); });
    co_await out.begin_stream(text("hello"));
    co_await gone.pass();
    co_await out.write("into the void");
    co_await out.end_stream();
    ++ended;
  };
  start();
  std::vector<TestClient> clients;
  for (int i = 0; i < kStreams; ++i) {
    clients.emplace_back(port()).send("GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
    TestAnswer answer = clients.back().read_head();
    ASSERT_TRUE(clients.back().read_chunk(answer));
  }
  server_->stop();
  EXPECT_EQ(kStreams, ended);
  EXPECT_EQ(0u, server_->connection_count());
  server_->stop();  // idempotent
}

TEST_F(HttpServerTest, StopFailsWhatAnUnheedingHandlerWaitsFor) {
  routes_["/forever"] = [this](const HttpRequest&, HttpResponder&) -> awaitable<void> {
    asio::steady_timer forever(server_->executor(), asio::steady_timer::time_point::max());
    started_.set();
    co_await forever.async_wait(asio::use_awaitable);
  };
  start();
  TestClient client(port());
  client.send("GET /forever HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(started_.wait());
  server_->stop();
  EXPECT_EQ(0u, server_->connection_count());
}

TEST_F(HttpServerTest, StopWithoutStartReturns) {
  auto server = HttpServer::listen(options_, routes_["/echo"]);
  ASSERT_TRUE(server.ok());
  (*server)->drain();
  (*server)->stop();
}

// -------------------------------------------------------------------- many

TEST_F(HttpServerTest, FiveHundredConnectionsAreHeldAndAnswered) {
  constexpr int kClients = 500;
  std::atomic<int> waiting = 0;
  routes_["/gated"] = [&](const HttpRequest&, HttpResponder& out) -> awaitable<void> {
    if (++waiting == kClients) started_.set();
    co_await out.begin_stream(text("a"));
    while (!out.gone() && waiting < kClients) {
      asio::steady_timer pause(server_->executor(), std::chrono::milliseconds(10));
      co_await pause.async_wait(asio::use_awaitable);
    }
    co_await out.write("b");
    co_await out.end_stream();
  };
  start();
  std::vector<TestClient> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back(port()).send("GET /gated HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  ASSERT_TRUE(started_.wait());
  for (auto& client : clients) {
    const TestAnswer answer = client.read_answer();
    ASSERT_EQ("ab", answer.body);
    ASSERT_TRUE(answer.complete);
  }
  EXPECT_EQ(static_cast<std::size_t>(kClients), server_->connection_count());
  for (auto& client : clients) ASSERT_EQ(200, client.get("/echo").status);
}

// --- heads that are refused, and the sum of all bodies ---------------------------------------

TEST_F(HttpServerTest, ARefusedHeadIsAnsweredBeforeItsBody) {
  options_.refuse_head = [](const HttpRequest& head) -> std::optional<HttpResponse> {
    if (head.path != "/secret") return std::nullopt;
    return HttpResponse{.status = 401};
  };
  start();
  TestClient client(port());
  client.send("POST /secret HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n");
  const auto answer = client.read_answer();
  EXPECT_EQ(answer.status, 401) << "not a byte of the body was sent";
  EXPECT_TRUE(answer.has("Connection: close"));
  TestClient patient(port());
  patient.send(
      "POST /secret HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n");
  EXPECT_EQ(patient.read_answer().status, 401) << "and it is not asked to go on";
}

TEST_F(HttpServerTest, HTTP6BodiesTogetherHaveALimit) {
  options_.body_bytes_max = 4 << 20;
  options_.bodies_bytes_max = 8 << 20;  // 6 MiB of it for large ones
  routes_["/hold"] = [this](const HttpRequest& request, HttpResponder& out) -> awaitable<void> {
    started_.set();
    co_await gate_->pass();
    co_await out.send(text(std::to_string(request.body.size())));
  };
  start();
  const auto large = [](const std::string& path) {
    return "POST " + path + " HTTP/1.1\r\nHost: a\r\nContent-Length: 4000000\r\n\r\n" +
           std::string(4'000'000, 'x');
  };
  TestClient first(port());
  first.send(large("/hold"));
  ASSERT_TRUE(started_.wait());
  TestClient second(port());
  second.send(large("/echo"));
  EXPECT_EQ(second.read_answer().status, 503);
  TestClient small(port());
  small.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi");
  EXPECT_EQ(small.read_answer().body, "POST hi") << "small ones are not kept out";
  gate_->open();
  EXPECT_EQ(first.read_answer().body, "4000000");
  first.send(large("/echo"));
  EXPECT_EQ(first.read_answer().status, 200) << "there is room again";
}

}  // namespace
}  // namespace holdfast::api
