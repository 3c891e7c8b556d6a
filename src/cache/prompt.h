// Prompt: a prompt as the cache sees it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "cache/prompt_logits.h"
#include "cache/prompt_section.h"
#include "state/chunk_keys.h"
#include "state/space.h"
#include "state/tokens.h"
#include "tier/path_name.h"

namespace holdfast::cache {

// What a prompt's states are filed under: where prompts are exact chunk keys; else its tokens, and
// then these are empty.
[[nodiscard]] inline Tokens filing_keys(TokenSpan tokens, std::span<const TokenPos> cuts,
                                        bool exact_prompts) {
  return exact_prompts ? chunk_keys(tokens, cuts) : Tokens();
}

// What it refers to outlives the request.
struct Prompt {
  SpaceKey space;
  TokenSpan tokens;
  TokenSpan keys;                  // what its states are filed under, one for each token
  std::span<const TokenPos> cuts;  // its grid
  std::span<const MessageSpan> spans;
  bool reuse = true;
  // Where the header that opens the answer ends and what history will not repeat
  // begins; none: not known.
  std::optional<TokenPos> header_end;
  std::span<const tier::PathName> names;  // of its keys, where there is a tier below
  EndKey end;                             // of its keys, if it may use what is kept
  std::uint64_t number = 0;               // of the request, for the journal
  bool one_off = false;                   // plan/one_offs.h; known when it begins
  bool ahead = false;                     // nobody has asked for it yet (serve/prewarmer.h)
  std::span<const PromptSection> sections =
      {};  // under their clients' names, where these are known
};

}  // namespace holdfast::cache
