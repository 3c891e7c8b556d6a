// Reads GBNF text into rules. Grammar::compile is what others use.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/grammar.h"

namespace holdfast::engine {

// Rounds of one repetition that are written out.
inline constexpr std::uint64_t kRepetitionsMax = 65'536;
// Groups in groups; the parser recurses.
inline constexpr int kGroupDepthMax = 1024;

using GrammarRule = std::vector<GrammarElement>;

struct ParsedGrammar {
  std::vector<GrammarRule> rules;
  std::map<std::string, std::uint32_t, std::less<>> names;
  std::vector<std::uint32_t> owners;  // the named rule that each rule was made for
  std::uint32_t root = 0;

  [[nodiscard]] std::string name_of(std::uint32_t rule) const;
};

// Every reference in the result names a rule that exists.
[[nodiscard]] Result<ParsedGrammar> parse_gbnf(std::string_view text, const GrammarLimits& limits,
                                               const TokenNamed& token_named);

}  // namespace holdfast::engine
