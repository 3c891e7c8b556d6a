#include "cache/prompt_hashes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace holdfast::cache {
namespace {

TEST(PromptHashes, OneBitOfOneNumberIsAnotherHash) {
  const Tokens prompt = {1, 2, 3};
  std::vector<float> logits(1000, 0.5F);
  const PromptHashes first = PromptHashes::of(prompt, logits);
  EXPECT_EQ(PromptHashes::of(prompt, logits), first);
  logits[999] = std::nextafter(0.5F, 1.0F);
  const PromptHashes other = PromptHashes::of(prompt, logits);
  EXPECT_NE(other.logits, first.logits);
  EXPECT_EQ(other.tokens, first.tokens);
}

// Equal as numbers, not as bits.
TEST(PromptHashes, ZerosOfBothSignsDiffer) {
  const std::vector<float> plus = {0.0F};
  const std::vector<float> minus = {-0.0F};
  EXPECT_NE(PromptHashes::of({}, plus).logits, PromptHashes::of({}, minus).logits);
}

TEST(PromptHashes, TellPromptsApart) {
  const Tokens one = {1, 2, 3};
  const Tokens other = {1, 2, 4};
  EXPECT_NE(PromptHashes::of(one, {}).tokens, PromptHashes::of(other, {}).tokens);
}

TEST(PromptHashes, TextHasSixteenDigits) {
  EXPECT_EQ(hash_text(0xabcU), "0000000000000abc");
  EXPECT_EQ(hash_text(~std::uint64_t{0}), "ffffffffffffffff");
}

}  // namespace
}  // namespace holdfast::cache
