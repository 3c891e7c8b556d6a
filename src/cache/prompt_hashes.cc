#include "cache/prompt_hashes.h"

#include <cinttypes>
#include <cstdio>

#include "base/hash.h"

namespace holdfast::cache {

PromptHashes PromptHashes::of(TokenSpan prompt, std::span<const float> logits) {
  return {hash_bytes(std::as_bytes(prompt)), hash_bytes(std::as_bytes(logits))};
}

std::string hash_text(std::uint64_t hash) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016" PRIx64, hash);
  return digits;
}

}  // namespace holdfast::cache
