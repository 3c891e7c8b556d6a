#include "api/embeddings.h"

#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include "api/embedding_request.h"
#include "api/testing/test_server.h"
#include "engine/testing/fake_embedder.h"

namespace holdfast::api {
namespace {

using engine::FakeEmbedderOptions;
using engine::Pooling;

// A server that embeds with a fake.
class Embeddings {
 public:
  explicit Embeddings(FakeEmbedderOptions fake = {}, EmbeddingDesk::Options desk = {}) {
    server_.settings().embeddings = std::make_shared<EmbeddingDesk>(
        std::make_shared<engine::FakeEmbedder>(std::move(fake)), desk);
    server_.load();
  }
  TestAnswer ask(const std::string& path, const std::string& body) {
    return server_.ask("POST", path, body);
  }
  Json json(const std::string& path, const std::string& body) {
    const TestAnswer answer = ask(path, body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return Json::parse(answer.body);
  }
  // The field that a refusal names.
  std::string param(const std::string& path, const std::string& body) {
    const TestAnswer answer = ask(path, body);
    EXPECT_EQ(answer.status, 400) << answer.body;
    const Json error = Json::parse(answer.body).at("error");
    return error.at("param").is_string() ? error.at("param").get<std::string>() : "";
  }
  // Until so many are computed or wait, by the server's own account.
  void wait_for_requests(int count) {
    const std::string line = "llamacpp:requests_deferred " + std::to_string(count) + "\n";
    while (server_.ask("GET", "/metrics").body.find(line) == std::string::npos)
      std::this_thread::yield();
  }
  TestServer& server() { return server_; }

 private:
  TestServer server_;
};

// 'd' is 100, which is 0 modulo 4; 'e' is 1, and so on.

TEST(Embeddings, OpenAisShapeHasAVectorForEachText) {
  Embeddings on;
  EXPECT_EQ(on.json("/v1/embeddings", R"({"input":["dde","ggg",[7],["d",1]],"model":"mine",
                                          "embd_normalize":-1})"),
            Json::parse(R"({"object":"list","model":"mine",
              "usage":{"prompt_tokens":9,"total_tokens":9},"data":[
              {"object":"embedding","index":0,"embedding":[2,1,0,0]},
              {"object":"embedding","index":1,"embedding":[0,0,0,3]},
              {"object":"embedding","index":2,"embedding":[0,0,0,1]},
              {"object":"embedding","index":3,"embedding":[1,1,0,0]}]})"));
  EXPECT_EQ(on.json("/v1/embeddings", R"({"input":"d"})").at("model"), "fake");
}

TEST(Embeddings, LlamaServersOwnShapeIsAnArrayOfArrays) {
  Embeddings on;
  const Json expected = Json::parse(R"([{"index":0,"embedding":[[1,0,0,0]]},
                                        {"index":1,"embedding":[[0,1,0,0]]}])");
  EXPECT_EQ(on.json("/embeddings", R"({"input":["d","e"]})"), expected);
  EXPECT_EQ(on.json("/embedding", R"({"content":["d","e"]})"), expected);
  EXPECT_EQ(on.json("/v1/embeddings", R"({"content":["d","e"]})"), expected)
      << "the older field asks for the older shape";
}

TEST(Embeddings, VectorsHaveTheLengthThatWasAskedFor) {
  Embeddings on({}, {.norm = 1});
  const auto vector = [&](const std::string& fields) {
    return on.json("/v1/embeddings", R"({"input":"ddde")" + fields + "}")
        .at("data")[0]
        .at("embedding");
  };
  EXPECT_EQ(vector(""), Json::parse("[0.75,0.25,0,0]"));
  EXPECT_EQ(vector(R"(,"embd_normalize":0)"), Json::parse("[32760,10920,0,0]"));
  EXPECT_EQ(vector(R"(,"dimensions":1)"), Json::parse("[1]")) << "normalised after it is cut";
}

TEST(Embeddings, Base64HoldsTheSameFloats) {
  Embeddings on;
  const Json entry =
      on.json("/v1/embeddings", R"({"input":"d","encoding_format":"base64"})").at("data")[0];
  EXPECT_EQ(entry.at("embedding"), "AACAPwAAAAAAAAAAAAAAAA==");  // 1, 0, 0, 0
  EXPECT_EQ(entry.at("encoding_format"), "base64");
}

TEST(Embeddings, WithoutPoolingEachTokenHasItsVector) {
  Embeddings on({.pooling = Pooling::kNone});
  EXPECT_EQ(on.json("/embeddings", R"({"input":"de"})"),
            Json::parse(R"([{"index":0,"embedding":[[1,0,0,0],[0,1,0,0]]}])"));
  EXPECT_EQ(on.ask("/v1/embeddings", R"({"input":"de"})").status, 400);
}

TEST(Embeddings, MistakesAreNamed) {
  Embeddings on;
  const auto param = [&](const std::string& body) { return on.param("/v1/embeddings", body); };
  EXPECT_EQ(param("{}"), "input");
  EXPECT_EQ(param(R"({"input":[]})"), "input");
  EXPECT_EQ(param(R"({"input":""})"), "input");
  EXPECT_EQ(param(R"({"input":5})"), "input");
  EXPECT_EQ(param(R"({"input":["d",""]})"), "input[1]");
  EXPECT_EQ(param(R"({"input":[[258]]})"), "input[0][0]");
  EXPECT_EQ(param(R"({"input":"d","encoding_format":"int8"})"), "encoding_format");
  EXPECT_EQ(param(R"({"input":"d","dimensions":0})"), "dimensions");
  EXPECT_EQ(param(R"({"input":"d","dimensions":5})"), "dimensions");
  EXPECT_EQ(param(R"({"input":"d","embd_normalize":-2})"), "embd_normalize");
}

TEST(Embeddings, TextsThatAreTooLongSayHowLong) {
  Embeddings on;
  EXPECT_EQ(on.ask("/v1/embeddings", R"({"input":")" + std::string(64, 'd') + "\"}").status, 200);
  for (const std::size_t length : {65, 100'000}) {  // the second is not even tokenised
    const auto answer =
        on.ask("/v1/embeddings", R"({"input":["d",")" + std::string(length, 'd') + "\"]}");
    EXPECT_EQ(answer.status, 400);
    EXPECT_NE(answer.body.find("too large: this server takes up to 64"), std::string::npos);
    EXPECT_EQ(Json::parse(answer.body).at("error").at("param"), "input[1]");
  }
}

