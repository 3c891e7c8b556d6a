#include <gtest/gtest.h>

#include <future>

#include "api/info.h"
#include "api/testing/test_server.h"
#include "api/worker_probe.h"
#include "serve/testing/scheduler_fixture.h"

namespace holdfast::api {
namespace {

// A scheduler on a clock that is turned by hand, whose engine waits in its first chunk until it is
// let go.
class HealthTest : public ::testing::Test {
 protected:
  void SetUp() override {
    engine::FakeOptions fake;
    fake.faults = [this](engine::FakeOperation operation) {
      if (operation == engine::FakeOperation::kPrefill && !std::exchange(reached_already_, true)) {
        reached_.set_value();
        released_.get_future().wait();
      }
      return engine::FakeFault::kNone;
    };
    bench_ = std::make_unique<serve::Bench>(std::move(fake));
    auto backend = std::make_shared<Backend>();
    backend->scheduler = &bench_->scheduler;
    slot_.set(std::move(backend));
    bench_->scheduler.start();
  }

  static Json body_of(const HttpResponse& response) { return *parse_json(response.body); }

  std::promise<void> reached_;
  std::promise<void> released_;
  bool reached_already_ = false;  // the scheduler's thread
  std::unique_ptr<serve::Bench> bench_;
  BackendSlot slot_;
};

TEST_F(HealthTest, TellsWhatTheLoopDoesAndWhetherItIsStuck) {
  const auto recorder = bench_->submit("hello");
  reached_.get_future().wait();
  const HttpResponse busy = health(slot_, 7.0);
  EXPECT_EQ(busy.status, 200);
  EXPECT_EQ(body_of(busy)["status"], "ok");
  EXPECT_EQ(body_of(busy)["scheduler"]["doing"], "reading");
  EXPECT_EQ(body_of(busy)["worker"]["waiting_ms"], 7.0);
  bench_->clock.advance(std::chrono::hours(1));
  const HttpResponse stuck = health(slot_);
  EXPECT_EQ(stuck.status, 503);
  EXPECT_EQ(body_of(stuck)["status"], "stuck");
  EXPECT_EQ(body_of(stuck)["error"]["code"], "stuck");
  EXPECT_EQ(body_of(stuck)["error"]["message"],
            "The scheduler is stuck: it has been reading 5 tokens for 3600 s. The log names the "
            "request.");
  EXPECT_EQ(body_of(stuck)["scheduler"]["step_ms"], 3600000.0);
  EXPECT_EQ(stuck.body.find("r1"), std::string::npos) << "no request is named to everybody";
  released_.set_value();
  recorder->wait_for_end();
  EXPECT_EQ(health(slot_).status, 200);
}

TEST_F(HealthTest, AWorkerThatNeverComesIsToldToo) {
  EXPECT_EQ(health(slot_, 119'000.0).status, 200);
  const HttpResponse stuck = health(slot_, 121'000.0);
  EXPECT_EQ(stuck.status, 503);
  EXPECT_NE(stuck.body.find("have all been busy for 121 s"), std::string::npos) << stuck.body;
  released_.set_value();
}

TEST(WorkerProbeTest, TellsSinceWhenNoWorkerCame) {
  WorkerPool workers(2);
  WorkerProbe probe(workers);
  std::promise<void> busy;
  const auto over = busy.get_future().share();
  for (const char* client : {"one", "another"})
    workers.post({client, false, [over](bool) { over.wait(); }});
  EXPECT_EQ(probe.waiting_ms(), 0.0) << "it was asked just now";
  EXPECT_GT(probe.waiting_ms(), 0.0);
  busy.set_value();
  workers.stop();
  EXPECT_EQ(probe.waiting_ms(), 0.0) << "it came";
}

}  // namespace
}  // namespace holdfast::api
