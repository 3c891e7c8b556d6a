// PreparedPrompt: what follows from a prompt and the server's settings alone. It takes time in the
// length of the prompt, so it is made once, on the thread that prepares requests.
#pragma once

#include <vector>

#include "cache/cold_states.h"
#include "cache/prompt.h"
#include "cache/prompt_logits.h"
#include "state/grid.h"
#include "state/tokens.h"
#include "tier/path_name.h"

namespace holdfast::serve {

struct PreparedPrompt {
  std::vector<TokenPos> cuts;         // its grid
  Tokens keys;                        // cache::filing_keys
  std::vector<tier::PathName> names;  // ColdStates::names_for
  cache::EndKey end;                  // of its keys, if it may use what is stored

  // What its states are filed under: the tokens themselves, unless prompts are exact.
  [[nodiscard]] TokenSpan keys_of(const Tokens& prompt) const {
    return keys.empty() ? TokenSpan(prompt) : TokenSpan(keys);
  }
};

// Any thread: it asks only what any thread may ask.
class PromptPreparer {
 public:
  PromptPreparer(const Grid& grid, bool exact_prompts, const cache::ColdStates& cold)
      : grid_(grid), exact_prompts_(exact_prompts), cold_(cold) {}

  // `reuse`: the prompt may use what is stored.
  [[nodiscard]] PreparedPrompt prepare(const Tokens& prompt, SpaceKey space, bool reuse) const {
    PreparedPrompt made;
    made.cuts = grid_.cuts(prompt);
    made.keys = cache::filing_keys(prompt, made.cuts, exact_prompts_);
    if (!reuse) return made;
    made.names = cold_.names_for(space, made.keys_of(prompt));
    made.end = cache::EndKey::of(space, made.keys_of(prompt));
    return made;
  }

 private:
  const Grid& grid_;
  const bool exact_prompts_;
  const cache::ColdStates& cold_;
};

}  // namespace holdfast::serve
