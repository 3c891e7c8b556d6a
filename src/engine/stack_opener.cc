#include "engine/stack_opener.h"

#include <algorithm>
#include <utility>

namespace holdfast::engine {

using Kind = GrammarElement::Kind;

void StackOpener::open(StackId stack) {
  todo_.push_back(stack);
  while (!todo_.empty() && !over_budget()) {
    const StackId next = todo_.back();
    todo_.pop_back();
    ++moves_;
    if (seen_.size() <= next) seen_.resize(arena_.size() + 64, 0);
    if (std::exchange(seen_[next], number_) == number_) continue;
    if (next != StackArena::kEmpty && grammar_->at(arena_.top(next)).kind == Kind::kRule) {
      open_rule(next);
    } else {
      found_.push_back(next);
    }
  }
  todo_.clear();
}

void StackOpener::open_rule(StackId stack) {
  constexpr std::size_t kElementsPerMove = 8;
  const Grammar::Position reference = arena_.top(stack);
  StackId rest = arena_.below(stack);
  if (!grammar_->at(reference + 1).ends_alternative()) rest = arena_.push(rest, reference + 1);
  Grammar::Position at = grammar_->rule(grammar_->at(reference).value);
  for (;;) {
    const Grammar::Position begin = at;
    todo_.push_back(grammar_->at(at).ends_alternative() ? rest : arena_.push(rest, at));
    while (!grammar_->at(at).ends_alternative()) ++at;
    moves_ += 1 + (at - begin) / kElementsPerMove;
    if (grammar_->at(at).kind == Kind::kEnd || over_budget()) return;
    ++at;
  }
}

void StackOpener::pass(StackId stack, Grammar::Position after) {
  const StackId below = arena_.below(stack);
  open(grammar_->at(after).ends_alternative() ? below : arena_.push(below, after));
}

std::vector<StackOpener::StackId> StackOpener::take() {
  std::ranges::sort(found_);
  return std::exchange(found_, {});
}

void StackOpener::keep_only(std::vector<StackId>& stacks) {
  arena_.keep_only(stacks);
  seen_ = {};
}

}  // namespace holdfast::engine
