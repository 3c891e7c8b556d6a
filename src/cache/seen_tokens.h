// SeenTokens: which tokens this cache has seen, for receipts: what a prompt agrees with, and where
// it parts from it.
//
// Memory's own tree knows that where states are filed under tokens. Where prompts are exact they
// are filed under chunk keys (state/chunk_keys.h), so the tokens are remembered here beside it.
//
// Invariants, verified by check():
//   SEEN-1  those of the tree of tokens, where there is one
//
// One owning thread, that of the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cache/cache_core.h"
#include "cache/start_choice.h"
#include "tree/token_tree.h"

namespace holdfast::cache {

class SeenTokens {
 public:
  explicit SeenTokens(CacheCore& core);

  // What of the prompt was seen before. REQUIRES: the choice is the prompt's, of now.
  [[nodiscard]] tree::Match match(const Prompt& prompt, const StartChoice& choice) const;
  // What followed there, at most this many tokens.
  [[nodiscard]] Tokens continuation(const tree::Match& match, TokenPos most) const;
  // The slot's tokens stay known.
  void note(LiveSlot& held);
  // Of all spaces, or of one.
  void clear(const std::optional<SpaceKey>& only);
  // The slot's own part of its path; `end` says which.
  void forget_end(const LiveSlot& held, const PathEnd& end);
  // Remembered beside memory.
  [[nodiscard]] std::uint64_t tokens() const { return tree_ ? tree_->counts().ghost_tokens : 0; }
  [[nodiscard]] std::vector<std::string> check() const;

 private:
  CacheCore& core_;
  std::optional<tree::TokenTree> tree_;
};

}  // namespace holdfast::cache
