// Whatever clients do, in any order and under any budget: the budget is held and
// every answer has the bits of an engine that keeps nothing.
//
// Each budget once by default; HOLDFAST_SOAK_SECONDS=600 goes on for ten minutes, and
// HOLDFAST_SOAK_SEED repeats a run.
#include <chrono>
#include <cstdlib>
#include <iostream>

#include "cached_server.h"

namespace holdfast {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t fallback) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::strtoull(value, nullptr, 10) : fallback;
}

class Soak : public ::testing::TestWithParam<std::string> {};

TEST_P(Soak, EveryAnswerHasTheBitsOfAColdOne) {
  const auto seconds = from_environment("HOLDFAST_SOAK_SECONDS", 0);
  const std::uint64_t seed = from_environment("HOLDFAST_SOAK_SEED", 1);
  llama::LlamaConfig config;
  config.context_tokens = 1024;
  config.slots = 1;
  config.threads = 1;
  config.ubatch = 128;
  config.warm_up = false;
  auto warm_model = load_tiny(GetParam(), config);
  auto cold_model = load_tiny(GetParam(), config);
  ASSERT_TRUE(warm_model.ok() && cold_model.ok());
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  const std::vector<ByteCount> budgets = {0, 20'000, 300'000, 2'000'000, 8'000'000, kAmple};
  std::uint64_t requests = 0;
  std::uint64_t restored = 0;
  const auto goes_on = [&](std::uint64_t round) {
    return round < budgets.size() || std::chrono::steady_clock::now() < deadline;
  };
  for (std::uint64_t round = 0; goes_on(round); ++round) {
    std::mt19937_64 random(seed + round);
    const auto below = [&](std::size_t n) { return static_cast<unsigned>(random() % n); };
    const ByteCount budget = budgets[round % budgets.size()];
    SCOPED_TRACE("seed " + std::to_string(seed + round) + ", budget " + std::to_string(budget));
    warm_model->engine->clear(kSlot);
    CachedServer warm(*warm_model->engine, budget);
    warm.decoded = 8;
    std::vector<Tokens> histories = {turn(60, 1), turn(90, 2)};
    for (int step = 0; step < 6; ++step) {
      Tokens prompt = histories[below(histories.size())];
      if (below(4) == 0) prompt.resize(1 + below(prompt.size()));    // cut back
      if (below(4) == 0) prompt[below(prompt.size())] = below(256);  // edited
      prompt = prompt + turn(static_cast<TokenPos>(1 + below(120)), below(5));
      if (length_of(prompt) > 900) continue;
      const Answer answer = warm.run(prompt);
      cold_model->engine->clear(kSlot);
      CachedServer cold(*cold_model->engine, 0);
      cold.decoded = warm.decoded;
      ASSERT_TRUE(same_bits(answer, cold.run(prompt))) << "step " << step;
      ASSERT_LE(warm.cache().status().peak, budget);
      ++requests;
      restored += static_cast<std::uint64_t>(warm.receipt.restored);
      histories.push_back(prompt + answer.tokens + Tokens{kTurnEnd});
    }
  }
  std::cout << GetParam() << ": " << requests << " requests from seed " << seed << ", " << restored
            << " tokens restored\n";
  EXPECT_GT(restored, 0U);
}

INSTANTIATE_TEST_SUITE_P(Models, Soak, ::testing::Values("qwen35", "llama", "gemma3"));

}  // namespace
}  // namespace holdfast
