// answer() over the fake engine, with a style that writes down how it was called.
#include "api/answer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>

#include "api/openai_errors.h"
#include "api/openai_style.h"
#include "api/testing/test_server.h"

namespace holdfast::api {
namespace {

std::mutex calls_mutex;
std::string calls;  // one letter for each call of a style
std::atomic<bool> at_once = false;

std::string calls_so_far() {
  const std::lock_guard lock(calls_mutex);
  return calls;
}

// Writes each call down, and fails the test where STYLE-1 to STYLE-3 are broken.
class CheckedStyle final : public AnswerStyle {
 public:
  explicit CheckedStyle(AnswerUnderWay& answer)
      : answer_(answer), inner_(make_chat_style(answer)), finished_(answer.readers.size(), false) {}

  Headers headers() const override { return {{"X-Style", "checked"}}; }
  bool begins_at_once() const override { return at_once; }
  std::string whole() override {
    EXPECT_TRUE(all_finished(answer_)) << "STYLE-1";
    note('w');
    return inner_->whole();
  }
  void begin(std::string& out) override {
    EXPECT_FALSE(begun_) << "STYLE-2";
    begun_ = true;
    note('b');
    out += ": begun\n\n";
  }
  void on_progress(std::size_t, const serve::PromptProgress&, std::string&) override { step('p'); }
  void on_deltas(std::size_t choice, const Deltas& deltas, const serve::Timings* timings,
                 std::string& out) override {
    EXPECT_FALSE(finished_[choice]) << "STYLE-3";
    step('d');
    inner_->on_deltas(choice, deltas, timings, out);
  }
  void on_finished(std::size_t choice, std::string& out) override {
    EXPECT_FALSE(finished_[choice]) << "STYLE-3";
    finished_[choice] = true;
    step('f');
    inner_->on_finished(choice, out);
  }
  void keep_alive(std::string& out) override {
    step('k');
    out += ": still here\n\n";
  }
  void end(std::string& out) override {
    EXPECT_TRUE(std::ranges::all_of(finished_, [](bool one) { return one; })) << "STYLE-3";
    step('e');
    ended_ = true;
    inner_->end(out);
  }
  void fail(const Error& error, std::string& out) override {
    step('x');
    ended_ = true;
    inner_->fail(error, out);
  }

 private:
  void step(char call) {
    EXPECT_TRUE(begun_ && !ended_) << "STYLE-2: " << call;
    note(call);
  }
  static void note(char call) {
    const std::lock_guard lock(calls_mutex);
    calls += call;
  }

  AnswerUnderWay& answer_;
  std::unique_ptr<AnswerStyle> inner_;
  std::vector<bool> finished_;
  bool begun_ = false;
  bool ended_ = false;
};

Result<ReadyRequest> read_checked(const Asking& asking) {
  auto request = decode_chat_request(asking.http.body, asking.backend.defaults);
  if (!request) return request.error();
  auto prepared = prepare_chat(asking.backend, *request, asking.space_for(request->options));
  if (!prepared) return prepared.error();
  const MakeStyle make = [](AnswerUnderWay& answer) {
    return std::make_unique<CheckedStyle>(answer);
  };
  return ReadyRequest{request->options, std::move(*prepared), make};
}

constexpr Protocol kChecked{"checked-", &read_checked, &error_response};

// Answers whatever is asked with the checked protocol.
class CheckedServer {
 public:
  explicit CheckedServer(TestServer& model) : model_(model) {
    calls.clear();
    at_once = false;
    HttpServerOptions options;
    options.port = 0;
    http_ = std::move(
        HttpServer::listen(options, [this](const HttpRequest& request, HttpResponder& responder) {
          AnswerContext context{model_.api().backend().get(), http_->executor(),
                                Worker{&workers_, "client", false}, "client", ""};
          return answer(std::move(context), kChecked, request, responder);
        }).value());
    http_->start();
  }
  ~CheckedServer() {
    http_->stop();
    workers_.stop();
  }

  TestClient begin(const std::string& fields) {
    TestClient client(http_->port());
    client.send(TestServer::request_text(
        "POST", "/",
        R"({"messages":[{"role":"user","content":"hello"}],"max_tokens":4)" + fields + "}"));
    return client;
  }
  TestAnswer ask(const std::string& fields) { return begin(fields).read_answer(); }

