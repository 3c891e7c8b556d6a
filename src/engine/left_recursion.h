// Whether following a grammar could make a stack grow without reading anything.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/gbnf_parser.h"

namespace holdfast::engine {

// A rule that can begin with itself and leave something behind: a ::= a "x", or through other rules
// that may be empty. `r ::= nothing? r |` leaves nothing behind, and is fine. Time and memory in
// proportion to the grammar; no recursion.
[[nodiscard]] std::optional<std::uint32_t> find_left_recursion(
    const std::vector<GrammarRule>& rules);

}  // namespace holdfast::engine
