#include "tree/tree_core.h"

#include <vector>

#include "base/check.h"

namespace holdfast::tree {

Node& TreeCore::at(NodeId id) const {
  Node* node = find(id);
  CHECK(node != nullptr);
  return *node;
}

Node* TreeCore::find_root(SpaceKey space) const {
  const auto it = roots_.find(space);
  return it == roots_.end() ? nullptr : it->second;
}

std::vector<const Node*> TreeCore::roots() const {
  std::vector<const Node*> roots;
  for (const auto& [space, root] : roots_) roots.push_back(root);
  return roots;
}

Node& TreeCore::make_root(SpaceKey space) {
  Node*& root = roots_[space];
  if (!root) {
    root = &pool_.make();
    root->space = space;
  }
  return *root;
}

Node* TreeCore::oldest_ghost_leaf() const {
  return ghost_leaves_.empty() ? nullptr : find(ghost_leaves_.begin()->second);
}

void TreeCore::attach(Node& node, SnapshotPtr snapshot, Tick now) {
  CHECK(!node.state.snapshot && snapshot->position() == node.end && !node.is_root());
  const Hold hold = node.hold();
  Charge* const charge =
      ledger_.add_user(snapshot.get(), snapshot->size(), ByteKind::kSnapshots, hold);
  node.state.snapshot = {.snapshot = std::move(snapshot), .charge = charge, .last_use = now};
  node.state.snapshot_note = {};
  with_snapshot_.push_newest(node);
  settle(node);
}

void TreeCore::detach(Node& node) {
  CHECK(node.pins == 0 && node.state.snapshot);
  ledger_.remove_user(*node.state.snapshot.charge, Hold::kEvictable);
  node.state.snapshot = {};
  with_snapshot_.remove(node);
  settle(node);
}

void TreeCore::drop_rows(Node& node, TokenPos from) {
  CHECK(node.pins == 0);
  node.state.row.drop_from(from, ledger_);
  settle(node);
}

void TreeCore::fill(Node& node, const ExtentBlockPtr& block, TokenRange rows) {
  const TokenRange here = intersection(node.range(), rows);
  if (!here.empty()) node.state.row.fill(here, block, ledger_, node.hold());
}

void TreeCore::settle(Node& node) {
  PartState& state = node.state;
  node.has_snapshot = static_cast<bool>(state.snapshot);
  node.covered_to = state.row.covered_to(node.begin(), node.end);
  if (node.covered()) state.row_note = {};
  if (state.row.empty() && BlockLru::holds(node)) with_rows_.remove(node);
  if (!state.row.empty() && !BlockLru::holds(node)) with_rows_.push_newest(node);

  const bool holder = !state.empty();
  add_to_sums(node, holder - node.counted_holder, node.has_snapshot - node.counted_snapshot);
  node.counted_holder = holder;
  node.counted_snapshot = node.has_snapshot;
  spread_reachable(node);
  refresh_ghost(node);
}

void TreeCore::add_to_sums(Node& node, int holders, int snapshots) {
  if (holders == 0 && snapshots == 0) return;
  for (Node* at = &node; at; at = at->parent) {
    at->holders += static_cast<std::uint32_t>(holders);
    at->snapshots += static_cast<std::uint32_t>(snapshots);
    refresh_ghost(*at);
  }
}

void TreeCore::spread_reachable(Node& node) {
  std::vector<Node*> changed{&node};
  while (!changed.empty()) {
    Node& at = *changed.back();
    changed.pop_back();
    const bool reachable =
        at.is_root() || (at.parent->reachable && (at.covered() || !needs_.blocks));
    if (reachable == at.reachable) continue;
    at.reachable = reachable;
    for (const ChildList::Entry& child : at.children.all()) changed.push_back(child.node);
  }
}

void TreeCore::refresh_ghost(Node& node) {
  const bool ghost = node.is_ghost();
  const TokenPos tokens = ghost ? node.length() : 0;
  ghost_tokens_ += static_cast<std::uint64_t>(tokens - node.counted_ghost);
  node.counted_ghost = tokens;

  const std::optional<Tick> key =
      ghost && node.children.empty() ? std::optional(node.last_use) : std::nullopt;
  if (key == node.ghost_leaf_key) return;
  if (node.ghost_leaf_key) ghost_leaves_.erase({*node.ghost_leaf_key, node.id});
  if (key) ghost_leaves_.insert({*key, node.id});
  node.ghost_leaf_key = key;
}

void TreeCore::touch_path(Node& node, Tick now) {
  for (Node* at = &node; at; at = at->parent) {
    at->last_use = now;
    if (BlockLru::holds(*at)) with_rows_.move_to_newest(*at);
    refresh_ghost(*at);
  }
}

void TreeCore::touch_snapshot(Node& node, Tick now) {
  if (!node.state.snapshot) return;
  node.state.snapshot.last_use = now;
  with_snapshot_.move_to_newest(node);
}

void TreeCore::pin_path(Node& node) {
  ++pin_count_;
  for (Node* at = &node; at; at = at->parent) {
    if (at->pins++ > 0) continue;
    at->state.row.pin(ledger_);
    if (at->state.snapshot) ledger_.pin_user(*at->state.snapshot.charge);
    refresh_ghost(*at);
  }
}

void TreeCore::unpin_path(Node& node) {
  CHECK(pin_count_ > 0);
  --pin_count_;
  for (Node* at = &node; at; at = at->parent) {
    CHECK(at->pins > 0);
    if (--at->pins > 0) continue;
    at->state.row.unpin(ledger_);
    if (at->state.snapshot) ledger_.unpin_user(*at->state.snapshot.charge);
    refresh_ghost(*at);
  }
  tidy(node);
}

}  // namespace holdfast::tree