 private:
  TestServer& model_;
  WorkerPool workers_;
  std::unique_ptr<HttpServer> http_;
};

TEST(Answer, StyleOneWholeAnswersAreWrittenOnceAtTheEnd) {
  TestServer model;
  model.load();
  CheckedServer server(model);
  const TestAnswer answer = server.ask(R"(,"n":2)");
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.has("X-Style: checked"));
  EXPECT_EQ(json_of(answer)["choices"].size(), 2U);
  EXPECT_TRUE(json_of(answer)["id"].get<std::string>().starts_with("checked-"));
  EXPECT_EQ(calls_so_far(), "w");
}

TEST(Answer, StyleTwoAStreamBeginsRunsAndEnds) {
  TestServer model;
  model.load();
  CheckedServer server(model);
  const TestAnswer answer = server.ask(R"(,"stream":true,"n":2)");
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.complete && answer.has("X-Style: checked"));
  const std::string made = calls_so_far();
  EXPECT_EQ(made.front(), 'b');
  EXPECT_EQ(made.back(), 'e');
  EXPECT_EQ(std::ranges::count(made, 'f'), 2);
  EXPECT_GE(std::ranges::count(made, 'd'), 2);
}

// Holds the first chunk of a prompt until it is opened.
class Gate {
 public:
  engine::FakeFault wait(engine::FakeOperation operation) {
    std::unique_lock lock(mutex_);
    if (operation == engine::FakeOperation::kPrefill) changed_.wait(lock, [&] { return open_; });
    return fault_;
  }
  void open(engine::FakeFault fault = engine::FakeFault::kNone) {
    const std::lock_guard lock(mutex_);
    open_ = true;
    fault_ = fault;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  engine::FakeFault fault_ = engine::FakeFault::kNone;
};

// So that a test that fails does not wait for ever.
struct OpenAtLast {
  Gate& gate;
  ~OpenAtLast() { gate.open(); }
};

engine::FakeOptions held_by(Gate& gate) {
  return {.slots = 1, .context_tokens = 4096, .faults = [&gate](engine::FakeOperation operation) {
            return gate.wait(operation);
          }};
}

TEST(Answer, KeepsAStreamAliveWhileAPromptIsRead) {
  Gate gate;
  TestServer model({}, {}, held_by(gate));
  model.settings().keep_alive_every = std::chrono::milliseconds(10);
  model.load();
  CheckedServer server(model);
  const OpenAtLast last{gate};
  TestClient client = server.begin(R"(,"stream":true)");
  TestAnswer answer = client.read_head();
  while (answer.body.find("still here") == std::string::npos) {
    ASSERT_TRUE(client.read_chunk(answer)) << answer.body;
  }
  gate.open();
  while (client.read_chunk(answer)) {
  }
  EXPECT_TRUE(answer.complete && answer.body.ends_with("data: [DONE]\n\n"));
}

TEST(Answer, AStyleMayBeginBeforeThereIsASlot) {
  Gate gate;
  TestServer model({}, {}, held_by(gate));
  model.load();
  CheckedServer server(model);
  const OpenAtLast last{gate};
  TestClient first = server.begin(R"(,"stream":true)");
  TestAnswer of_first = first.read_head();
  at_once = true;
  TestClient second = server.begin(R"(,"stream":true)");  // the only slot is taken
  TestAnswer of_second = second.read_head();
  ASSERT_TRUE(second.read_chunk(of_second));
  EXPECT_EQ(of_second.body, ": begun\n\n");
  gate.open();
  while (second.read_chunk(of_second)) {
  }
  EXPECT_TRUE(of_second.complete);
}

TEST(Answer, AFailureInsideAStreamEndsItInTheStylesWords) {
  Gate gate;
  TestServer model({}, {}, held_by(gate));
  model.load();
  CheckedServer server(model);
  const OpenAtLast last{gate};
  TestClient client = server.begin(R"(,"stream":true)");
  TestAnswer answer = client.read_head();  // it has its slot
  gate.open(engine::FakeFault::kFail);
  while (client.read_chunk(answer)) {
  }
  EXPECT_TRUE(answer.complete);
  EXPECT_NE(answer.body.find(R"(data: {"error":)"), std::string::npos) << answer.body;
  EXPECT_EQ(calls_so_far(), "bx");
}

TEST(Answer, AFailureBeforeAStreamHasItsOwnStatus) {
  TestServer model;
  model.load();
  CheckedServer server(model);
  EXPECT_EQ(server.ask(R"(,"stream":true,"temperature":"hot")").status, 400);
  EXPECT_EQ(calls_so_far(), "");
}

}  // namespace
}  // namespace holdfast::api
