// TokenTree maps token sequences to the states saved along them. It knows
// everything and decides nothing: what to restore, keep or drop is the plan's.
//
//   root(space) --[s s s s s s s s]-- A(8) --[u u u u]-- B(12) --[a a a]-- C(15)
//                  [block )[block )  *snapshot          *snapshot  ghost
//                                     \----[v v]-- D(10)
//                                                  *snapshot
//
// An edge owns its tokens and refers to the blocks that hold their rows. The
// node at the end of an edge may own a snapshot, valid at exactly that place.
// A new prompt that leaves an edge midway splits it. Nothing is moved, copied or
// dropped by that: the block across the split is referred to from both halves.
//
//   before   --[s s s s s s s s]-- N *snapshot     block [0,4)  block [4,8)
//   after    --[s s s s s s]-- U --[s s]-- N *snapshot
//                [0,4) [4,6)        [6,8)          block [4,8) has two users,
//                                                  and is charged once
//
// When bytes go, tokens stay. Edges at and below which nothing is held are the
// *ghost*: 4 bytes a token, under a limit of its own. It sees where a prompt
// leaves a path that was known once, and its notes say why bytes are missing.
//
// Invariants, verified by check():
//   TREE-1  siblings differ in their first token
//   TREE-2  every node but a root holds at least one token, and begins where its parent ends; a
//           root has children
//   TREE-3  pinned + evictable = resident = the distinct objects in use, per kind; an object is
//           pinned iff one of its users is
//   TREE-4  a node's pins are its own and those of its children: the ancestors of a pinned node are
//           pinned
//   TREE-5  the uses of an edge ascend, do not overlap, lie within the edge and within their block;
//           neighbouring uses of one block are one use
//   TREE-6  a snapshot lies at exactly the position where it was taken
//   TREE-7  a node is reachable iff no token on the way to it lacks its row (always, where a state
//           has no rows)
//   TREE-8  subtree sums (holders, snapshots) are those of the node and its children
//   TREE-9  the ghost is every token at and below which there is neither byte nor pin: it has edges
//           of its own, its size is their tokens, and its index lists exactly their leaves
//   TREE-10  the two eviction lists hold exactly the nodes with rows and those with a snapshot,
//            oldest use first
//   TREE-11  a parent was used no earlier than its children, and stands behind them in the list of
//            rows
//   TREE-12  an unpinned node with one child is a place (it has a snapshot, a note of one, or a
//            mark), or it is where a ghost begins
//   TREE-13  a note of an eviction stands only while what it notes is missing
//
// Costs: n tokens, d nodes on the path, r blocks of an edge.
//   match O(n + d) and memory O(d); commit O(n + d + new r) plus the edges split;
//   pin O(d + r of the path); facts O(r of the edge), with a short walk upwards;
//   evict O(d + r); stepping through eviction candidates O(1). A gap that opens
//   or closes above k nodes costs O(k), because it changes what they can do.
//
// One owning thread. No I/O, no clock, no randomness.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "state/extent_block.h"
#include "state/path_end.h"
#include "state/snapshot.h"
#include "tree/conversations.h"
#include "tree/match.h"
#include "tree/node_facts.h"
#include "tree/pin.h"
#include "tree/stored_path.h"
#include "tree/types.h"

namespace holdfast::tree {

class TreeCore;
struct Node;

struct PlacedHints {
  TokenPos position = 0;
  Hints hints;
};

// What a request has computed. All that is committed under one space may stand
// in for each other: states of the same tokens that differ in their last bits
// (decoded ones, or chunked off the grid) belong in spaces apart, or stay out.
struct Commit {
  SpaceKey space;
  // The whole sequence from its start, and what of its state is now to be held.
  TokenSpan tokens;
  std::span<const ExtentBlockPtr> blocks;  // ascending, all rows theirs
  std::span<const SnapshotPtr> snapshots;  // each at its own position
  std::span<const PlacedHints> marks;
  Tick now = 0;
  std::span<const BlockUse> uses;  // as blocks, of which other rows may be others'
};

struct Committed {
  NodeId node;              // its edge holds the last token
  NodeId junction;          // made by this commit: a known path parted here
  TokenPos new_tokens = 0;  // that the tree did not know
  ByteCount new_bytes = 0;  // charged; what was already there is not
};

struct TreeCounts {
  std::uint64_t tokens = 0;
  std::uint64_t ghost_tokens = 0;
  std::size_t nodes = 0;  // roots included
  std::size_t snapshots = 0;
  std::size_t pins = 0;
};

class TokenTree {
 public:
  explicit TokenTree(StateNeeds needs);
  // REQUIRES: no Pin is left.
  ~TokenTree();
  TokenTree(const TokenTree&) = delete;
  TokenTree& operator=(const TokenTree&) = delete;

