// The API over the fake engine: routes, keys, CORS, streams and their ends.
#include "api/api_server.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>

#include "api/json_fields.h"
#include "api/testing/test_server.h"
#include "tier/quota_files.h"

namespace holdfast::api {
namespace {

std::string streamed_content(const TestAnswer& answer) {
  std::string text;
  for (const std::string& event : events_of(answer)) {
    if (event == "[DONE]") continue;
    const auto chunk = parse_json(event);
    EXPECT_TRUE(chunk.ok()) << event;
    for (const Json& choice : chunk->at("choices")) {
      const Json& delta = choice.at("delta");
      if (delta.contains("content") && delta["content"].is_string()) text += delta["content"];
    }
  }
  return text;
}

TEST(Api, SaysHowFarTheModelHasLoaded) {
  TestServer server;
  server.api().backend().set_progress(0.5F);
  const auto health = server.ask("GET", "/health");
  EXPECT_EQ(health.status, 503);
  EXPECT_NE(health.body.find("50%"), std::string::npos);
  EXPECT_EQ(server.chat("").status, 503);
  server.load();
  EXPECT_EQ(server.ask("GET", "/health").status, 200);
}

TEST(Api, WholeAndStreamedAnswersAgree) {
  TestServer server;
  server.load();
  const auto whole = server.chat(R"(,"max_tokens":30,"cache_prompt":false)");
  ASSERT_EQ(whole.status, 200) << whole.body;
  const auto stream = server.chat(
      R"(,"max_tokens":30,"cache_prompt":false,"stream":true,"stream_options":{"include_usage":true})");
  ASSERT_EQ(stream.status, 200);
  EXPECT_TRUE(stream.complete);
  const Json message = json_of(whole)["choices"][0]["message"];
  EXPECT_FALSE(message["content"].get<std::string>().empty());
  EXPECT_EQ(streamed_content(stream), message["content"].get<std::string>());
  const auto events = events_of(stream);
  EXPECT_EQ(events.back(), "[DONE]");
  const Json last = *parse_json(events[events.size() - 2]);
  EXPECT_EQ(last["usage"], json_of(whole)["usage"]);
}

TEST(Api, CachedTokensAreReported) {
  TestServer server;
  server.load();
  const std::string body = R"({"prompt":"<s>one two three</s>","max_tokens":0})";
  const auto first = json_of(server.ask("POST", "/v1/completions", body));
  EXPECT_EQ(first["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
  const std::string longer = R"({"prompt":"<s>one two three</s><s>four</s>","max_tokens":0})";
  const auto second = json_of(server.ask("POST", "/v1/completions", longer));
  EXPECT_EQ(second["usage"]["prompt_tokens_details"]["cached_tokens"],
            first["usage"]["prompt_tokens"]);
  EXPECT_EQ(second["timings"]["cache_n"], first["usage"]["prompt_tokens"]);
}

TEST(Api, SeveralChoicesComeBackInOrder) {
  TestServer server;
  server.load();
  const Json answer = json_of(server.chat(R"(,"n":3,"max_tokens":5)"));
  ASSERT_EQ(answer["choices"].size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(answer["choices"][i]["index"], i);
  EXPECT_EQ(answer["usage"]["completion_tokens"], 15);
}

TEST(Api, KeysAreAskedForEverywhereButHealth) {
  ApiOptions options;
  options.api_keys = {"first", "second"};
  TestServer server(std::move(options));
  server.load();
  EXPECT_EQ(server.ask("GET", "/health").status, 200);
  EXPECT_EQ(server.ask("GET", "/v1/models").status, 401);
  EXPECT_EQ(server.ask("GET", "/v1/models", "", "Authorization: Bearer wrong\r\n").status, 401);
  EXPECT_EQ(server.ask("GET", "/v1/models", "", "Authorization: Bearer second\r\n").status, 200);
  EXPECT_EQ(server.ask("GET", "/v1/models", "", "x-api-key: first\r\n").status, 200);
  EXPECT_EQ(server.ask("GET", "/no/such", "").status, 401) << "strangers learn no routes";
}

TEST(Api, CorsFollowsTheRules) {
  ApiOptions options;
  options.cors_origins = {"https://a.example"};
  TestServer server(std::move(options));
  server.load();
  const auto allowed = server.ask("GET", "/v1/models", "", "Origin: https://a.example\r\n");
  EXPECT_TRUE(allowed.has("Access-Control-Allow-Origin: https://a.example"));
  const auto other = server.ask("GET", "/v1/models", "", "Origin: https://b.example\r\n");
  EXPECT_EQ(other.status, 403);
  EXPECT_EQ(other.head.find("Access-Control-Allow-Origin"), std::string::npos);
  const auto preflight = server.ask("OPTIONS", "/v1/chat/completions", "",
                                    "Origin: https://a.example\r\n"
                                    "Access-Control-Request-Headers: x-special\r\n");
  EXPECT_EQ(preflight.status, 200);
  EXPECT_TRUE(preflight.has("Access-Control-Allow-Headers: x-special"));
}

TEST(Api, ErrorsAreInOpenAiShape) {
  TestServer server;
  server.load();
  const auto missing = server.ask("GET", "/v2/nothing");
  EXPECT_EQ(missing.status, 404);
  EXPECT_TRUE(json_of(missing)["error"].contains("message"));
  const auto method = server.ask("GET", "/v1/chat/completions");
  EXPECT_EQ(method.status, 405);
  EXPECT_TRUE(method.has("Allow: POST"));
  const auto field = server.chat(R"(,"temperature":"hot")");
  EXPECT_EQ(field.status, 400);
  EXPECT_EQ(json_of(field)["error"]["param"], "temperature");
  const auto slot = server.chat(R"(,"id_slot":7)");
  EXPECT_EQ(slot.status, 400);
  EXPECT_EQ(json_of(slot)["error"]["param"], "id_slot");
}

TEST(Api, APromptBeyondTheContextNamesBothNumbers) {
  TestServer server;
  server.load();
  const std::string body = R"({"prompt":")" + std::string(5000, 'x') + R"("})";
  const auto refused = server.ask("POST", "/v1/completions", body);
  EXPECT_EQ(refused.status, 400);
  const Json error = json_of(refused)["error"];
  EXPECT_EQ(error["n_prompt_tokens"], 5000);
  EXPECT_EQ(error["n_ctx"], 4096);
}

TEST(Api, AClientThatGoesFreesItsSlot) {
  TestServer server({}, {}, {.slots = 1, .context_tokens = 1 << 24});
  server.load();
  {
    TestClient client(server.api().port());
    client.send(TestServer::request_text("POST", "/v1/completions",
                                         R"({"prompt":"x","stream":true,"ignore_eos":true})"));
    TestAnswer answer = client.read_head();
    ASSERT_EQ(answer.status, 200);
    ASSERT_TRUE(client.read_chunk(answer));
  }
  // The next request gets the only slot; it would wait for ever otherwise.
  EXPECT_EQ(server.chat(R"(,"max_tokens":3)").status, 200);
}

TEST(Api, AFullQueueAnswers503WithRetryAfter) {
  TestServer server({}, {.queue_max = 1}, {.slots = 1, .context_tokens = 1 << 24});
  server.load();
  const std::string endless = TestServer::request_text(
      "POST", "/v1/completions", R"({"prompt":"x","stream":true,"ignore_eos":true})");
  TestClient running(server.api().port());
  running.send(endless);
  ASSERT_EQ(running.read_head().status, 200);
  TestClient waiting(server.api().port());
  waiting.send(endless);
  while (server.scheduler().status().queued == 0) std::this_thread::yield();
  const auto refused = server.chat("");
  EXPECT_EQ(refused.status, 503);
  EXPECT_TRUE(refused.has("Retry-After: 5"));
}

// --- the cache's pages ----------------------------------------------------------

TEST(ApiCache, AnAnswerCarriesItsReceiptWhereAskedFor) {
  TestServer server;
  server.load();
  EXPECT_FALSE(json_of(server.chat(R"(,"max_tokens":3)")).contains("cache_receipt"));
  const Json whole = json_of(server.chat(R"(,"max_tokens":3,"cache_receipt":true)"));
  const Json& receipt = whole["cache_receipt"];
  ASSERT_TRUE(receipt.is_object()) << whole.dump();
  EXPECT_EQ(receipt["response"], whole["id"]);
  EXPECT_EQ(receipt["prompt_tokens"], whole["usage"]["prompt_tokens"]);
  EXPECT_EQ(receipt["restored_tokens"], whole["usage"]["prompt_tokens_details"]["cached_tokens"]);
  EXPECT_EQ(receipt["complete"], true);
}

TEST(ApiCache, SeveralChoicesHaveAListOfReceipts) {
  TestServer server;
  server.load();
  const Json answer = json_of(server.chat(R"(,"n":3,"max_tokens":3,"cache_receipt":true)"));
  ASSERT_EQ(answer["cache_receipt"].size(), 3U);
  for (const Json& receipt : answer["cache_receipt"]) EXPECT_EQ(receipt["response"], answer["id"]);
}

// The last chunk, whichever that is, and no other.
TEST(ApiCache, AStreamEndsWithItsReceipts) {
  TestServer server;
  server.load();
  for (const std::string extra : {"", R"(,"stream_options":{"include_usage":true})", R"(,"n":2)"}) {
    const auto events =
        events_of(server.chat(R"(,"max_tokens":4,"stream":true,"cache_receipt":true)" + extra));
    ASSERT_GE(events.size(), 3U);
    EXPECT_EQ(events.back(), "[DONE]");
    for (std::size_t i = 0; i + 1 < events.size(); ++i) {
      EXPECT_EQ(parse_json(events[i])->contains("cache_receipt"), i + 2 == events.size()) << extra;
    }
    const Json last = *parse_json(events[events.size() - 2]);
    EXPECT_EQ(last["cache_receipt"].is_array(), extra == R"(,"n":2)");
  }
}

TEST(ApiCache, ReceiptsAreListedAndFound) {
  TestServer server;
  server.load();
  EXPECT_EQ(json_of(server.ask("GET", "/cache/receipts"))["data"], Json::array());
  const Json first = json_of(server.chat(R"(,"max_tokens":1)"));
  const Json second = json_of(server.chat(R"(,"max_tokens":1)"));
  const Json list = json_of(server.ask("GET", "/v1/cache/receipts?limit=10"));
  EXPECT_EQ(list["object"], "list");
  ASSERT_EQ(list["data"].size(), 2U);
  EXPECT_EQ(list["data"][0]["response"], second["id"]);
  EXPECT_EQ(json_of(server.ask("GET", "/cache/receipts?limit=1"))["data"].size(), 1U);
  const std::string id = first["id"];
  EXPECT_EQ(json_of(server.ask("GET", "/cache/receipts/" + id))["response"], first["id"]);
  const std::string generation = list["data"][1]["id"];
  EXPECT_EQ(json_of(server.ask("GET", "/v1/cache/receipts/" + generation))["response"], id);
  const auto missing = server.ask("GET", "/cache/receipts/chatcmpl-none");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(json_of(missing)["error"]["param"], "id");
  for (const char* limit : {"0", "x", "1001", "-1", "5x"}) {
    const auto refused = server.ask("GET", std::string("/cache/receipts?limit=") + limit);
    EXPECT_EQ(refused.status, 400) << limit;
    EXPECT_EQ(json_of(refused)["error"]["param"], "limit");
  }
}

TEST(ApiCache, ReceiptsOfASessionAreThoseOfItsTenant) {
  ApiOptions options;
  options.api_keys = {"first", "second"};
  TestServer server(std::move(options));
  server.load();
  const auto ask = [&](const std::string& key, const std::string& body, const std::string& header) {
    const std::string headers = "x-api-key: " + key + "\r\n" + header;
    const std::string begin = R"({"prompt":"<s>one two three</s>","max_tokens":1)";
    return json_of(server.ask("POST", "/v1/completions", begin + body + "}", headers))["id"];
  };
  const auto list = [&](const std::string& key, const std::string& query) {
    const std::string path = "/cache/receipts" + query;
    return json_of(server.ask("GET", path, "", "x-api-key: " + key + "\r\n"))["data"];
  };
  const Json headed = ask("first", R"(,"user":"u")", "session-id: s 1\r\n");
  const Json named = ask("first", R"(,"prompt_cache_key":"s-2")", "");
  ask("second", R"(,"prompt_cache_key":"s-2")", "");
  ask("first", "", "");
  const Json first = list("first", "?session=s%201");
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0]["response"], headed);
  EXPECT_EQ(list("first", "?session=" + first[0]["session"].get<std::string>()), first);
  ASSERT_EQ(list("first", "?session=s-2").size(), 1U);
  EXPECT_EQ(list("first", "?session=s-2")[0]["response"], named);
  EXPECT_EQ(list("first", "?session=none"), Json::array());
  EXPECT_EQ(list("first", "").size(), 3U);
  EXPECT_EQ(list("first", "")[0]["session"], nullptr);
}

TEST(ApiCache, SessionsAreCounted) {
  TestServer server;
  server.load();
  const auto metric = [&](const std::string& name) {
    const std::string text = server.ask("GET", "/metrics").body;
    const auto at = text.find("\n" + name + " ");
    return at == std::string::npos ? -1.0 : std::stod(text.substr(at + name.size() + 2));
  };
  server.chat(R"(,"max_tokens":1)");
  EXPECT_EQ(metric("holdfast_sessions_active"), 0);
  server.chat(R"(,"max_tokens":1,"n":2,"user":"a")");
  EXPECT_EQ(metric("holdfast_session_requests_total{turn=\"first\"}"), 2) << "one for each choice";
  server.chat(R"(,"max_tokens":1,"user":"a")");
  server.chat(R"(,"max_tokens":1,"user":"b")");
  EXPECT_EQ(metric("holdfast_session_requests_total{turn=\"first\"}"), 3);
  EXPECT_EQ(metric("holdfast_session_requests_total{turn=\"again\"}"), 1);
  const double reused = metric("holdfast_session_prompt_tokens_total{how=\"reused\"}");
  const double read = metric("holdfast_session_prompt_tokens_total{how=\"read\"}");
  const Json again = json_of(server.ask("GET", "/cache/receipts?session=a&limit=1"))["data"][0];
  EXPECT_EQ(reused, again["restored_tokens"]);
  EXPECT_EQ(read, again["recomputed_tokens"]);
  EXPECT_EQ(metric("holdfast_sessions_active"), 2);
}

// plan/one_offs.h: a header names the session of one agent; another key's is another session.
TEST(ApiCache, OneOffsAreBesideALongConversationOfTheirSession) {
  ApiOptions options;
  options.api_keys = {"first", "second"};
  TestServer server(std::move(options));
  server.load();
  const auto one_off = [&](const std::string& key, char letter, int length,
                           const std::string& header, const std::string& more) {
    const std::string prompt(static_cast<std::size_t>(length), letter);
    const std::string body =
        R"({"max_tokens":1,"cache_receipt":true,"prompt":")" + prompt + '"' + more + "}";
    const std::string headers = "x-api-key: " + key + "\r\n" + header;
    return json_of(
        server.ask("POST", "/v1/completions", body, headers))["cache_receipt"]["one_off"];
  };
  const std::string header = "thread-id: s\r\n";
  const std::string field = R"(,"prompt_cache_key":"t")";
  EXPECT_EQ(one_off("first", 'a', 400, header, ""), false);
  EXPECT_EQ(one_off("first", 'b', 40, header, ""), true);
  EXPECT_EQ(one_off("second", 'c', 40, header, ""), false);
  EXPECT_EQ(one_off("first", 'd', 400, "", field), false);
  EXPECT_EQ(one_off("first", 'e', 40, "", field), false) << "a body may name a user";
}

// H2 and H9: another key, or another salt, neither finds the states nor the receipt.
TEST(ApiCache, KeysAndSaltsAreTenantsOfTheirOwn) {
  ApiOptions options;
  options.api_keys = {"first", "second"};
  TestServer server(std::move(options));
  server.load();
  const auto ask = [&](const std::string& key, const std::string& salt) {
    std::string body = R"({"prompt":"<s>one two three</s>","max_tokens":1)";
    if (!salt.empty()) body += R"(,"cache_salt":")" + salt + '"';
    return json_of(server.ask("POST", "/v1/completions", body + "}", "x-api-key: " + key + "\r\n"));
  };
  const auto list = [&](const std::string& key, const std::string& query) {
    return json_of(server.ask("GET", "/cache/receipts" + query, "", "x-api-key: " + key + "\r\n"));
  };
  const std::string mine = ask("first", "")["id"];
  const std::string salted = ask("first", "a&b")["id"];
  EXPECT_EQ(list("first", "")["data"].size(), 1U);
  EXPECT_EQ(list("first", "?cache_salt=a%26b")["data"][0]["response"], salted);
  EXPECT_EQ(list("second", "")["data"], Json::array());
  EXPECT_EQ(list("second", "?cache_salt=a%26b")["data"], Json::array());
  const auto other = server.ask("GET", "/cache/receipts/" + mine, "", "x-api-key: second\r\n");
  EXPECT_EQ(other.status, 404);
  EXPECT_EQ(list("first", "")["data"][0]["matched_tokens"], 0);
  for (const auto& [key, salt] : {std::pair{"second", ""}, std::pair{"first", "b"}}) {
    EXPECT_EQ(ask(key, salt)["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
  }
  EXPECT_EQ(server.ask("GET", "/cache/receipts").status, 401);
  EXPECT_EQ(server.ask("GET", "/metrics").status, 401);
}

TEST(ApiCache, FieldsAreChecked) {
  TestServer server;
  server.load();
  const std::pair<const char*, std::string> wrong[] = {
      {"cache_receipt", "1"},
      {"cache_salt", "5"},
      {"cache_salt", R"("")"},
      {"cache_salt", '"' + std::string(257, 's') + '"'}};
  for (const auto& [name, value] : wrong) {
    const auto refused = server.chat(",\"" + std::string(name) + "\":" + value);
    EXPECT_EQ(refused.status, 400) << value;
    EXPECT_EQ(json_of(refused)["error"]["param"], name);
  }
  EXPECT_EQ(server.chat(R"(,"max_tokens":1,"cache_salt":")" + std::string(256, 's') + '"').status,
            200);
}

TEST(ApiCache, StatusMetricsAndClearing) {
  TestServer server;
  server.load();
  ASSERT_EQ(server.chat(R"(,"max_tokens":1)").status, 200);
  const Json status = json_of(server.ask("GET", "/cache"));
  EXPECT_EQ(status["object"], "cache");
  EXPECT_TRUE(status["totals"].contains("restored_tokens"));
  ASSERT_TRUE(status["conversations"].is_object());
  EXPECT_EQ(status["conversations"]["own_bytes"].get<ByteCount>() +
                status["conversations"]["shared_bytes"].get<ByteCount>(),
            status["memory"]["resident_bytes"].get<ByteCount>());
  const auto metrics = server.ask("GET", "/v1/metrics");
  EXPECT_EQ(metrics.status, 200);
  EXPECT_TRUE(metrics.has("Content-Type: text/plain; version=0.0.4"));
  EXPECT_NE(metrics.body.find("\nllamacpp:tokens_predicted_total "), std::string::npos);
  const auto cleared = server.ask("DELETE", "/cache");
  EXPECT_EQ(cleared.status, 200);
  EXPECT_EQ(json_of(cleared)["object"], "cache.cleared");
  EXPECT_TRUE(json_of(cleared)["freed_bytes"].is_number());
  const auto wrong = server.ask("POST", "/cache");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_TRUE(wrong.has("Allow: GET, DELETE"));
}

// Closed, it holds up the engine's thread at its next chunk.
class Gate {
 public:
  engine::FakeFault pass() {
    std::unique_lock lock(mutex_);
    reached_ = true;
    news_.notify_all();
    news_.wait(lock, [&] { return open_; });
    return engine::FakeFault::kNone;
  }
  void wait_until_reached() {
    std::unique_lock lock(mutex_);
    news_.wait(lock, [&] { return reached_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    news_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable news_;
  bool open_ = false;
  bool reached_ = false;
};

// The engine is in the middle of a chunk, so the cache is not cleared yet. Whoever needs the
// worker is answered all the same, and long before DELETE /cache gives up.
TEST(ApiCache, ClearingHoldsUpNobodyElse) {
  Gate gate;
  engine::FakeOptions slow{.slots = 2, .context_tokens = 4096};
  slow.faults = [&](engine::FakeOperation operation) {
    return operation == engine::FakeOperation::kPrefill ? gate.pass() : engine::FakeFault::kNone;
  };
  TestServer server({}, {}, slow);
  server.load();
  TestClient chat(server.api().port());
  chat.send(
      TestServer::request_text("POST", "/v1/completions", R"({"prompt":"a","max_tokens":1})"));
  gate.wait_until_reached();
  TestClient clearing(server.api().port());
  clearing.send(TestServer::request_text("DELETE", "/cache", ""));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(server.ask("GET", "/health").status, 200);
  EXPECT_EQ(server.ask("GET", "/metrics").status, 200);
  EXPECT_EQ(server.ask("POST", "/tokenize", R"({"content":"abc"})").status, 200);
  gate.open();
  const auto cleared = clearing.read_answer();
  EXPECT_EQ(cleared.status, 200) << "it had given up: " << cleared.body;
  EXPECT_EQ(chat.read_answer().status, 200);
}

// --- POST /slots/{id} ------------------------------------------------------------------

class ApiSlots : public ::testing::Test {
 protected:
  static ApiOptions two_keys() {
    ApiOptions options;
    options.api_keys = {"first", "second"};
    return options;
  }
  std::unique_ptr<TestServer> start() {
    auto server = std::make_unique<TestServer>(two_keys());
    server->slot_files = files_;
    server->load();
    return server;
  }
  // An answer of `tokens` tokens, on slot 0.
  static Json complete(TestServer& server, const std::string& prompt,
                       const std::string& key = "first") {
    const Json body = {
        {"prompt", prompt}, {"max_tokens", 8}, {"id_slot", 0}, {"cache_receipt", true}};
    return json_of(
        server.ask("POST", "/v1/completions", body.dump(), "x-api-key: " + key + "\r\n"));
  }
  static TestAnswer act(TestServer& server, const std::string& target, const std::string& body,
                        const std::string& key = "first") {
    return server.ask("POST", "/slots/" + target, body, "x-api-key: " + key + "\r\n");
  }

  const std::string prompt_ = "<s>one two three four five</s>";
  const std::string named_ = R"({"filename":"x.bin"})";
  std::shared_ptr<tier::SimulatedFiles> files_ = std::make_shared<tier::SimulatedFiles>();
};

TEST_F(ApiSlots, AFullFolderIsToldAndTheSlotIsKept) {
  auto server = std::make_unique<TestServer>(two_keys());
  server->slot_files = tier::with_quota(files_, 100);
  server->load();
  complete(*server, prompt_);
  const auto answer = act(*server, "0?action=save", named_);
  EXPECT_EQ(answer.status, 413);
  EXPECT_NE(answer.body.find("The folder of saved slots is full. Remove files there, or start the "
                             "server with a larger --slot-save-max."),
            std::string::npos)
      << answer.body;
  EXPECT_EQ(files_->list("").value.size(), 1U) << "the lock's file, and nothing half written";
  EXPECT_GT(json_of(act(*server, "0?action=erase", ""))["n_erased"], 20);
}

TEST_F(ApiSlots, ASavedSlotGoesOnOnTheNextServer) {
  std::string text;
  Json saved;
  {
    const auto server = start();
    text = prompt_ + complete(*server, prompt_)["choices"][0]["text"].get<std::string>();
    const auto answer = act(*server, "0?action=save", named_);
    ASSERT_EQ(answer.status, 200) << answer.body;
    saved = json_of(answer);
  }
  EXPECT_EQ(saved["id_slot"], 0);
  EXPECT_EQ(saved["filename"], "x.bin");
  EXPECT_GT(saved["n_saved"], 20);
  EXPECT_EQ(saved["n_written"], files_->bytes("x.bin").size());
  EXPECT_TRUE(saved["timings"]["save_ms"].is_number());
  const auto server = start();
  const auto answer = act(*server, "1?action=restore", named_);
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json restored = json_of(answer);
  EXPECT_EQ(restored["id_slot"], 1);
  EXPECT_EQ(restored["n_restored"], saved["n_saved"]);
  EXPECT_EQ(restored["n_read"], saved["n_written"]);
  EXPECT_TRUE(restored["timings"]["restore_ms"].is_number());
  const Json body = {{"prompt", text + "</s>"}, {"max_tokens", 1}, {"cache_receipt", true}};
  const Json next =
      json_of(server->ask("POST", "/v1/completions", body.dump(), "x-api-key: first\r\n"));
  EXPECT_EQ(next["usage"]["prompt_tokens_details"]["cached_tokens"], saved["n_saved"]);
  EXPECT_EQ(next["cache_receipt"]["restored_from"], "live slot");
  const Json erased = json_of(act(*server, "1?action=erase", ""));
  EXPECT_EQ(erased["id_slot"], 1);
  EXPECT_GT(erased["n_erased"], saved["n_saved"]);
}

TEST_F(ApiSlots, AnotherKeyNeitherSavesNorErasesNorReadsNorReplaces) {
  const auto server = start();
  complete(*server, prompt_);
  ASSERT_EQ(act(*server, "0?action=save", named_).status, 200);
  const auto bytes = files_->bytes("x.bin");
  for (const char* const action : {"0?action=save", "0?action=erase", "1?action=restore"}) {
    EXPECT_EQ(act(*server, action, named_, "second").status, 404) << action;
  }
  EXPECT_EQ(act(*server, "0?action=save", R"({"filename":"x.bin","cache_salt":"s"})").status, 404);
  EXPECT_EQ(act(*server, "0?action=save&cache_salt=s", named_).status, 404);
  EXPECT_EQ(server->ask("POST", "/slots/0?action=save", named_).status, 401);
  complete(*server, prompt_, "second");
  EXPECT_EQ(act(*server, "0?action=save", named_, "second").status, 400) << "the name is taken";
  EXPECT_EQ(files_->bytes("x.bin"), bytes);
  EXPECT_EQ(act(*server, "0?action=restore", named_).status, 200);
}

TEST_F(ApiSlots, MistakesAreNamed) {
  const auto server = start();
  complete(*server, prompt_);
  const auto expect = [&](const std::string& target, const std::string& body, int status,
                          const Json& param) {
    const auto answer = act(*server, target, body);
    EXPECT_EQ(answer.status, status) << target << " " << body << ": " << answer.body;
    EXPECT_EQ(json_of(answer)["error"]["param"], param) << answer.body;
  };
  for (const char* const id : {"2", "-1", "x", "", "0x", "99999999999", "0/1", "+0", "1.0"}) {
    expect(std::string(id) + "?action=erase", "", 400, "id_slot");
  }
  for (const char* const query : {"", "?action=", "?action=drop", "?action=SAVE"}) {
    expect("0" + std::string(query), named_, 400, "action");
  }
  for (const char* const name :
       {R"("")", R"("a/b")", R"("../x")", R"(".x")", R"("a\u0000b")", R"("a\nb")", "5", "null"}) {
    expect("0?action=save", R"({"filename":)" + std::string(name) + "}", 400, "filename");
    expect("0?action=restore", R"({"filename":)" + std::string(name) + "}", 400, "filename");
  }
  expect("0?action=save", "", 400, "filename");
  expect("0?action=save", "{}", 400, "filename");
  expect("0?action=save", "[1]", 400, nullptr);
  expect("0?action=save", "{", 400, nullptr);
  expect("0?action=save", R"({"filename":"x","cache_salt":5})", 400, "cache_salt");
  expect("1?action=save", named_, 404, "id_slot");
  expect("0?action=restore", R"({"filename":"none.bin"})", 404, "filename");
  const auto wrong = server->ask("GET", "/slots/0", "", "x-api-key: first\r\n");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_TRUE(wrong.has("Allow: POST"));
  for (const std::string& path : files_->file_paths()) EXPECT_EQ(path.front(), '.') << path;
}

TEST_F(ApiSlots, WithoutAFolderOnlyEraseWorks) {
  files_ = nullptr;
  const auto server = start();
  complete(*server, prompt_);
  for (const char* const action : {"save", "restore"}) {
    const auto answer = act(*server, std::string("0?action=") + action, named_);
    EXPECT_EQ(answer.status, 501);
    EXPECT_NE(answer.body.find("--slot-save-path"), std::string::npos);
  }
  EXPECT_EQ(act(*server, "0?action=erase", "").status, 200);
}

TEST_F(ApiSlots, AFileThatIsNotWholeChangesNothing) {
  const auto server = start();
  const std::string text =
      prompt_ + complete(*server, prompt_)["choices"][0]["text"].get<std::string>();
  const Json saved = json_of(act(*server, "0?action=save", named_));
  const auto whole = files_->bytes("x.bin");
  for (const std::size_t length : {std::size_t{0}, std::size_t{20}, whole.size() - 1}) {
    files_->overwrite("x.bin",
                      {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)});
    const auto refused = act(*server, "0?action=restore", named_);
    EXPECT_EQ(refused.status, 400);
    EXPECT_NE(refused.body.find("Slot 0 is as it was."), std::string::npos) << refused.body;
  }
  const Json next = complete(*server, text + "</s>");
  EXPECT_EQ(next["usage"]["prompt_tokens_details"]["cached_tokens"], saved["n_saved"]);
}

TEST(Api, APathBeyondThePrefixIsNotThere) {
  ApiOptions options;
  options.http.path_prefix = "/llm";
  TestServer server(std::move(options));
  server.load();
  EXPECT_EQ(server.ask("GET", "/llm/v1/models").status, 200);
  EXPECT_EQ(server.ask("GET", "/llm/health").status, 200);
  for (const char* path : {"/v1/models", "/health", "/", "/llmv1/models"})
    EXPECT_EQ(server.ask("GET", path).status, 404) << path;
}

TEST(Api, WhatIsNotOfferedSaysSo) {
  TestServer server;
  server.settings().open.slots = false;
  server.load();
  EXPECT_EQ(server.ask("GET", "/slots").status, 501);
  EXPECT_EQ(server.ask("POST", "/props", "{}").status, 501);
}

TEST(Api, InfoEndpointsAnswer) {
  TestServer server;
  server.load();
  EXPECT_EQ(json_of(server.ask("GET", "/v1/models"))["data"][0]["meta"]["n_ctx"], 4096);
  const Json props = json_of(server.ask("GET", "/props"));
  EXPECT_EQ(props["total_slots"], 2);
  EXPECT_TRUE(props["conversation"].contains("fit_in_memory"));
  EXPECT_EQ(json_of(server.ask("GET", "/slots")).size(), 2U);
  const auto tokens = server.ask("POST", "/tokenize", R"({"content":"ab"})");
  EXPECT_EQ(json_of(tokens)["tokens"], Json({97, 98}));
  const auto text = server.ask("POST", "/detokenize", R"({"tokens":[97,98]})");
  EXPECT_EQ(json_of(text)["content"], "ab");
  EXPECT_EQ(server.ask("POST", "/detokenize", R"({"tokens":[99999]})").status, 400);
  const auto prompt =
      server.ask("POST", "/apply-template", R"({"messages":[{"role":"user","content":"hi"}]})");
  EXPECT_NE(json_of(prompt)["prompt"].get<std::string>().find("hi"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::api
