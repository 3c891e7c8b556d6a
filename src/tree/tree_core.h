// TreeCore: the nodes of a TokenTree and every sum, list and index over them.
//
// TokenTree's operations are made of the few here. Each ends by settling the
// nodes it touched: settle() compares what a node holds with what has been
// counted for it, and accounts for the difference. An operation of TokenTree
// ends with tidy(), which gives the edges their normal form. Both may be called
// at any time, and twice.
//
// Indexes, and why each is what it is:
//   nodes with rows        intrusive list by last use: a request re-stamps its
//   nodes with a snapshot  whole path, so moving must cost a few pointer writes
//   leaves of the ghost    ordered set: a node joins when its bytes go, with a
//                          stamp that is already old; only a search finds its place
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tree/ledger.h"
#include "tree/node.h"
#include "tree/node_pool.h"

namespace holdfast::tree {

class TreeCore {
 public:
  explicit TreeCore(StateNeeds needs) : needs_(needs) {}
  TreeCore(const TreeCore&) = delete;
  TreeCore& operator=(const TreeCore&) = delete;

  [[nodiscard]] Node* find(NodeId id) const { return pool_.find(id); }
  // REQUIRES: the node is there.
  [[nodiscard]] Node& at(NodeId id) const;
  [[nodiscard]] Node* find_root(SpaceKey space) const;
  [[nodiscard]] Node& make_root(SpaceKey space);
  [[nodiscard]] std::vector<const Node*> roots() const;

  // -- shape (tree_shape.cc) ---------------------------------------------------
  // A new leaf below `parent`. REQUIRES: no sibling begins with the same token.
  Node& grow(Node& parent, TokenSpan edge);
  // Cuts the edge of `node` at `position` and returns the new node there.
  // `node` keeps its id, its snapshot and its children.
  Node& split(Node& node, TokenPos position);
  // Makes TREE-9 and TREE-12 true again around a node whose bytes, pins, marks or children
  // have changed: parts the ghost from edges that still hold rows, and joins the
  // nodes of the path that are no places any more. Returns what `node` became.
  Node& tidy(Node& node);
  // REQUIRES: no children, no bytes, no pins. Tidies.
  void remove_leaf(Node& leaf);

  // -- bytes (tree_core.cc) ----------------------------------------------------
  void attach(Node& node, SnapshotPtr snapshot, Tick now);
  // REQUIRES: not pinned, here and below.
  void detach(Node& node);
  void drop_rows(Node& node, TokenPos from);
  // Uses these rows of a block wherever they meet a gap of the edge. The caller settles.
  void fill(Node& node, const ExtentBlockPtr& block, TokenRange rows);
  void settle(Node& node);

  // -- use ---------------------------------------------------------------------
  // The latest tick seen; `now` if it is later.
  Tick advance(Tick now) { return latest_ = now > latest_ ? now : latest_; }
  // Stamps `node` and its ancestors. Children come before their parents in the
  // list of rows, so that the oldest rows are always outermost.
  void touch_path(Node& node, Tick now);
  void touch_snapshot(Node& node, Tick now);
  void pin_path(Node& node);
  void unpin_path(Node& node);

  [[nodiscard]] const StateNeeds& needs() const { return needs_; }
  [[nodiscard]] const ByteLedger& ledger() const { return ledger_; }
  [[nodiscard]] const BlockLru& with_rows() const { return with_rows_; }
  [[nodiscard]] const SnapshotLru& with_snapshot() const { return with_snapshot_; }
  [[nodiscard]] std::size_t node_count() const { return pool_.size(); }
  [[nodiscard]] std::uint64_t token_count() const { return token_count_; }
  [[nodiscard]] std::uint64_t ghost_tokens() const { return ghost_tokens_; }
  [[nodiscard]] std::size_t pin_count() const { return pin_count_; }
  [[nodiscard]] Node* oldest_ghost_leaf() const;

 private:
  friend class TreeChecker;
  friend struct TreeBreaker;  // tests that break an invariant on purpose

  void add_to_sums(Node& node, int holders, int snapshots);
  void spread_reachable(Node& node);
  void refresh_ghost(Node& node);
  // Takes a node that will be destroyed out of sums, lists and ghost.
  void uncount(Node& node);
  void part_ghost(Node& node);
  // Joins `node` to its only child if nothing keeps them apart. Returns the child
  // then, and `node` otherwise.
  Node& join(Node& node);
  void take_place_of(Node& parent, Node& child);

  StateNeeds needs_;
  StretchPool stretches_;  // before the nodes that use it
  NodePool pool_;
  std::map<SpaceKey, Node*> roots_;
  ByteLedger ledger_;
  BlockLru with_rows_;
  SnapshotLru with_snapshot_;
  std::set<std::pair<Tick, NodeId>> ghost_leaves_;
  std::uint64_t ghost_tokens_ = 0;
  std::uint64_t token_count_ = 0;
  std::size_t pin_count_ = 0;
  Tick latest_ = 0;
};

}  // namespace holdfast::tree
