#include "tree/stored_path.h"

#include <algorithm>

#include "base/check.h"
#include "tree/node.h"

namespace holdfast::tree {

std::vector<BlockUse> StoredPath::rows(TokenPos position) const {
  CHECK(position <= last_->end);
  std::vector<BlockUse> rows;
  for (const Node* at = last_; at; at = at->parent) {  // deepest first, reversed at the end
    const auto& uses = at->state.row.uses();
    for (auto use = uses.rbegin(); use != uses.rend(); ++use) {
      const TokenRange range = intersection(use->range, {0, position});
      if (!range.empty()) rows.push_back({use->block, range});
    }
  }
  std::ranges::reverse(rows);
  return rows;
}

std::vector<TokenRange> StoredPath::gaps(TokenPos position) const {
  std::vector<TokenRange> gaps;
  TokenPos reached = 0;
  for (const BlockUse& use : rows(position)) {
    if (use.range.begin > reached) gaps.push_back({reached, use.range.begin});
    reached = use.range.end;
  }
  if (reached < position) gaps.push_back({reached, position});
  return gaps;
}

Tokens StoredPath::tokens() const {
  Tokens all(static_cast<std::size_t>(last_->end));
  for (const Node* at = last_; at; at = at->parent) {
    std::ranges::copy(at->tokens, all.begin() + at->begin());
  }
  return all;
}

Tokens StoredPath::continuation(TokenPos position, TokenPos limit) const {
  const Node* at = last_;
  CHECK(at->begin() <= position && position <= at->end);
  Tokens after(at->tokens.begin() + (position - at->begin()), at->tokens.end());
  while (length_of(after) < limit && !at->children.empty()) {
    at = std::ranges::max(at->children.all(), {}, [](const ChildList::Entry& child) {
           return child.node->last_use;
         }).node;
    after.insert(after.end(), at->tokens.begin(), at->tokens.end());
  }
  after.resize(static_cast<std::size_t>(std::min(limit, length_of(after))));
  return after;
}

}  // namespace holdfast::tree
