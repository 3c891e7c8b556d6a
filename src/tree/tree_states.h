// TreeStates: what the nodes of a tree hold, and every sum over it.
//
// Each operation ends by settling the nodes it touched: settle() compares what a node holds with
// what has been counted for it, and accounts for the difference in sums, lists (UseOrder) and the
// ghost (GhostIndex). It may be called at any time, and twice.
//
// Keeps TREE-3 to TREE-8 and TREE-13 (token_tree.h), verified by TokenTree::check().
#pragma once

#include "tree/ghost_index.h"
#include "tree/ledger.h"
#include "tree/node.h"
#include "tree/use_order.h"

namespace holdfast::tree {

class TreeStates {
 public:
  explicit TreeStates(StateNeeds needs) : needs_(needs) {}

  void attach(Node& node, SnapshotPtr snapshot, Tick now);
  // REQUIRES: not pinned, here and below.
  void detach(Node& node);
  void drop_rows(Node& node, TokenPos from);
  // Uses these rows of a block wherever they meet a gap of the edge. The caller settles.
  void fill(Node& node, const ExtentBlockPtr& block, TokenRange rows);
  void settle(Node& node);

  // `upper` was split from `node`, and gets the rows of its edge.
  void split(Node& upper, Node& node);
  // `upper` will be joined to its child, which gets what it held. The caller settles the child.
  void join(Node& upper, Node& child);
  // Takes a node that will be destroyed out of sums, lists and ghost.
  void forget(Node& node);

  // Stamps `node` and its ancestors.
  void touch_path(Node& node, Tick now);
  void pin_path(Node& node);
  void unpin_path(Node& node);

  [[nodiscard]] const StateNeeds& needs() const { return needs_; }
  [[nodiscard]] const ByteLedger& ledger() const { return ledger_; }
  [[nodiscard]] UseOrder& uses() { return uses_; }
  [[nodiscard]] const UseOrder& uses() const { return uses_; }
  [[nodiscard]] GhostIndex& ghost() { return ghost_; }
  [[nodiscard]] const GhostIndex& ghost() const { return ghost_; }
  [[nodiscard]] std::size_t pin_count() const { return pin_count_; }

 private:
  friend struct TreeBreaker;  // tests that break an invariant on purpose

  void add_to_sums(Node& node, int holders, int snapshots);
  void spread_reachable(Node& node);

  StateNeeds needs_;
  ByteLedger ledger_;
  UseOrder uses_;
  GhostIndex ghost_;
  std::size_t pin_count_ = 0;
};

}  // namespace holdfast::tree
