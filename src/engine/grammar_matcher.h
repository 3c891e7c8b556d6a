// GrammarMatcher follows an answer through a grammar, and tells which tokens may come next.
//
// All work for one token is counted (stack_states.h). A token that needs more than
// GrammarLimits::moves() is not decided (kOverBudget), and neither is one before which the stacks
// need more than stack_bytes().
//
// Invariants, tested in grammar_matcher_test:
//   MATCH-1  the calls between two of begin_token() take O(moves() + size of the trie) time
//   MATCH-2  bytes() is at most stack_bytes() plus what moves() can add for one token
//   MATCH-3  the tokens that mask() permits are those that allows() permits
//
// One thread at a time.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "engine/stack_states.h"
#include "engine/token_trie.h"

namespace holdfast::engine {

enum class Match { kYes, kNo, kOverBudget };

class GrammarMatcher {
 public:
  // Stands before the first character; begun() says whether that was within the limits.
  GrammarMatcher(std::shared_ptr<const Grammar> grammar, const GrammarLimits& limits);
  [[nodiscard]] bool begun() const { return state_ != StackStates::kNowhere; }

  // Counting begins again: call it once for each token.
  void begin_token();
  // Whether `token`, which is not an end of generation, may come next.
  [[nodiscard]] Match allows(Token token, std::string_view piece);
  // Goes on by a token; stays where it is if the answer is not kYes.
  [[nodiscard]] Match accept(Token token, std::string_view piece);
  // Sets `allowed` for exactly the tokens of the trie that may come next. kNo: none may.
  [[nodiscard]] Match mask(const TokenTrie& trie, std::vector<bool>& allowed);
  // The text so far is complete: the generation may end.
  [[nodiscard]] bool complete() const { return part_.missing == 0 && states_.complete(state_); }

  // Since begin_token().
  [[nodiscard]] std::size_t moves() const { return states_.moves(); }
  [[nodiscard]] std::size_t bytes() const { return states_.bytes(); }
  [[nodiscard]] std::size_t stacks() const { return states_.stacks(state_); }

 private:
  using StateId = StackStates::StateId;
  // Where the characters of a piece led, and the part of one at its end.
  struct Reached {
    StateId state = StackStates::kNowhere;
    Utf8Part part;
  };

  [[nodiscard]] bool over_budget() const { return out_of_memory_ || states_.over_budget(); }
  [[nodiscard]] Reached read(std::string_view piece);
  void walk(const TokenTrie& trie, std::vector<bool>& allowed);
  void mark(std::span<const TokenTrie::End> ends, StateId state, std::vector<bool>& allowed);
  void mark_named(const TokenTrie& trie, std::vector<bool>& allowed) const;

  GrammarLimits limits_;
  StackStates states_;
  StateId state_ = StackStates::kNowhere;
  Utf8Part part_;  // of a character that the last token began
  bool out_of_memory_ = false;
};

}  // namespace holdfast::engine