TEST(Embeddings, VectorsOfAllTokensAreBounded) {
  Embeddings on({.pooling = Pooling::kNone, .dimensions = std::size_t{1} << 23U});
  EXPECT_EQ(on.param("/embeddings", R"({"input":"ddd"})"), "input");
}

TEST(Embeddings, AFailureOfTheEngineIsOne) {
  Embeddings on({.before_step = [](std::span<const Tokens>) -> Result<void> {
    return Error{ErrorCode::kEngine, "no more", ""};
  }});
  EXPECT_EQ(on.ask("/v1/embeddings", R"({"input":"d"})").status, 500);
}

TEST(Embeddings, WhatIsNotANumberIsNotSent) {
  Embeddings on;
  const auto answer = on.ask("/v1/embeddings", R"({"input":["d",[0]]})");
  EXPECT_EQ(answer.status, 500);
  EXPECT_NE(answer.body.find("not numbers"), std::string::npos) << answer.body;
}

TEST(Embeddings, AreCountedWithThePrompts) {
  Embeddings on;
  on.json("/v1/embeddings", R"({"input":["dd","e","f"]})");
  const std::string metrics = on.server().ask("GET", "/metrics").body;
  EXPECT_NE(metrics.find("llamacpp:prompt_tokens_total 4\n"), std::string::npos) << metrics;
}

TEST(Embeddings, OtherServersSaySo) {
  TestServer text;
  text.load();
  const auto refused = text.ask("POST", "/v1/embeddings", R"({"input":"d"})");
  EXPECT_EQ(refused.status, 501);
  EXPECT_NE(refused.body.find("--embedding"), std::string::npos);
  EXPECT_EQ(text.ask("POST", "/rerank", R"({"query":"d","documents":["d"]})").status, 501);

  Embeddings on;
  EXPECT_EQ(on.server().chat("").status, 501) << "and this one generates none";
  EXPECT_EQ(on.ask("/rerank", R"({"query":"d","documents":["d"]})").status, 501);
}

// --- ranking ---------------------------------------------------------------------------

const std::string kQuestion = R"({"query":"abc","documents":["xx","ab","abca","cx"])";

TEST(Reranking, TheBestComesFirst) {
  Embeddings on({.pooling = Pooling::kRank});
  for (const std::string path : {"/v1/rerank", "/rerank", "/reranking", "/v1/reranking"}) {
    EXPECT_EQ(on.json(path, kQuestion + R"(,"model":"mine"})"),
              Json::parse(R"({"object":"list","model":"mine",
                "usage":{"prompt_tokens":26,"total_tokens":26},"results":[
                {"index":2,"relevance_score":4},{"index":1,"relevance_score":2},
                {"index":3,"relevance_score":1},{"index":0,"relevance_score":0}]})"));
  }
}

TEST(Reranking, OnlyTheBestAreListedIfSoAsked) {
  Embeddings on({.pooling = Pooling::kRank});
  const auto listed = [&](const std::string& top) {
    return on.json("/rerank", kQuestion + R"(,"top_n":)" + top + "}").at("results").size();
  };
  EXPECT_EQ(listed("0"), 0U);
  EXPECT_EQ(listed("2"), 2U);
  EXPECT_EQ(listed("99"), 4U);
}

