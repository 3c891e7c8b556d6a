#include "engine/stack_states.h"

#include <algorithm>
#include <utility>

namespace holdfast::engine {

namespace {

using Kind = GrammarElement::Kind;

constexpr StackStates::StateId kUnknown = UINT32_MAX;
// Ways are remembered for this many classes of characters; grammars have some dozens.
constexpr std::size_t kClassesRemembered = 4096;
// Elements of a set that are compared for the price of one move.
constexpr std::size_t kElementsPerMove = 8;

bool names_token(Kind kind) { return kind == Kind::kToken || kind == Kind::kTokenNot; }

std::uint64_t hash_of(const std::vector<StackArena::Id>& stacks) {
  std::uint64_t hash = 0x9E3779B97F4A7C15U;
  for (const StackArena::Id one : stacks) hash = (hash ^ one) * 0x100000001B3U + (hash >> 29U);
  return hash;
}

// The code points that a part of a character can become.
std::pair<std::uint32_t, std::uint32_t> range_of(Utf8Part part) {
  constexpr std::uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
  const unsigned bits = 6U * static_cast<unsigned>(part.missing);
  const std::uint32_t first = part.value << bits;
  // Overlong forms are left out where no more than the first byte is known.
  const std::uint32_t least = part.value == 0 ? kLeast[part.missing] : 0;
  return {std::max(first, least), first | ((1U << bits) - 1U)};
}

}  // namespace

StackStates::StackStates(std::shared_ptr<const Grammar> grammar, const GrammarLimits& limits)
    : opener_(std::move(grammar), limits.moves()) {
  states_.emplace_back();  // kNowhere
}

StackStates::StateId StackStates::opened_state() {
  std::vector<StackId> found = opener_.take();
  if (over_budget() || found.empty()) return kNowhere;
  return find_state(std::move(found));
}

StackStates::StateId StackStates::find_state(std::vector<StackId> stacks) {
  const std::uint64_t hash = hash_of(stacks);
  const auto [begin, end] = ids_.equal_range(hash);
  for (auto one = begin; one != end; ++one) {
    if (states_[one->second].stacks == stacks) return one->second;
  }
  const auto id = static_cast<StateId>(states_.size());
  state_bytes_ += sizeof(State) + 64 + stacks.size() * sizeof(StackId);
  states_.push_back({std::move(stacks), {}});
  ids_.emplace(hash, id);
  return id;
}

// --- ways -----------------------------------------------------------------------------------

StackStates::StateId StackStates::root() {
  opener_.begin();
  // As if a reference to the root had just been read.
  Grammar::Position at = opener_.grammar().root();
  for (;;) {
    opener_.open(opener_.grammar().at(at).ends_alternative()
                     ? StackArena::kEmpty
                     : opener_.arena().push(StackArena::kEmpty, at));
    while (!opener_.grammar().at(at).ends_alternative()) ++at;
    if (opener_.grammar().at(at).kind == Kind::kEnd) return opened_state();
    ++at;
  }
}

StackStates::StateId StackStates::step(StateId from, std::uint32_t code_point) {
  const std::uint32_t class_id = opener_.grammar().class_of(code_point);
  if (class_id >= kClassesRemembered) return compute_step(from, class_id);
  std::vector<StateId>& known = states_[from].next;
  if (known.empty()) {
    const std::size_t classes = std::min(opener_.grammar().classes(), kClassesRemembered);
    known.assign(classes, kUnknown);
    state_bytes_ += classes * sizeof(StateId);
    opener_.spend(classes / 16);
  }
  if (known[class_id] != kUnknown) return known[class_id];
  const StateId to = compute_step(from, class_id);
  if (!over_budget()) states_[from].next[class_id] = to;
  return to;
}

StackStates::StateId StackStates::compute_step(StateId from, std::uint32_t class_id) {
  opener_.begin();
  const std::uint32_t code_point = opener_.grammar().member(class_id);
  for (std::size_t i = 0; i < states_[from].stacks.size() && !over_budget(); ++i) {
    const StackId stack = states_[from].stacks[i];
    opener_.spend(1);
    if (stack == StackArena::kEmpty) continue;
    const Grammar::Position top = opener_.arena().top(stack);
    if (names_token(opener_.grammar().at(top).kind)) continue;
    const Grammar::Position after = opener_.grammar().after_set(top);
    opener_.spend((after - top) / kElementsPerMove);
    if (opener_.grammar().set_holds(top, code_point)) opener_.pass(stack, after);
  }
  return opened_state();
}

StackStates::StateId StackStates::step_by_token(StateId from, Token token) {
  opener_.begin();
  for (std::size_t i = 0; i < states_[from].stacks.size() && !over_budget(); ++i) {
    const StackId stack = states_[from].stacks[i];
    if (stack == StackArena::kEmpty) continue;
    const GrammarElement& element = opener_.grammar().at(opener_.arena().top(stack));
    if (!names_token(element.kind)) continue;
    const bool same = element.value == static_cast<std::uint32_t>(token);
    if (same == (element.kind == Kind::kToken)) opener_.pass(stack, opener_.arena().top(stack) + 1);
  }
  return opened_state();
}

StackStates::StateId StackStates::joined(StateId some, StateId others) {
  if (some == kNowhere || others == kNowhere) return std::max(some, others);
  std::vector<StackId> both;
  std::ranges::set_union(states_[some].stacks, states_[others].stacks, std::back_inserter(both));
  opener_.spend(both.size());
  return find_state(std::move(both));
}

// --- what a state is ------------------------------------------------------------------------

bool StackStates::complete(StateId state) const {
  const auto& stacks = states_[state].stacks;
  return !stacks.empty() && stacks.front() == StackArena::kEmpty;
}

// One character of each class decides for all.
bool StackStates::takes_part(StateId state, Utf8Part part) {
  const auto [first, last] = range_of(part);
  const Grammar& grammar = opener_.grammar();
  for (std::uint32_t id = grammar.class_of(first);
       id < grammar.classes() && grammar.member(id) <= last && !over_budget(); ++id) {
    opener_.spend(1);
    if (step(state, grammar.member(id)) != kNowhere) return true;
  }
  return false;
}

std::vector<GrammarElement> StackStates::token_elements(StateId state) const {
  std::vector<GrammarElement> elements;
  for (const StackId stack : states_[state].stacks) {
    if (stack == StackArena::kEmpty) continue;
    const GrammarElement& element = opener_.grammar().at(opener_.arena().top(stack));
    if (names_token(element.kind)) elements.push_back(element);
  }
  const auto order = [](const GrammarElement& one) { return std::pair(one.kind, one.value); };
  std::ranges::sort(elements, {}, order);
  const auto [unused, end] = std::ranges::unique(elements, {}, order);
  elements.erase(unused, end);
  return elements;
}

StackStates::StateId StackStates::keep_only(StateId state) {
  std::vector<StackId> stacks = std::move(states_[state].stacks);
  opener_.keep_only(stacks);
  std::ranges::sort(stacks);
  states_.clear();
  states_.shrink_to_fit();
  states_.emplace_back();
  ids_ = {};
  state_bytes_ = 0;
  return find_state(std::move(stacks));
}

}  // namespace holdfast::engine
