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
TokenTree::~TokenTree() { CHECK(core_->states().pin_count() == 0); }

Match TokenTree::match(SpaceKey space, TokenSpan tokens) const {
  const StateNeeds needs = core_->states().needs();
  Match match{.space = space, .length = length_of(tokens), .truncates_anywhere = !needs.snapshot};
  const Node* root = core_->nodes().find_root(space);
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

bool TokenTree::alive(NodeId node) const { return core_->nodes().find(node) != nullptr; }

SnapshotPtr TokenTree::snapshot(NodeId node) const {
  return core_->nodes().at(node).state.snapshot.snapshot;
}

StoredPath TokenTree::path(NodeId node) const { return StoredPath(core_->nodes().at(node)); }

const ByteTotals& TokenTree::bytes(ByteKind kind) const {
  return core_->states().ledger().totals(kind);
}
ByteTotals TokenTree::bytes() const { return core_->states().ledger().totals(); }

TreeCounts TokenTree::counts() const {
  const TreeStates& states = core_->states();
  return {.tokens = core_->nodes().token_count(),
          .ghost_tokens = states.ghost().tokens(),
          .nodes = core_->nodes().count(),
          .snapshots = states.uses().snapshots().size(),
          .pins = states.pin_count()};
}

const StateNeeds& TokenTree::needs() const { return core_->states().needs(); }

}  // namespace holdfast::tree
