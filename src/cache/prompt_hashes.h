// PromptHashes: what a prompt was, and what reading it came to, in 16 digits each.
//
// An answer follows from the logits after its prompt's last token, whatever was read for them and
// whatever was restored. Two servers that agree on both hashes have read the same tokens with the
// same result, to the last bit; two that agree on the tokens alone have not. `holdfast
// verify-exact` compares them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "state/tokens.h"

namespace holdfast::cache {

struct PromptHashes {
  std::uint64_t tokens = 0;  // of the ids of the prompt
  std::uint64_t logits = 0;  // of the raw bits of the logits there, before any sampler
  bool operator==(const PromptHashes&) const = default;

  [[nodiscard]] static PromptHashes of(TokenSpan prompt, std::span<const float> logits);
};

// Sixteen hexadecimal digits.
[[nodiscard]] std::string hash_text(std::uint64_t hash);

}  // namespace holdfast::cache
