#include "tree/tree_checker.h"

#include <algorithm>
#include <set>

#include "tree/token_tree.h"

namespace holdfast::tree {

namespace {

// Whether each token of the edge has its row, found token by token.
std::vector<bool> presence(const Node& node) {
  std::vector<bool> present(node.tokens.size(), false);
  for (const BlockRow::Use& use : node.state.row.uses()) {
    const TokenRange range = intersection(use.range, node.range());
    for (TokenPos at = range.begin; at < range.end; ++at) present[at - node.begin()] = true;
  }
  return present;
}

template <typename List>
std::vector<const Node*> in_order(const List& list) {
  std::vector<const Node*> nodes;
  for (const Node* at = list.oldest(); at && nodes.size() <= list.size(); at = List::newer(*at)) {
    nodes.push_back(at);
  }
  return nodes;
}

}  // namespace

std::vector<std::string> TreeChecker::run() {
  collect_nodes();
  const auto rows = in_order(core_.states().uses().rows());
  for (std::size_t i = 0; i < rows.size(); ++i) row_order_[rows[i]] = i;
  for (const Node* node : nodes_) {
    check_children(*node);
    check_uses(*node);
    check_snapshot(*node);
    check_reach(*node);
    check_sums(*node);
    check_order(*node);
    check_places(*node);
    check_notes(*node);
  }
  check_ledger();
  check_pins();
  check_ghost();
  check_lists();
  return std::move(violations_);
}

void TreeChecker::expect(bool holds, const char* invariant, const Node& node, const char* what) {
  if (holds) return;
  violations_.push_back(std::string(invariant) + ": node [" + std::to_string(node.begin()) + ", " +
                        std::to_string(node.end) + "): " + what);
}

void TreeChecker::expect(bool holds, const char* invariant, const char* what) {
  if (!holds) violations_.push_back(std::string(invariant) + ": " + what);
}

void TreeChecker::collect_nodes() {
  std::uint64_t tokens = 0;
  for (const auto& [space, root] : core_.nodes().roots_) {
    expect(root->space == space && root->is_root() && root->end == 0, "TREE-2", *root,
           "not a root");
    nodes_.push_back(root);
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    tokens += nodes_[i]->tokens.size();
    for (const auto& child : nodes_[i]->children.all()) nodes_.push_back(child.node);
  }
  expect(nodes_.size() == core_.nodes().count(), "TREE-2", "nodes outside the tree");
  expect(tokens == core_.nodes().token_count(), "TREE-2", "tokens miscounted");
}

void TreeChecker::check_children(const Node& node) {
  const auto children = node.children.all();
  expect(!node.is_root() || !children.empty(), "TREE-2", node, "a root without children");
  expect(node.is_root() || !node.tokens.empty(), "TREE-2", node, "an edge without tokens");
  for (std::size_t i = 0; i < children.size(); ++i) {
    const Node& child = *children[i].node;
    expect(i == 0 || children[i - 1].first < children[i].first, "TREE-1", child,
           "siblings with one first token, or out of order");
    expect(!child.tokens.empty() && child.tokens.front() == children[i].first, "TREE-1", child,
           "found under another token");
    expect(child.parent == &node && child.begin() == node.end && child.space == node.space,
           "TREE-2", child, "does not begin where its parent ends");
    expect(core_.nodes().find(child.id) == &child, "TREE-2", child, "its id does not find it");
  }
}

void TreeChecker::see(const void* object, ByteCount bytes, ByteKind kind, const Node& user) {
  Seen& seen = seen_[object];
  seen.bytes = bytes;
  seen.kind = kind;
  ++seen.users;
  if (user.pins > 0) ++seen.pinned_users;
}

void TreeChecker::check_ledger() {
  std::array<ByteTotals, kByteKinds> sums{};
  for (const auto& [object, seen] : seen_) {
    const Charge* charge = core_.states().ledger().find(object);
    expect(charge && charge->users == seen.users && charge->pinned_users == seen.pinned_users &&
               charge->bytes == seen.bytes && charge->kind == seen.kind && charge->tallied == 0,
           "TREE-3", "a charge does not say who uses it");
    ByteTotals& sum = sums[static_cast<std::size_t>(seen.kind)];
    sum.resident += seen.bytes;
    if (seen.pinned_users > 0) sum.pinned += seen.bytes;
  }
  expect(core_.states().ledger().object_count() == seen_.size(), "TREE-3",
         "a charge without users");
  for (std::size_t kind = 0; kind < kByteKinds; ++kind) {
    expect(core_.states().ledger().totals(static_cast<ByteKind>(kind)) == sums[kind], "TREE-3",
           "totals differ from the objects in use");
  }
}

void TreeChecker::check_pins() {
  std::uint64_t own = 0;
  for (const Node* node : nodes_) {
    std::uint64_t below = 0;
    for (const auto& child : node->children.all()) below += child.node->pins;
    expect(below <= node->pins, "TREE-4", *node, "less pinned than its children");
    own += node->pins - below;
  }
  expect(own == core_.states().pin_count(), "TREE-4", "pins without an owner");
}

void TreeChecker::check_uses(const Node& node) {
  const BlockRow::Use* last = nullptr;
  for (const BlockRow::Use& use : node.state.row.uses()) {
    see(use.block.get(), use.block->size(), ByteKind::kBlocks, node);
    expect(!use.range.empty() && intersection(use.range, node.range()) == use.range, "TREE-5", node,
           "a use outside the edge");
    expect(intersection(use.range, use.block->range()) == use.range, "TREE-5", node,
           "a use outside its block");
    expect(!last || last->range.end <= use.range.begin, "TREE-5", node, "uses overlap");
    expect(!last || last->block != use.block || last->range.end < use.range.begin, "TREE-5", node,
           "one use in two pieces");
    last = &use;
  }
}

void TreeChecker::check_snapshot(const Node& node) {
  const HeldSnapshot& held = node.state.snapshot;
  expect(node.has_snapshot == static_cast<bool>(held), "TREE-6", node, "flag of the snapshot");
  if (!held) return;
  see(held.snapshot.get(), held.snapshot->size(), ByteKind::kSnapshots, node);
  expect(held.snapshot->position() == node.end, "TREE-6", node, "a snapshot of another position");
}

void TreeChecker::check_reach(const Node& node) {
  const auto present = presence(node);
  const auto first_gap = std::ranges::find(present, false) - present.begin();
  expect(node.covered_to == node.begin() + first_gap, "TREE-7", node, "covered_to");
  bool reachable = true;
  if (core_.states().needs().blocks && !node.is_root()) {
    reachable = node.parent->reachable && first_gap == node.length();
  }
  expect(node.reachable == reachable, "TREE-7", node, "reachable");
}

void TreeChecker::check_sums(const Node& node) {
  std::uint32_t holders = node.state.empty() ? 0 : 1;
  std::uint32_t snapshots = node.state.snapshot ? 1 : 0;
  expect(node.counted_holder == (holders > 0) && node.counted_snapshot == (snapshots > 0), "TREE-8",
         node, "its own share is miscounted");
  for (const auto& child : node.children.all()) {
    holders += child.node->holders;
    snapshots += child.node->snapshots;
  }
  expect(node.holders == holders, "TREE-8", node, "holders");
  expect(node.snapshots == snapshots, "TREE-8", node, "snapshots");
}

void TreeChecker::check_ghost() {
  std::set<const Node*> holding;  // bytes or pins at or below; children come first
  for (auto at = nodes_.rbegin(); at != nodes_.rend(); ++at) {
    const Node& node = **at;
    if (!node.state.empty() || node.pins > 0) holding.insert(&node);
    if (holding.contains(&node)) holding.insert(node.parent);
  }
  std::uint64_t tokens = 0;
  std::size_t leaves = 0;
  for (const Node* node : nodes_) {
    if (node->is_root()) continue;
    const bool ghost = !holding.contains(node);
    const bool leaf = ghost && node->children.empty();
    if (ghost) tokens += node->tokens.size();
    if (leaf) ++leaves;
    const auto& uses = node->state.row.uses();
    const bool needed = node->state.snapshot || node->pins > 0 ||
                        std::ranges::any_of(node->children.all(), [&](const auto& child) {
                          return holding.contains(child.node);
                        });
    expect(ghost || needed || (!uses.empty() && uses.back().range.end == node->end), "TREE-9",
           *node, "tokens that nothing needs behind its rows");
    expect(leaf == core_.states().ghost().leaves_.contains({node->last_use, node->id}), "TREE-9",
           *node, "the index of ghost leaves");
  }
  expect(tokens == core_.states().ghost().tokens(), "TREE-9", "ghost tokens miscounted");
  expect(leaves == core_.states().ghost().leaves_.size(), "TREE-9",
         "the index lists what is not there");
}

void TreeChecker::check_lists() {
  std::size_t with_rows = 0;
  std::size_t with_snapshot = 0;
  for (const Node* node : nodes_) {
    if (!node->state.row.empty()) ++with_rows;
    if (node->state.snapshot) ++with_snapshot;
    expect(row_order_.contains(node) == !node->state.row.empty(), "TREE-10", *node, "list of rows");
    expect(SnapshotLru::holds(*node) == node->has_snapshot, "TREE-10", *node, "list of snapshots");
  }
  const auto rows = in_order(core_.states().uses().rows());
  const auto snapshots = in_order(core_.states().uses().snapshots());
  expect(rows.size() == with_rows && core_.states().uses().rows().size() == with_rows, "TREE-10",
         "the list of rows has another length");
  expect(snapshots.size() == with_snapshot &&
             core_.states().uses().snapshots().size() == with_snapshot,
         "TREE-10", "the list of snapshots has another length");
  expect(std::ranges::is_sorted(rows, {}, &Node::last_use), "TREE-10", "rows out of order");
  expect(std::ranges::is_sorted(snapshots, {},
                                [](const Node* node) { return node->state.snapshot.last_use; }),
         "TREE-10", "snapshots out of order");
}

void TreeChecker::check_order(const Node& node) {
  if (node.is_root()) return;
  expect(node.parent->is_root() || node.parent->last_use >= node.last_use, "TREE-11", node,
         "used after its parent");
  const auto here = row_order_.find(&node);
  const auto above = row_order_.find(node.parent);
  expect(here == row_order_.end() || above == row_order_.end() || here->second < above->second,
         "TREE-11", node, "stands behind its parent");
}

void TreeChecker::check_places(const Node& node) {
  const bool through = !node.is_root() && node.children.size() == 1 && node.pins == 0;
  if (!through || node.is_place()) return;
  const Node& child = *node.children.only();
  expect(child.is_ghost() && !node.is_ghost(), "TREE-12", node,
         "one child, and nothing is remembered here");
}

void TreeChecker::check_notes(const Node& node) {
  expect(!node.state.snapshot || !node.state.snapshot_note, "TREE-13", node,
         "a note beside its snapshot");
  const auto present = presence(node);
  expect(!node.state.row_note || std::ranges::count(present, false) > 0, "TREE-13", node,
         "a note of rows that are all there");
}

}  // namespace holdfast::tree

namespace holdfast::tree {

std::vector<std::string> TokenTree::check() const { return TreeChecker(*core_).run(); }

}  // namespace holdfast::tree