TEST(Reranking, TeisShapeIsAnArrayOfScores) {
  Embeddings on({.pooling = Pooling::kRank});
  EXPECT_EQ(on.json("/rerank", R"({"query":"a","texts":["b","a"]})"),
            Json::parse(R"([{"index":1,"score":1},{"index":0,"score":0}])"));
  EXPECT_EQ(on.json("/rerank", R"({"query":"a","texts":["b","a"],"return_text":true,"top_n":1})"),
            Json::parse(R"([{"index":1,"score":1,"text":"a"}])"));
}

TEST(Reranking, MistakesAreNamed) {
  Embeddings on({.pooling = Pooling::kRank});
  const auto param = [&](const std::string& body) { return on.param("/rerank", body); };
  EXPECT_EQ(param(R"({"documents":["a"]})"), "query");
  EXPECT_EQ(param(R"({"query":5,"documents":["a"]})"), "query");
  EXPECT_EQ(param(R"({"query":"a"})"), "documents");
  EXPECT_EQ(param(R"({"query":"a","documents":null})"), "documents");
  EXPECT_EQ(param(R"({"query":"a","documents":[]})"), "documents");
  EXPECT_EQ(param(R"({"query":"a","documents":["a",5]})"), "documents[1]");
  EXPECT_EQ(param(R"({"query":"a","texts":[]})"), "texts");
  EXPECT_EQ(param(R"({"query":"a","documents":["a"],"top_n":-1})"), "top_n");
  const std::string book(100'000, 'a');
  EXPECT_EQ(param(R"({"query":")" + book + R"(","documents":["a"]})"), "query");
  EXPECT_EQ(param(R"({"query":"a","documents":["a",")" + book + "\"]}"), "documents[1]");
}

// --- many at once ----------------------------------------------------------------------

// The embedder's steps, each let through one at a time.
class Gate {
 public:
  std::function<Result<void>(std::span<const Tokens>)> hook() {
    return [this](std::span<const Tokens> texts) -> Result<void> {
      std::unique_lock lock(mutex_);
      steps_.emplace_back(texts.begin(), texts.end());
      changed_.notify_all();
      changed_.wait(lock, [this] { return open_ >= steps_.size(); });
      return {};
    };
  }
  void wait_for_steps(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return steps_.size() >= count; });
  }
  void open(std::size_t steps) {
    const std::lock_guard lock(mutex_);
    open_ = steps;
    changed_.notify_all();
  }
  std::vector<std::vector<Tokens>> steps() {
    const std::lock_guard lock(mutex_);
    return steps_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::vector<Tokens>> steps_;  // begun
  std::size_t open_ = 0;
};

constexpr std::size_t kAll = 1000;

// DESK-1
TEST(EmbeddingDesk, MoreRequestsThanMayWaitAreRefused) {
  Gate gate;
  Embeddings on({.before_step = gate.hook()}, {.waiting_max = 1});
  auto first = std::async(std::launch::async,
                          [&] { return on.ask("/v1/embeddings", R"({"input":"d"})").status; });
  gate.wait_for_steps(1);
  const auto refused = on.ask("/v1/embeddings", R"({"input":"d"})");
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.body.find("The queue is full (1 requests wait)"), std::string::npos);
  gate.open(kAll);
  EXPECT_EQ(first.get(), 200);
  EXPECT_EQ(on.ask("/v1/embeddings", R"({"input":"d"})").status, 200) << "its place is free again";
}

// DESK-2
TEST(EmbeddingDesk, AShortRequestWaitsForOneStepOfALongOne) {
  Gate gate;
  Embeddings on({.texts_in_step = 1, .before_step = gate.hook()});
  auto lengthy = std::async(std::launch::async, [&] {
    return on.ask("/v1/embeddings", R"({"input":["d","d","d","d"]})").status;
  });
  gate.wait_for_steps(1);
  auto brief = std::async(std::launch::async,
                          [&] { return on.ask("/v1/embeddings", R"({"input":"e"})").status; });
  on.wait_for_requests(2);
  gate.open(kAll);
  EXPECT_EQ(lengthy.get(), 200);
  EXPECT_EQ(brief.get(), 200);
  const auto steps = gate.steps();
  ASSERT_EQ(steps.size(), 5U);
  EXPECT_EQ(steps[1], std::vector<Tokens>{{'e'}});
}

TEST(EmbeddingDesk, NothingIsComputedForAClientThatHasGone) {
  Gate gate;
  Embeddings on({.texts_in_step = 1, .before_step = gate.hook()});
  {
    TestClient client(on.server().api().port());
    client.send(TestServer::request_text("POST", "/v1/embeddings", R"({"input":["d","d","d"]})"));
    gate.wait_for_steps(1);
  }
  // Its leaving is noticed before this later request is read.
  auto later = std::async(std::launch::async,
                          [&] { return on.ask("/v1/embeddings", R"({"input":"e"})").status; });
  on.wait_for_requests(2);
  gate.open(kAll);
  EXPECT_EQ(later.get(), 200);
  EXPECT_EQ(gate.steps().size(), 2U);
}

}  // namespace
}  // namespace holdfast::api
