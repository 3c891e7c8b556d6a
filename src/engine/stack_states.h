// StackStates: the states in which a text can be in a grammar, and the ways between them.
//
// A grammar is followed with stacks of positions: the top is a set of characters (or a token) that
// may come next, below it lies where to go on when its rule ends. Where a grammar is ambiguous
// there are many stacks, and a state is a set of them:
//
//   state 7 = {d, e}       d: [0-9]  ---+
//                          e: "}"    ---+--> c: after the value --> b: after the object --> (end)
//
// Where a state leads by a class of characters is computed once and remembered, so most of a
// vocabulary is judged by looking up.
//
// Every move of a stack is counted. Beyond GrammarLimits::moves() nothing is computed any more: all
// ways lead to kNowhere, and over_budget() says so.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/stack_opener.h"
#include "engine/utf8.h"
#include "state/tokens.h"

namespace holdfast::engine {

class StackStates {
 public:
  using StateId = std::uint32_t;
  static constexpr StateId kNowhere = 0;  // no stack at all

  StackStates(std::shared_ptr<const Grammar> grammar, const GrammarLimits& limits);

  [[nodiscard]] StateId root();
  [[nodiscard]] StateId step(StateId from, std::uint32_t code_point);
  // By the elements that name tokens.
  [[nodiscard]] StateId step_by_token(StateId from, Token token);
  [[nodiscard]] StateId joined(StateId some, StateId others);

  // Everything has been read, as one of the stacks sees it.
  [[nodiscard]] bool complete(StateId state) const;
  // A character that begins with this part can come next.
  [[nodiscard]] bool takes_part(StateId state, Utf8Part part);
  // The elements that name tokens on top of the state's stacks, each once.
  [[nodiscard]] std::vector<GrammarElement> token_elements(StateId state) const;
  [[nodiscard]] std::size_t stacks(StateId state) const { return states_[state].stacks.size(); }

  void count_from_zero() { opener_.count_from_zero(); }
  [[nodiscard]] std::size_t moves() const { return opener_.moves(); }
  [[nodiscard]] bool over_budget() const { return opener_.over_budget(); }
  // About, of all stacks and states.
  [[nodiscard]] std::size_t bytes() const { return opener_.arena().bytes() + state_bytes_; }
  // Forgets all states but this one, whose new name it returns.
  [[nodiscard]] StateId keep_only(StateId state);

 private:
  using StackId = StackArena::Id;
  struct State {
    std::vector<StackId> stacks;  // ascending
    std::vector<StateId> next;    // by class; empty until something is known
  };

  [[nodiscard]] StateId opened_state();
  [[nodiscard]] StateId find_state(std::vector<StackId> stacks);
  [[nodiscard]] StateId compute_step(StateId from, std::uint32_t class_id);

  StackOpener opener_;
  std::vector<State> states_;
  std::unordered_multimap<std::uint64_t, StateId> ids_;
  std::size_t state_bytes_ = 0;
};

}  // namespace holdfast::engine
