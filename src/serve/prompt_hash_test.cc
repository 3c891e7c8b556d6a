// Receipts say what reading a prompt came to, wherever the logits come from.
#include <gtest/gtest.h>

#include "serve/testing/scheduler_fixture.h"

namespace holdfast::serve {
namespace {

const std::string kPrompt = "<s>user: what is one and one</s><s>";

SchedulerOptions with_memory() {
  SchedulerOptions options;
  options.cache.memory.budget = 64 << 20;
  return options;
}

cache::Receipt run(Bench& bench, const std::string& prompt, TokenPos max_tokens = 20) {
  const auto recorder = bench.submit(prompt, max_tokens);
  bench.turn_until_ended(*recorder);
  return *recorder->finished_->receipt;
}

TEST(PromptHash, OfKeptLogitsAsOfNewOnes) {
  Bench bench({.slots = 1, .context_tokens = 4096}, with_memory());
  const cache::Receipt cold = run(bench, kPrompt);
  ASSERT_TRUE(cold.hashes);
  const cache::Receipt other = run(bench, "<s>user: something else</s><s>");
  ASSERT_TRUE(other.hashes);
  EXPECT_NE(other.hashes->tokens, cold.hashes->tokens);
  const cache::Receipt again = run(bench, kPrompt);
  EXPECT_EQ(again.restored, again.prompt_tokens) << "the logits are kept ones";
  EXPECT_EQ(again.hashes, cold.hashes);
}

TEST(PromptHash, IsTheSameHoweverMuchIsReused) {
  const std::string longer = kPrompt + "abc</s><s>user: and two and two</s><s>";
  Bench cold({.slots = 1, .context_tokens = 4096});
  const cache::Receipt read = run(cold, longer);
  Bench bench({.slots = 1, .context_tokens = 4096}, with_memory());
  run(bench, kPrompt);
  const cache::Receipt warm = run(bench, longer);
  EXPECT_GT(warm.restored, 0);
  EXPECT_EQ(warm.hashes, read.hashes);
}

TEST(PromptHash, ThereIsNoneWhereNoTokenIsChosen) {
  Bench bench({.slots = 1, .context_tokens = 4096}, with_memory());
  EXPECT_FALSE(run(bench, kPrompt, 0).hashes);
}

}  // namespace
}  // namespace holdfast::serve
