// What eviction and receipts ask about one node.
#include <algorithm>
#include <utility>

#include "tree/token_tree.h"
#include "tree/tree_core.h"

namespace holdfast::tree {

namespace {

// The deepest restorable place above the node's edge.
TokenPos restorable_above(const Node& node, const StateNeeds& needs) {
  const Node* at = node.parent;
  if (needs.snapshot) {
    while (!at->is_root() && !(at->has_snapshot && at->reachable)) at = at->parent;
    return at->end;
  }
  if (at->reachable) return at->end;
  while (!at->parent->reachable) at = at->parent;
  return at->covered_to;
}

// The node's part of the rows in [from, node.end): those of an edge belong in equal parts to
// the snapshots at and below it.
TokenPos part_of_rows(const Node& node, TokenPos from) {
  if (node.snapshots == 0) return node.end - from;
  double part = 0;
  for (const Node* at = &node; at->end > from; at = at->parent) {
    const TokenPos begin = std::max(at->parent->end, from);
    part += static_cast<double>(at->end - begin) * node.snapshots / at->snapshots;
  }
  return static_cast<TokenPos>(part);
}

// REQUIRES: there is one snapshot below the node.
const Node& only_below(const Node& node) {
  CHECK(node.snapshots - node.counted_snapshot == 1);
  const Node* at = &node;
  do {
    const Node* next = nullptr;
    for (const auto& child : at->children.all()) {
      if (child.node->snapshots == 1) next = child.node;
    }
    at = next;
  } while (!at->has_snapshot);
  return *at;
}

// Tips below the node that need its rows: above others lies a state of their own. What lies
// below `done` is known.
void add_tips_below(const Node& node, const Node* done, std::size_t most,
                    std::vector<NodeId>& tips) {
  std::vector<const Node*> open;
  const auto open_children = [&](const Node& of) {
    for (const auto& child : of.children.all()) {
      if (child.node != done && child.node->snapshots > 0) open.push_back(child.node);
    }
  };
  for (open_children(node); !open.empty() && tips.size() < most;) {
    const Node& at = *open.back();
    open.pop_back();
    const bool tip = at.snapshots == static_cast<std::uint32_t>(at.counted_snapshot);
    if (tip) tips.push_back(at.id);
    if (!tip && !(at.has_snapshot && at.reachable)) open_children(at);
  }
}

bool is_latest_prompt(const Node& node) {
  if (!node.marks.has(Hint::kPromptEnd)) return false;
  const std::uint32_t below = node.snapshots - node.counted_snapshot;
  return below == 0 || (below == 1 && !only_below(node).marks.has(Hint::kPromptEnd));
}

bool is_left_behind(const Node& node) {
  if (!node.marks.has(Hint::kOffGrid) || node.marks.has(Hint::kPromptEnd)) return false;
  const Node* at = node.parent;
  while (!at->is_root() && !at->marks.has(Hint::kPromptEnd)) at = at->parent;
  return !at->is_root() && at->snapshots - at->counted_snapshot > node.snapshots;
}

Hints hints_of(const Node& node, const StateNeeds& needs) {
  const std::uint32_t deeper =
      needs.snapshot ? node.snapshots - node.counted_snapshot : node.holders - node.counted_holder;
  Hints hints = node.marks;
  if (node.children.size() > 1) hints = hints | Hint::kJunction;
  if (deeper == 0) return hints | Hint::kTip;
  return hints.has(Hint::kJunction) ? hints : hints | Hint::kInterior;
}

// Of the same object at two places only the last one's going frees it.
ByteCount snapshot_bytes(const Node& node) {
  const Charge* charge = node.state.snapshot.charge;
  return charge != nullptr && charge->users == 1 ? charge->bytes : 0;
}

}  // namespace

std::vector<NodeId> TokenTree::tips_sharing(NodeId id, std::size_t most) const {
  std::vector<NodeId> tips;
  const Node* from = nullptr;
  for (const Node* at = &core_->nodes().at(id); !at->is_root();
       from = std::exchange(at, at->parent)) {
    add_tips_below(*at, from, most, tips);
    if (tips.size() == most) break;
  }
  return tips;
}

NodeFacts TokenTree::facts(NodeId id) const {
  const Node& node = core_->nodes().at(id);
  const StateNeeds& needs = core_->states().needs();
  if (node.is_root()) return {.node = id, .space = node.space, .children = node.children.size()};
  const TokenPos restorable = restorable_above(node, needs);
  const TokenPos shared = part_of_rows(node, restorable);
  return {.node = id,
          .parent = node.parent->is_root() ? NodeId{} : node.parent->id,
          .space = node.space,
          .range = node.range(),
          .children = node.children.size(),
          .hints = hints_of(node, needs),
          .pinned = node.pins > 0,
          .ghost = node.is_ghost(),
          .restorable = node.reachable && (node.has_snapshot || !needs.snapshot),
          .last_use = node.last_use,
          .hits = node.hits,
          .has_snapshot = node.has_snapshot,
          .snapshot_last_use = node.state.snapshot.last_use,
          .snapshot_bytes = snapshot_bytes(node),
          .snapshots_below = node.snapshots - node.counted_snapshot,
          .latest_prompt = is_latest_prompt(node),
          .left_behind = is_left_behind(node),
          .row_tokens = node.state.row.token_count(),
          .block_bytes = node.state.row.freed_with_all(),
          .recompute = node.end - restorable,
          .shared = shared,
          .shared_bytes = node.state.row.weight_of(shared),
          .snapshot_note = node.state.snapshot_note,
          .row_note = node.state.row_note};
}

}  // namespace holdfast::tree
