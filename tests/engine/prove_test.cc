// Proofs on the real engine in its default mode, where a restored state has other last bits than a
// cold one: none is called wrong that is right, and a planted fault is found.
#include <gtest/gtest.h>

#include "engine/llama/llama_config.h"
#include "faulty_engine.h"
#include "serve/scheduler.h"

namespace holdfast {
namespace {

class Ended final : public serve::EventSink {
 public:
  void on_event(serve::Event event) override {
    if (const auto* text = std::get_if<serve::TextDelta>(&event)) text_ += text->text;
    if (const auto* finished = std::get_if<serve::Finished>(&event)) receipt_ = *finished->receipt;
    if (std::holds_alternative<serve::Failed>(event)) failed_ = true;
  }
  std::string text_;
  std::optional<cache::Receipt> receipt_;
  bool failed_ = false;
};

class StillClock final : public env::Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return {}; }
};

class Proving : public testing::TestWithParam<Exactness> {
 protected:
  static llama::LoadedModel load() {
    llama::LlamaConfig config;
    config.model_path = HOLDFAST_POCKET_MODEL_PATH;
    config.context_tokens = 4096;
    config.slots = 2;
    config.threads = 1;
    auto loaded = llama::load_llama_model(config, nullptr);
    EXPECT_TRUE(loaded.ok()) << loaded.error().message;
    return std::move(*loaded);
  }

  cache::Receipt ask(serve::Scheduler& scheduler, std::string& talk, int number) {
    talk += "<|im_start|>user\nThe secret code of house " + std::to_string(number) + " is " +
            std::to_string(10000 + 37 * number) + ". What is the secret code of house " +
            std::to_string(number / 2) +
            "?<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n";
    serve::GenerateRequest request;
    request.id = "r" + std::to_string(++requests_);
    request.prompt = model_.text->tokenize(talk, true, true);
    request.max_tokens = 24;
    engine::SamplingParams greedy;
    greedy.temperature = 0.0F;
    request.sampler = std::move(model_.text->make_sampler(greedy, nullptr).value());
    auto ended = std::make_shared<Ended>();
    request.sink = ended;
    EXPECT_TRUE(scheduler.submit(std::move(request)).ok());
    while (!ended->receipt_ && !ended->failed_) scheduler.run_round();
    EXPECT_FALSE(ended->failed_);
    talk += ended->text_ + "<|im_end|>\n";
    return ended->receipt_.value_or(cache::Receipt{});
  }

  // Five conversations by turns on two slots; after each request the server rests. How many
  // requests it took until a proof failed, 0: none did.
  int run(PlantedFault fault, int planted_at, int requests, std::uint64_t& equal) {
    FaultyEngine engine(*model_.engine, PlantedFault::kNone);
    serve::SchedulerOptions options;
    options.grid_step = 256;
    options.exact = GetParam();
    options.proofs = {.share = 1.0, .exact = prompts_are_exact(GetParam())};
    options.cache.memory.budget = 1 << 30;
    serve::Scheduler scheduler(engine, *model_.text, options, clock_);
    std::vector<std::string> talks;
    for (int i = 0; i < 5; ++i) {
      talks.push_back("<|im_start|>system\nYou are assistant number " + std::to_string(i) +
                      ".<|im_end|>\n");
    }
    int found = 0;
    for (int i = 0; i < requests && found == 0; ++i) {
      if (i == planted_at) engine.plant(fault);
      (void)ask(scheduler, talks[static_cast<std::size_t>(i) % talks.size()], i);
      scheduler.idle_work().keep_states();
      scheduler.idle_work().prove([] { return false; });
      EXPECT_EQ(scheduler.check(), std::vector<std::string>{});
      const serve::SchedulerStatus status = scheduler.status();
      equal = status.proofs.equal;
      if (status.proofs.different > 0) found = i + 1;
    }
    if (found > 0) {
      for (int i = 0; i < 10; ++i) {
        const cache::Receipt receipt =
            ask(scheduler, talks[static_cast<std::size_t>(i) % talks.size()], i);
        EXPECT_NE(receipt.source, plan::StartSource::kMemory) << "nothing is restored since";
        EXPECT_NE(receipt.source, plan::StartSource::kSnapshotInPlace);
      }
    }
    return found;
  }

  llama::LoadedModel model_ = load();
  StillClock clock_;
  int requests_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Modes, Proving, testing::Values(Exactness::kOff, Exactness::kPrompt),
                         [](const auto& param) { return exactness_name(param.param); });

TEST_P(Proving, RightStatesAreCalledRight) {
  std::uint64_t equal = 0;
  EXPECT_EQ(run(PlantedFault::kNone, 0, 40, equal), 0);
  EXPECT_GE(equal, 30U);
}

TEST_P(Proving, AFaultThatAppearsAfterTheStartIsFoundWithinFiftyRequests) {
  std::uint64_t equal = 0;
  const int found = run(PlantedFault::kRestoreOffByOne, 10, 60, equal);
  EXPECT_GT(found, 10);
  EXPECT_LE(found, 60);
  std::printf("found after %d requests with the fault\n", found - 10);
}

}  // namespace
}  // namespace holdfast
