#include "cache/seen_tokens.h"

namespace holdfast::cache {

SeenTokens::SeenTokens(CacheCore& core) : core_(core) {
  if (core_.options.has_exact_prompts()) tree_.emplace(tree::StateNeeds::of(core_.engine.shape()));
}

tree::Match SeenTokens::match(const Prompt& prompt, const StartChoice& choice) const {
  return tree_ ? tree_->match(prompt.space, prompt.tokens) : choice.match;
}

Tokens SeenTokens::continuation(const tree::Match& match, TokenPos most) const {
  const tree::TokenTree& tree = tree_ ? *tree_ : core_.memory.tree();
  return tree.path(match.node).continuation(match.matched, most);
}

void SeenTokens::note(LiveSlot& held) {
  held.filed = core_.memory.remember(held.space, core_.slots.keys(held), core_.now);
  if (!tree_ || held.tokens.empty()) return;
  tree_->commit({.space = held.space, .tokens = held.tokens, .now = core_.now});
  forget_beyond_limits(*tree_, core_.options.memory);
}

void SeenTokens::clear(const std::optional<SpaceKey>& only) {
  if (!tree_) return;
  if (only) {
    (void)tree_->forget_end({.space = *only});
  } else {
    tree_->trim_ghost(0);
  }
}

void SeenTokens::forget_end(const LiveSlot& held, const PathEnd& end) {
  if (tree_) (void)tree_->forget_end({end.space, held.tokens, end.own, end.keep});
}

std::vector<std::string> SeenTokens::check() const {
  return tree_ ? tree_->check() : std::vector<std::string>{};
}

}  // namespace holdfast::cache
