// What a receipt says to people: why something known was read again, and what
// would have helped.
//
// Advice is given only where somebody can act on it: the one who writes the
// prompts (a clock in the system message, reasoning left out of the history) or
// the one who runs the server (the budget). It is one sentence or nothing. A few
// tokens on each side of the difference are all there is to go by, so each rule
// asks for evidence in both texts and stays silent in doubt.
//
// Other tenants are never hinted at: a receipt knows one tenant only.
//
// Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cache/receipt.h"

namespace holdfast::cache {

// Why known tokens were read again, for people; empty when nothing was missed.
[[nodiscard]] std::string missing_sentence(const Receipt& receipt);

// When the missing state went, in Unix milliseconds; nullopt: it did not, or nobody
// knows.
[[nodiscard]] std::optional<std::int64_t> evicted_at(const Receipt& receipt);

// What is possible with this server.
struct AdviceFacts {
  ByteCount budget = 0;            // the cache's size; 0: not known
  bool shows_reasoning = false;    // the template can show the thoughts of earlier turns
  bool reasoning_setting = false;  // and does so with "preserve_thinking" only
};

// `known_text` and `sent_text` are those of receipt.difference, or empty.
[[nodiscard]] std::string advice_for(const Receipt& receipt, std::string_view known_text,
                                     std::string_view sent_text, const AdviceFacts& facts = {});

// "2026-11-15T06:41:22.123Z"
[[nodiscard]] std::string utc_text(std::int64_t unix_ms);

}  // namespace holdfast::cache
