#include "tree/token_tree.h"

#include <algorithm>

#include "base/check.h"
#include "tree/tree_core.h"
#include "tree/walk.h"

namespace holdfast::tree {

const char* evict_reason_name(EvictReason reason) {
  switch (reason) {
    case EvictReason::kNone: return "none";
    case EvictReason::kBudget: return "budget";
    case EvictReason::kThinned: return "thinned";
    case EvictReason::kDeadWeight: return "dead weight";
    case EvictReason::kCorrupt: return "corrupt";
    case EvictReason::kCleared: return "cleared";
    case EvictReason::kDisproved: return "disproved";
  }
  return "unknown";
}

TokenTree::TokenTree(StateNeeds needs) : core_(std::make_unique<TreeCore>(needs)) {}
TokenTree::~TokenTree() { CHECK(core_->pin_count() == 0); }

Match TokenTree::match(SpaceKey space, TokenSpan tokens) const {
  const StateNeeds needs = core_->needs();
  Match match{.space = space, .length = length_of(tokens), .truncates_anywhere = !needs.snapshot};
  const Node* root = core_->find_root(space);
  if (!root) return match;

  constexpr std::size_t kUsualDistance = 256;  // of places on a long path
  match.stops.reserve(tokens.size() / kUsualDistance);
  if (root->children.size() > 1) match.forks.push_back(0);
  const auto known = walk(root, tokens, [&](const Node& node) {
    const bool restorable = node.reachable && (node.has_snapshot || !needs.snapshot);
    match.stops.push_back({node.id, node.end, node.has_snapshot, restorable, node.marks});
    if (node.children.size() > 1) match.forks.push_back(node.end);
    if (needs.blocks && match.covered == node.begin()) match.covered = node.covered_to;
  });
  const Node& last = *known.node;
  match.matched = known.position;
  if (!match.forks.empty() && match.forks.back() == match.matched) match.forks.pop_back();
  if (!known.at_end() && match.covered == last.begin()) {
    match.covered = std::min(last.covered_to, known.position);
  }
  if (!needs.blocks) match.covered = match.matched;
  if (match.matched == 0) return match;
  match.node = last.id;
  match.leaves_known_path =
      match.matched < match.length && (!known.at_end() || !last.children.empty());
  return match;
}

TokenPos TokenTree::common(const Match& match, TokenSpan prompt, const Filed& filed,
                           TokenSpan other) const {
  CHECK(length_of(prompt) == match.length && filed.length <= length_of(other));
  const TokenPos known = alive(filed.node) ? std::min(filed.length, match.matched) : 0;
  for (const TokenPos fork : match.forks) {
    if (fork >= known) break;
    if (prompt[fork] != other[fork]) return fork;
  }
  return known + common_prefix(prompt.subspan(known), other.subspan(known));
}

bool TokenTree::alive(NodeId node) const { return core_->find(node) != nullptr; }

SnapshotPtr TokenTree::snapshot(NodeId node) const {
  return core_->at(node).state.snapshot.snapshot;
}

std::vector<BlockUse> TokenTree::rows(NodeId node, TokenPos position) const {
  const Node& last = core_->at(node);
  CHECK(position <= last.end);
  std::vector<BlockUse> rows;
  for (const Node* at = &last; at; at = at->parent) {  // deepest first, turned at the end
    const auto& uses = at->state.row.uses();
    for (auto use = uses.rbegin(); use != uses.rend(); ++use) {
      const TokenRange range = intersection(use->range, {0, position});
      if (!range.empty()) rows.push_back({use->block, range});
    }
  }
  std::ranges::reverse(rows);
  return rows;
}

std::vector<TokenRange> TokenTree::gaps(NodeId node, TokenPos position) const {
  std::vector<TokenRange> gaps;
  TokenPos reached = 0;
  for (const BlockUse& use : rows(node, position)) {
    if (use.range.begin > reached) gaps.push_back({reached, use.range.begin});
    reached = use.range.end;
  }
  if (reached < position) gaps.push_back({reached, position});
  return gaps;
}

Tokens TokenTree::tokens(NodeId node) const {
  const Node& last = core_->at(node);
  Tokens all(static_cast<std::size_t>(last.end));
  for (const Node* at = &last; at; at = at->parent) {
    std::ranges::copy(at->tokens, all.begin() + at->begin());
  }
  return all;
}

Tokens TokenTree::continuation(NodeId node, TokenPos position, TokenPos limit) const {
  const Node* at = &core_->at(node);
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

const ByteTotals& TokenTree::bytes(ByteKind kind) const { return core_->ledger().totals(kind); }
ByteTotals TokenTree::bytes() const { return core_->ledger().totals(); }
std::uint64_t TokenTree::token_count() const { return core_->token_count(); }
std::uint64_t TokenTree::ghost_tokens() const { return core_->ghost_tokens(); }
std::size_t TokenTree::node_count() const { return core_->node_count(); }
std::size_t TokenTree::snapshot_count() const { return core_->with_snapshot().size(); }
std::size_t TokenTree::pin_count() const { return core_->pin_count(); }
const StateNeeds& TokenTree::needs() const { return core_->needs(); }

}  // namespace holdfast::tree
