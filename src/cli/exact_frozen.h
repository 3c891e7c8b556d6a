// Frozen requests: those of a file, and those with a needle. They are the same whatever is
// answered.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "state/tokens.h"

namespace holdfast::cli {

struct FrozenRequest {
  nlohmann::json body;
  std::string where;        // "line 3", "needle 7: 900 of 1,800 tokens deep"
  std::string needle = {};  // what a right answer has in it; empty: not known
};

// A file with an OpenAI chat body in each line, such as a proxy in front of an agent writes. Empty
// lines are left out. An Error names the line.
[[nodiscard]] Result<std::vector<FrozenRequest>> read_conversations(const std::string& path);

// How many requests the ladder has.
inline constexpr std::size_t kNeedles = 38;

// The ladder: texts from 128 tokens up to about `longest`, each with a fact near its beginning, in
// its middle or near its end, and a question about it. Texts of one length begin alike, so that
// they meet in the cache.
[[nodiscard]] std::vector<FrozenRequest> needle_ladder(std::uint64_t seed, TokenPos longest);

}  // namespace holdfast::cli
