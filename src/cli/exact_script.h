// TalkScript: what the client of a made-up conversation does, one step after the other, as far as
// it can be said before the answers are known.
//
// Scripts follow from a seed and a number. Talks of one seed share their opening texts, as
// conversations of one application do, so that they meet in the cache.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "state/tokens.h"

namespace holdfast::cli {

enum class TalkMove {
  kTurn,     // the next message; results of tools, where the answer called some
  kAgain,    // the same request once more
  kEdit,     // an earlier message of the user's with other words; what followed it goes
  kBranch,   // another message after an earlier answer
  kReturn,   // on with the branch that was left
  kFanOut,   // several messages after the same history, at once
  kGivenUp,  // the client goes before it has its answer, and asks again
  kSeveral,  // two choices
};
inline constexpr auto kTalkMoveLast = TalkMove::kSeveral;
[[nodiscard]] const char* name_of(TalkMove move);

struct TalkStep {
  TalkMove move = TalkMove::kTurn;
  std::vector<std::string> texts = {};  // several for kFanOut
  std::size_t where = 0;                // which earlier message, of those there are
  int max_tokens = 32;
  bool calls = false;   // the answer has to be a call, where the talk has tools
  int patience_ms = 0;  // of kGivenUp
};

struct TalkScript {
  std::uint64_t seed = 0;
  nlohmann::json opening;       // messages
  nlohmann::json settings;      // of every request
  bool sends_thoughts = false;  // back; else they are left out of the history
  std::vector<TalkStep> steps;
};

// For servers with this many tokens of context.
[[nodiscard]] TalkScript make_script(std::uint64_t seed, std::uint64_t number, TokenPos context);

}  // namespace holdfast::cli
