// BlockRow: which rows of which blocks hold the state of one edge's tokens.
//
//   edge     [100 ........................ 200)
//   uses     [100,128)    [128,192)   -  [196,200)     a gap at [192, 196)
//   blocks   [64,  128)   [128,192)      [196,256)
//
// A use names the rows that belong to this edge's tokens. The other rows of its
// block belong to the edge above, to the one below, or - when two edges were
// joined after a fork died - to tokens that are no longer here. That is why the
// range is part of the use and never derived from the block.
//
// Invariants, TREE-5 of token_tree.h:
//   uses ascend and do not overlap; each lies within its block; neighbouring
//   uses of one block are one use
//
// Every change is told to the ledger. The caller says whether the edge is
// pinned now; the row does not know.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "state/extent_block.h"
#include "tree/ledger.h"

namespace holdfast::tree {

class BlockRow {
 public:
  struct Use {
    ExtentBlockPtr block;
    Charge* charge = nullptr;
    TokenRange range;
  };

  [[nodiscard]] bool empty() const { return uses_.empty(); }
  [[nodiscard]] const std::vector<Use>& uses() const { return uses_; }

  // The first place at or after `begin` without a row, at most `limit`.
  [[nodiscard]] TokenPos covered_to(TokenPos begin, TokenPos limit) const;
  // Tokens that have their row.
  [[nodiscard]] TokenPos token_count() const { return sums().tokens; }
  // What this many tokens weigh, if each weighs as one in the last block does.
  [[nodiscard]] ByteCount weight_of(TokenPos tokens) const;
  // What would be freed if all of them went. Blocks in the middle have no user but this
  // edge, so both are counted again only after a change of this row.
  [[nodiscard]] ByteCount freed_with_all() const;

  // Uses `block` where nothing is present yet within `range`; what is there stays.
  void fill(TokenRange range, const ExtentBlockPtr& block, ByteLedger& ledger, Hold hold);
  // Takes out the uses below `position`. A block across it serves both sides.
  [[nodiscard]] BlockRow take_head(TokenPos position, ByteLedger& ledger, Hold hold);
  // Puts the uses of `tail`, which lies behind, to the end.
  void append(BlockRow tail, ByteLedger& ledger, Hold hold);
  // Drops the rows from `position` on. REQUIRES: the edge is not pinned.
  void drop_from(TokenPos position, ByteLedger& ledger);

  void pin(ByteLedger& ledger) const;
  void unpin(ByteLedger& ledger) const;

 private:
  // Joins the uses at index-1 and index if they are neighbours in one block.
  void join_at(std::size_t index, ByteLedger& ledger, Hold hold);

  struct Sums {
    bool known = false;
    TokenPos tokens = 0;
    ByteCount inner = 0;  // freed with the uses between the first and the last piece
  };
  [[nodiscard]] const Sums& sums() const;
  // The uses [begin, end) of the pieces of kBlockTokens in the middle.
  [[nodiscard]] std::pair<std::size_t, std::size_t> inner_uses() const;
  void changed() { sums_.known = false; }

  std::vector<Use> uses_;
  mutable Sums sums_;
};

}  // namespace holdfast::tree