  // -- look (token_tree.cc) ----------------------------------------------------
  // The longest known prefix of `tokens`. Changes nothing, not even ages.
  [[nodiscard]] Match match(SpaceKey space, TokenSpan tokens) const;
  // The tokens that `other` has in common with the prompt of a match. As far as both
  // lie in the tree they can part only at a fork, so one token behind each fork is
  // compared there; and all where `filed` names no node that is alive.
  // REQUIRES: the tree is as it was for the match, which is of `prompt`; `filed` tells
  // of `other` in the space of the match.
  [[nodiscard]] TokenPos common(const Match& match, TokenSpan prompt, const Filed& filed,
                                TokenSpan other) const;
  // False once the node has been trimmed, or joined to its child.
  [[nodiscard]] bool alive(NodeId node) const;
  // REQUIRES: alive(node), here and below.
  [[nodiscard]] NodeFacts facts(NodeId node) const;
  // Snapshots without others below them that need rows on the way to the node, the
  // nearest first; `most` at most.
  [[nodiscard]] std::vector<NodeId> tips_sharing(NodeId node, std::size_t most) const;
  [[nodiscard]] SnapshotPtr snapshot(NodeId node) const;  // null: none
  // What lies on the way to the node.
  [[nodiscard]] StoredPath path(NodeId node) const;

  // -- commit (token_tree_commit.cc) -------------------------------------------
  // Adds what is not there yet. Places of snapshots and marks become nodes. Rows
  // and snapshots that are already present stay, and newcomers for their places
  // are dropped; so committing twice is the same as once. Whoever adds rows asks
  // path().gaps() first, and copies no more than those.
  // REQUIRES: blocks, uses, snapshots and marks lie within the tokens.
  Committed commit(const Commit& commit);
  void mark(NodeId node, Hints hints);
  // A state was restored at this node (or inside its edge).
  void record_hit(NodeId node, Tick now);

  // -- keep --------------------------------------------------------------------
  // Keeps all rows and snapshots from the root to the node. No node: an empty Pin.
  [[nodiscard]] Pin pin(NodeId node);

  // -- evict (token_tree_evict.cc) ---------------------------------------------
  // Candidates, oldest use first; pinned nodes are passed over. Take the next one
  // before evicting at this one: evicting never makes another candidate vanish.
  [[nodiscard]] NodeId oldest(Held held) const;
  [[nodiscard]] NodeId newer(Held held, NodeId than) const;
  // Bytes freed, or nothing where the node is gone, pinned or has nothing of that
  // kind. With a reason a note stays. A node of which nothing is remembered may
  // be joined to its child, and be gone afterwards.
  std::optional<ByteCount> evict_snapshot(NodeId node, EvictionNote note);
  // The rows of the node's edge from `from` on; 0 means all of them.
  std::optional<ByteCount> evict_rows(NodeId node, TokenPos from, EvictionNote note);
  // Forgets the oldest leaves of the ghost until it has at most `tokens_max`
  // tokens. Returns how many tokens were forgotten.
  std::uint64_t trim_ghost(std::uint64_t tokens_max);
  // Forgets what a conversation has for itself, or all of a space: bytes, tokens and notes. What is
  // pinned stays, with all above it. Returns how much of the path is still known.
  TokenPos forget_end(const PathEnd& end);

  // -- count, all O(1) ---------------------------------------------------------
  [[nodiscard]] const ByteTotals& bytes(ByteKind kind) const;
  [[nodiscard]] ByteTotals bytes() const;
  [[nodiscard]] TreeCounts counts() const;
  [[nodiscard]] const StateNeeds& needs() const;

  // -- tell (token_tree_conversations.cc) ---------------------------------------
  // What conversations hold, and those that were used last. O(nodes with bytes, and their blocks).
  // The sum of what they own and of what they share is bytes().
  // `only`: those of one space; what they share with others is their own then.
  [[nodiscard]] HeldConversations conversations(
      std::size_t most, const std::optional<SpaceKey>& only = std::nullopt) const;

  // Violations of TREE-1..TREE-13, each beginning with its number. O(size); for tests.
  [[nodiscard]] std::vector<std::string> check() const;

 private:
  friend class Pin;
  friend struct TokenTreePeer;  // tests that break an invariant on purpose

  void unpin(NodeId node);

  std::unique_ptr<TreeCore> core_;
};

}  // namespace holdfast::tree
