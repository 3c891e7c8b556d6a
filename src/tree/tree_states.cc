#include "tree/tree_states.h"

#include <utility>
#include <vector>

#include "base/check.h"

namespace holdfast::tree {

namespace {

EvictionNote later_of(const EvictionNote& a, const EvictionNote& b) {
  if (!a || !b) return a ? a : b;
  return a.when > b.when ? a : b;
}

}  // namespace

// --- what a node holds ------------------------------------------------------------------

void TreeStates::attach(Node& node, SnapshotPtr snapshot, Tick now) {
  CHECK(!node.state.snapshot && snapshot->position() == node.end && !node.is_root());
  const Hold hold = node.hold();
  Charge* const charge =
      ledger_.add_user(snapshot.get(), snapshot->size(), ByteKind::kSnapshots, hold);
  node.state.snapshot = {.snapshot = std::move(snapshot), .charge = charge, .last_use = now};
  node.state.snapshot_note = {};
  uses_.add_snapshot(node);
  settle(node);
}

void TreeStates::detach(Node& node) {
  CHECK(node.pins == 0 && node.state.snapshot);
  ledger_.remove_user(*node.state.snapshot.charge, Hold::kEvictable);
  node.state.snapshot = {};
  uses_.remove_snapshot(node);
  settle(node);
}

void TreeStates::drop_rows(Node& node, TokenPos from) {
  CHECK(node.pins == 0);
  node.state.row.drop_from(from, ledger_);
  settle(node);
}

void TreeStates::fill(Node& node, const ExtentBlockPtr& block, TokenRange rows) {
  const TokenRange here = intersection(node.range(), rows);
  if (!here.empty()) node.state.row.fill(here, block, ledger_, node.hold());
}

void TreeStates::split(Node& upper, Node& node) {
  upper.state.row = node.state.row.take_head(upper.end, ledger_, node.hold());
  upper.state.row_note = node.state.row_note;
  upper.pins = node.pins;
  upper.holders = node.holders;
  upper.snapshots = node.snapshots;
  uses_.add_above(upper, node);
  settle(upper);
  settle(node);
}

void TreeStates::join(Node& upper, Node& child) {
  uses_.succeed(upper, child);
  BlockRow row = std::move(upper.state.row);
  row.append(std::move(child.state.row), ledger_, Hold::kEvictable);
  child.state.row = std::move(row);
  child.state.row_note = later_of(upper.state.row_note, child.state.row_note);
  child.hits += upper.hits;
}

// --- sums -------------------------------------------------------------------------------

void TreeStates::settle(Node& node) {
  PartState& state = node.state;
  node.has_snapshot = static_cast<bool>(state.snapshot);
  node.covered_to = state.row.covered_to(node.begin(), node.end);
  if (node.covered()) state.row_note = {};
  uses_.refresh_rows(node);

  const bool holder = !state.empty();
  add_to_sums(node, holder - node.counted_holder, node.has_snapshot - node.counted_snapshot);
  node.counted_holder = holder;
  node.counted_snapshot = node.has_snapshot;
  spread_reachable(node);
  ghost_.refresh(node);
}

void TreeStates::add_to_sums(Node& node, int holders, int snapshots) {
  if (holders == 0 && snapshots == 0) return;
  for (Node* at = &node; at; at = at->parent) {
    at->holders += static_cast<std::uint32_t>(holders);
    at->snapshots += static_cast<std::uint32_t>(snapshots);
    ghost_.refresh(*at);
  }
}

void TreeStates::spread_reachable(Node& node) {
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

void TreeStates::forget(Node& node) {
  add_to_sums(node, -node.counted_holder, -node.counted_snapshot);
  uses_.forget(node);
  ghost_.forget(node);
}

// --- use --------------------------------------------------------------------------------

void TreeStates::touch_path(Node& node, Tick now) {
  for (Node* at = &node; at; at = at->parent) {
    uses_.touch(*at, now);
    ghost_.refresh(*at);
  }
}

void TreeStates::pin_path(Node& node) {
  ++pin_count_;
  for (Node* at = &node; at; at = at->parent) {
    if (at->pins++ > 0) continue;
    at->state.row.pin(ledger_);
    if (at->state.snapshot) ledger_.pin_user(*at->state.snapshot.charge);
    ghost_.refresh(*at);
  }
}

void TreeStates::unpin_path(Node& node) {
  CHECK(pin_count_ > 0);
  --pin_count_;
  for (Node* at = &node; at; at = at->parent) {
    CHECK(at->pins > 0);
    if (--at->pins > 0) continue;
    at->state.row.unpin(ledger_);
    if (at->state.snapshot) ledger_.unpin_user(*at->state.snapshot.charge);
    ghost_.refresh(*at);
  }
}

}  // namespace holdfast::tree
