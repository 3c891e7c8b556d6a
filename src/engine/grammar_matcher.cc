#include "engine/grammar_matcher.h"

#include <algorithm>

namespace holdfast::engine {

namespace {

constexpr auto kNowhere = StackStates::kNowhere;

// No grammar takes such a token, not even by its number.
bool writes_nothing(std::string_view piece) { return piece.empty() || piece[0] == '\0'; }

}  // namespace

GrammarMatcher::GrammarMatcher(std::shared_ptr<const Grammar> grammar, const GrammarLimits& limits)
    : limits_(limits), states_(std::move(grammar), limits), state_(states_.root()) {}

void GrammarMatcher::begin_token() {
  states_.count_from_zero();
  if (states_.bytes() <= limits_.stack_bytes() / 4) return;
  state_ = states_.keep_only(state_);
  out_of_memory_ = states_.bytes() > limits_.stack_bytes();
}

// From the current state, by characters alone. Bytes that are no UTF-8 lead nowhere.
GrammarMatcher::Reached GrammarMatcher::read(std::string_view piece) {
  Reached reached{state_, part_};
  std::size_t bytes = 0;  // of the character that is being read; 0: it began in another token
  for (const char c : piece) {
    const auto byte = static_cast<unsigned char>(c);
    if (reached.part.missing > 0) {
      if (!utf8_add(reached.part, byte)) return {};
    } else {
      const int following = utf8_following(byte);
      if (following < 0 || byte == 0) return {};
      reached.part = utf8_begin(byte, following);
      bytes = static_cast<std::size_t>(following) + 1;
    }
    if (reached.part.missing > 0) continue;
    if (bytes > 1 && !utf8_is_valid(reached.part.value, bytes)) return {};
    reached = {states_.step(reached.state, reached.part.value), {}};
    if (reached.state == kNowhere) return {};
  }
  if (reached.part.missing > 0 && !states_.takes_part(reached.state, reached.part)) return {};
  return reached;
}

Match GrammarMatcher::allows(Token token, std::string_view piece) {
  if (out_of_memory_) return Match::kOverBudget;
  if (writes_nothing(piece)) return Match::kNo;
  const bool by_name = part_.missing == 0 && states_.step_by_token(state_, token) != kNowhere;
  const bool by_text = read(piece).state != kNowhere;
  if (over_budget()) return Match::kOverBudget;
  return by_name || by_text ? Match::kYes : Match::kNo;
}

Match GrammarMatcher::accept(Token token, std::string_view piece) {
  if (out_of_memory_) return Match::kOverBudget;
  const StateId by_name = part_.missing == 0 ? states_.step_by_token(state_, token) : kNowhere;
  const Reached by_text = piece.empty() ? Reached{} : read(piece);
  const StateId both = states_.joined(by_name, by_text.state);
  if (over_budget()) return Match::kOverBudget;
  if (both == kNowhere) return Match::kNo;
  state_ = both;
  part_ = by_text.state == kNowhere ? Utf8Part{} : by_text.part;
  return Match::kYes;
}

Match GrammarMatcher::mask(const TokenTrie& trie, std::vector<bool>& allowed) {
  allowed.assign(trie.vocabulary(), false);
  if (out_of_memory_) return Match::kOverBudget;
  if (part_.missing == 0) {
    walk(trie, allowed);
    mark_named(trie, allowed);
  } else {
    for (const Token token : trie.continuing()) {
      if (read(trie.piece(token)).state != kNowhere)
        allowed[static_cast<std::size_t>(token)] = true;
    }
  }
  if (over_budget()) return Match::kOverBudget;
  return std::ranges::find(allowed, true) != allowed.end() ? Match::kYes : Match::kNo;
}

// Down every branch for as long as the grammar takes it.
void GrammarMatcher::walk(const TokenTrie& trie, std::vector<bool>& allowed) {
  std::vector<StateId> path(trie.depth() + 1, kNowhere);
  path[0] = state_;
  const auto& places = trie.places();
  mark(trie.ends(places[0]), state_, allowed);
  for (std::size_t i = 1; i < places.size() && !over_budget();) {
    const TokenTrie::Place& place = places[i];
    const StateId state = states_.step(path[place.depth - 1], place.code_point);
    path[place.depth] = state;
    if (state != kNowhere) mark(trie.ends(place), state, allowed);
    i = state != kNowhere ? i + 1 : place.after;
  }
}

void GrammarMatcher::mark(std::span<const TokenTrie::End> ends, StateId state,
                          std::vector<bool>& allowed) {
  for (const TokenTrie::End& end : ends) {
    if (end.part.missing == 0 || states_.takes_part(state, end.part)) {
      allowed[static_cast<std::size_t>(end.token)] = true;
    }
  }
}

// Two elements that exclude different tokens exclude none together, so the second is the last that
// has to be looked at.
void GrammarMatcher::mark_named(const TokenTrie& trie, std::vector<bool>& allowed) const {
  int complements = 0;
  for (const GrammarElement& element : states_.token_elements(state_)) {
    const bool complement = element.kind == GrammarElement::Kind::kTokenNot;
    if (!complement && element.value < trie.vocabulary()) allowed[element.value] = true;
    if (!complement || ++complements > 2) continue;
    for (std::size_t token = 0; token < trie.vocabulary(); ++token) {
      if (token != element.value) allowed[token] = true;
    }
  }
  for (std::size_t token = 0; complements > 0 && token < trie.vocabulary(); ++token) {
    if (writes_nothing(trie.piece(static_cast<Token>(token)))) allowed[token] = false;
  }
}

}  // namespace holdfast::engine
