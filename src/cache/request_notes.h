// RequestNotes: what the server did to a request before its prompt was read, for its receipt.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "state/tokens.h"

namespace holdfast::cache {

struct Receipt;

struct RequestNotes {
  // Kinds of tools and input items that only others' servers run: "web_search", sorted, with
  // repetitions.
  std::vector<std::string> skipped = {};
  // Where Claude Code's attribution line would stand if it had not been left out.
  std::optional<TokenPos> attribution_at = std::nullopt;
  TokenPos answer_asked = -1;  // the longest answer that was asked for; -1: no limit
  TokenPos answer_limit = 0;   // the longest that is possible, with that; 0: not known
};

// Tokens that were reused only because the attribution line, which differs from session to
// session, was left out.
[[nodiscard]] TokenPos attribution_saved(const Receipt& receipt);

// One sentence for each thing that the client did not ask for.
[[nodiscard]] std::vector<std::string> note_sentences(const Receipt& receipt);

}  // namespace holdfast::cache
