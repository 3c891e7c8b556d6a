#include "cli/engine_settings.h"

#include <gtest/gtest.h>

#include <functional>

namespace holdfast::cli {
namespace {

const env::UsableCpus kWhole{16, 16, std::nullopt};
const env::UsableCpus kRestricted{16, 2, std::nullopt};

ComputeOptions with_threads(int threads, int threads_batch) {
  ComputeOptions options;
  options.threads = threads;
  options.threads_batch = threads_batch;
  return options;
}

TEST(ThreadCounts, AreAsManyAsThereAreCpusForUs) {
  EXPECT_EQ(thread_counts(with_threads(-1, -1), kWhole).generate, 16);
  EXPECT_EQ(thread_counts(with_threads(-1, -1), kRestricted).generate, 2);
  EXPECT_EQ(thread_counts(with_threads(-1, -1), kRestricted).read, 2);
  EXPECT_EQ(thread_counts(with_threads(0, 0), kRestricted).read, 2);
  EXPECT_EQ(thread_counts(with_threads(3, -1), kRestricted).read, 3);
  EXPECT_EQ(thread_counts(with_threads(3, 5), kRestricted).generate, 3);
  EXPECT_EQ(thread_counts(with_threads(3, 5), kRestricted).read, 5);
}

TEST(ThreadCounts, MoreThanThereAreCpusForIsToldOnce) {
  EXPECT_EQ(too_many_threads(with_threads(-1, -1), kRestricted), "");
  EXPECT_EQ(too_many_threads(with_threads(2, -1), kRestricted), "");
  EXPECT_EQ(too_many_threads(with_threads(2, 8), kRestricted),
            "8 threads, and this process may use 2 of 16 CPUs (CPU set 2): they wait for each "
            "other, and answers take many times longer; --threads 2 fits");
}

SpaceKey states_of(const std::function<void(ComputeOptions&)>& change) {
  ServeOptions options;
  change(options.compute);
  return fingerprint_of(options, {.digest = "abc"}).space("");
}

TEST(Fingerprint, KnowsWhichTensorsLieElsewhere) {
  const SpaceKey plain = states_of([](ComputeOptions&) {});
  EXPECT_EQ(plain, states_of([](ComputeOptions&) {}));
  EXPECT_NE(plain, states_of([](ComputeOptions& o) { o.cpu_experts = true; }));
  EXPECT_NE(plain, states_of([](ComputeOptions& o) { o.cpu_expert_layers = 3; }));
  EXPECT_NE(plain, states_of([](ComputeOptions& o) { o.tensor_places = {"a=CPU"}; }));
  EXPECT_NE(plain, states_of([](ComputeOptions& o) { o.metadata_overrides = {"a=int:1"}; }));
}

// States of exact prompts have the same bits, whatever is promised of answers.
TEST(Fingerprint, KnowsWhetherPromptsAreExact) {
  const auto states = [](Exactness exact, bool hidden_rows = false) {
    ServeOptions options;
    options.context.exact = exact;
    return fingerprint_of(options, {.digest = "abc", .hidden_rows = hidden_rows}).space("");
  };
  EXPECT_EQ(states(Exactness::kPrompt), states(Exactness::kAll));
  EXPECT_NE(states(Exactness::kPrompt), states(Exactness::kOff));
  EXPECT_NE(states(Exactness::kPrompt), states(Exactness::kPrompt, true));
  EXPECT_EQ(states(Exactness::kOff), states(Exactness::kOff, true));
}

TEST(EngineConfig, OnlyWhereAllIsExactNothingIsDrafted) {
  ServeOptions options;
  const auto drafts = [&](Exactness exact) {
    options.context.exact = exact;
    return engine_config(options).draft_source;
  };
  EXPECT_EQ(drafts(Exactness::kOff), DraftSource::kAuto);
  EXPECT_EQ(drafts(Exactness::kPrompt), DraftSource::kAuto);
  EXPECT_EQ(drafts(Exactness::kAll), DraftSource::kOff);
}

TEST(EngineConfig, ExpertsStayOnTheProcessor) {
  ServeOptions options;
  options.compute.cpu_expert_layers = 3;
  EXPECT_EQ(engine_config(options).cpu_expert_layers, 3);
  options.compute.cpu_experts = true;
  EXPECT_EQ(engine_config(options).cpu_expert_layers, -1);
}

}  // namespace
}  // namespace holdfast::cli
