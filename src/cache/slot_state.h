// SlotState: all that a slot holds, outside of it.
//
//   slot --SlotTransfer::copy_out--> SlotState --write_slot_file--> a file
//   slot <--SlotTransfer::bring_in-- SlotState <--read_slot_file---'
//
// Rows that memory holds as well are shared with it. Value semantics; any thread may read.
#pragma once

#include <vector>

#include "state/extent_block.h"
#include "state/snapshot.h"
#include "state/tokens.h"
#include "tree/types.h"

namespace holdfast::cache {

struct SlotState {
  SpaceKey space;
  Tokens tokens;
  Tokens keys;         // where prompts are exact: what the tokens are filed under; else none
  TokenPos exact = 0;  // how many of the first tokens have the bits of a cold run
  // Cover the tokens in order and without gaps; none for models without extents.
  std::vector<BlockUse> rows;
  SnapshotPtr snapshot;  // at their end; null where every part is an extent

  [[nodiscard]] TokenPos length() const { return length_of(tokens); }
  [[nodiscard]] TokenSpan filed_under() const { return keys.empty() ? tokens : keys; }
};

}  // namespace holdfast::cache
