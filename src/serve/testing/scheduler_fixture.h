// What scheduler tests share: a clock that is turned by hand, a client that
// remembers what it saw, and the whole set-up on the fake engine.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "engine/testing/fake.h"
#include "serve/scheduler.h"

namespace holdfast::serve {

inline constexpr std::array kEachExactness{Exactness::kOff, Exactness::kPrompt, Exactness::kAll};

class ManualClock final : public env::Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return now_; }
  void advance(std::chrono::nanoseconds by) { now_ += by; }

 private:
  TimePoint now_{};
};

// Remembers what a client would have seen.
class Recorder final : public EventSink {
 public:
  void on_event(Event event) override {
    if (const auto* started = std::get_if<Started>(&event)) started_ = *started;
    if (const auto* progress = std::get_if<PromptProgress>(&event)) progress_.push_back(*progress);
    if (const auto* text = std::get_if<TextDelta>(&event)) {
      text_ += text->text;
      ++deltas_;
    }
    if (const auto* finished = std::get_if<Finished>(&event)) finished_ = *finished;
    if (const auto* failed = std::get_if<Failed>(&event)) failed_ = failed->error;
    if (ended()) end_.set_value();
  }
  [[nodiscard]] bool ended() const { return finished_ || failed_; }
  void wait_for_end() { end_.get_future().wait(); }

  std::optional<Started> started_;
  std::optional<Finished> finished_;
  std::optional<Error> failed_;
  std::vector<PromptProgress> progress_;
  std::string text_;
  int deltas_ = 0;

 private:
  std::promise<void> end_;
};

// The whole set-up; turned by hand unless start() is called.
struct Bench {
  explicit Bench(engine::FakeOptions fake = {}, SchedulerOptions options = {},
                 SchedulerParts parts = {})
      : engine(std::move(fake)), scheduler(engine, text, with_step(options), clock, parts) {}

  static SchedulerOptions with_step(SchedulerOptions options) {
    options.grid_step = 16;
    return options;
  }

  GenerateRequest request(const std::string& prompt, TokenPos max_tokens = 20) {
    GenerateRequest made;
    made.id = "r" + std::to_string(++requests);
    made.prompt = text.tokenize(prompt, true, true);
    made.sampler = std::move(text.make_sampler({}, nullptr).value());
    made.max_tokens = max_tokens;
    return made;
  }

  std::shared_ptr<Recorder> submit(GenerateRequest made) {
    auto recorder = std::make_shared<Recorder>();
    made.sink = recorder;
    const auto taken = scheduler.submit(std::move(made));
    EXPECT_TRUE(taken.ok()) << taken.error().message;
    return recorder;
  }
  std::shared_ptr<Recorder> submit(const std::string& prompt, TokenPos max_tokens = 20) {
    return submit(request(prompt, max_tokens));
  }

  void turn_until_ended(const Recorder& recorder) {
    for (int i = 0; i < 10000 && !recorder.ended(); ++i) run_round();
    ASSERT_TRUE(recorder.ended());
  }
  void run_round() {
    scheduler.run_round();
    const auto violations = scheduler.check();
    ASSERT_TRUE(violations.empty()) << violations.front();
    const auto engine_violations = engine.check();
    ASSERT_TRUE(engine_violations.empty()) << engine_violations.front();
  }
  // The bytes freed, once a turn has come to it.
  std::shared_ptr<std::optional<ByteCount>> clear_cache() {
    auto freed = std::make_shared<std::optional<ByteCount>>();
    scheduler.cache_commands().clear([freed](const Result<ByteCount>& bytes) {
      if (bytes) *freed = *bytes;
    });
    return freed;
  }
  std::string run(const std::string& prompt, TokenPos max_tokens = 20) {
    const auto recorder = submit(prompt, max_tokens);
    turn_until_ended(*recorder);
    return recorder->text_;
  }

  engine::FakeText text;
  engine::FakeEngine engine;
  ManualClock clock;
  Scheduler scheduler;
  int requests = 0;
};

// What an engine that has never seen anything answers, when prompts are cut as the grid says and
// nowhere else.
inline std::string cold_answer(engine::FakeOptions fake, const std::string& prompt,
                               TokenPos max_tokens = 20) {
  fake.faults = nullptr;
  Bench bench(fake, {.exact = Exactness::kAll});
  return bench.run(prompt, max_tokens);
}

// Runs a prompt, and compares its answer with a cold one and its receipt with itself.
inline cache::Receipt run_as_cold(Bench& bench, const engine::FakeOptions& cold,
                                  const std::string& prompt, TokenPos max_tokens,
                                  std::string& answer) {
  const auto recorder = bench.submit(prompt, max_tokens);
  bench.turn_until_ended(*recorder);
  EXPECT_TRUE(recorder->finished_.has_value());
  EXPECT_EQ(recorder->text_, cold_answer(cold, prompt, max_tokens));
  answer = recorder->text_;
  const cache::Receipt receipt = *recorder->finished_->receipt;
  EXPECT_EQ(cache::check_receipt(receipt), std::vector<std::string>{});
  EXPECT_EQ(receipt.restored + receipt.recomputed, receipt.prompt_tokens);
  EXPECT_EQ(receipt.restored, recorder->finished_->timings.cached_tokens);
  return receipt;
}

}  // namespace holdfast::serve
