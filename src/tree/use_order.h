// UseOrder: the nodes that hold something, oldest use first.
//
//   nodes with rows        intrusive lists by last use: a request re-stamps its whole
//   nodes with a snapshot  path, so moving must cost a few pointer writes
//
// In the list of rows children come before their parents, so that the oldest rows are always
// outermost.
//
// Keeps TREE-10 and TREE-11 (token_tree.h), verified by TokenTree::check().
#pragma once

#include "tree/node.h"

namespace holdfast::tree {

class UseOrder {
 public:
  [[nodiscard]] const BlockLru& rows() const { return rows_; }
  [[nodiscard]] const SnapshotLru& snapshots() const { return snapshots_; }

  // The latest tick seen; `now` if it is later.
  Tick advance(Tick now) { return latest_ = now > latest_ ? now : latest_; }
  // Stamps one node of a path. To be called from the deepest one upwards.
  void touch(Node& node, Tick now) {
    node.last_use = now;
    if (BlockLru::holds(node)) rows_.move_to_newest(node);
  }
  void touch_snapshot(Node& node, Tick now) {
    if (!node.state.snapshot) return;
    node.state.snapshot.last_use = now;
    snapshots_.move_to_newest(node);
  }

  // Its rows came or went, or did not change.
  void refresh_rows(Node& node) {
    const bool empty = node.state.row.empty();
    if (empty && BlockLru::holds(node)) rows_.remove(node);
    if (!empty && !BlockLru::holds(node)) rows_.push_newest(node);
  }
  void add_snapshot(Node& node) { snapshots_.push_newest(node); }
  void remove_snapshot(Node& node) { snapshots_.remove(node); }
  // `upper` was split from `node`, and was used when that was.
  void add_above(Node& upper, Node& node) {
    upper.last_use = node.last_use;
    if (!upper.state.row.empty()) rows_.insert_after(upper, node);
  }
  // `child` will be joined to its parent, and was then used when that was.
  void succeed(Node& parent, Node& child);
  // The node will be destroyed.
  void forget(Node& node) {
    if (BlockLru::holds(node)) rows_.remove(node);
    if (SnapshotLru::holds(node)) snapshots_.remove(node);
  }

 private:
  friend struct TreeBreaker;  // tests that break an invariant on purpose

  BlockLru rows_;
  SnapshotLru snapshots_;
  Tick latest_ = 0;
};

}  // namespace holdfast::tree
