// A whole server over the fake engine, and readings of its answers.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "api/api_server.h"
#include "api/json_fields.h"
#include "api/testing/http_test_client.h"
#include "engine/testing/fake.h"
#include "tier/testing/simulated_files.h"

namespace holdfast::api {

// A whole server on a free port, its model a fake.
class TestServer {
 public:
  explicit TestServer(ApiOptions options = {}, serve::SchedulerOptions scheduling = {},
                      engine::FakeOptions fake = {.slots = 2, .context_tokens = 4096})
      : engine_(std::move(fake)),
        scheduler_(engine_, text_, scheduling, clock_, {.observer = backend_->events.get()}) {
    options.http.port = 0;
    api_ = std::move(ApiServer::listen(std::move(options)).value());
    api_->start();
  }
  ~TestServer() {
    scheduler_.stop(serve::StopMode::kAbort);
    api_->stop();
  }

  TestServer& load() {
    scheduler_.start();
    backend_->text =
        std::shared_ptr<const engine::TextModel>(&text_, [](const engine::TextModel*) {});
    backend_->scheduler = &scheduler_;
    backend_->shape = engine_.shape();
    backend_->slots = engine_.slot_count();
    backend_->context_tokens = engine_.context_tokens();
    backend_->model_name = "fake";
    backend_->build = "test";
    backend_->defaults.vocabulary = engine::kFakeVocabulary;
    backend_->slot_files = slot_files;
    api_->backend().set(backend_);
    return *this;
  }

  TestAnswer ask(const std::string& method, const std::string& path, const std::string& body = "",
                 const std::string& headers = "") {
    TestClient client(api_->port());
    client.send(request_text(method, path, body, headers));
    return client.read_answer();
  }
  TestAnswer chat(const std::string& fields) {
    return ask("POST", "/v1/chat/completions",
               R"({"messages":[{"role":"user","content":"hello"}])" + fields + "}");
  }

  static std::string request_text(const std::string& method, const std::string& path,
                                  const std::string& body, const std::string& headers = "") {
    return method + " " + path +
           " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n" + headers + "\r\n" + body;
  }

  ApiServer& api() { return *api_; }
  // To be changed before load().
  Backend& settings() { return *backend_; }
  serve::Scheduler& scheduler() { return scheduler_; }
  std::shared_ptr<tier::FileSystem> slot_files;  // to be set before load()

 private:
  engine::FakeText text_;
  engine::FakeEngine engine_;
  env::SteadyClock clock_;
  std::shared_ptr<Backend> backend_ = std::make_shared<Backend>();
  serve::Scheduler scheduler_;
  std::unique_ptr<ApiServer> api_;
};

inline Json json_of(const TestAnswer& answer) {
  auto parsed = parse_json(answer.body);
  EXPECT_TRUE(parsed.ok()) << answer.body;
  return parsed.ok() ? *parsed : Json::object();
}

// The payloads of a stream's events.
inline std::vector<std::string> events_of(const TestAnswer& answer) {
  std::vector<std::string> events;
  std::size_t at = 0;
  while ((at = answer.body.find("data: ", at)) != std::string::npos) {
    const std::size_t end = answer.body.find("\n\n", at);
    events.push_back(answer.body.substr(at + 6, end - at - 6));
    at = end;
  }
  return events;
}

}  // namespace holdfast::api
