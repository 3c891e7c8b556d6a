// SlotCopier: states on their way between a slot of the engine and the objects that hold them.
//
//   slot --copy-->     rows split into blocks, a snapshot, the companion's part of both
//   slot <--restore--  the same, verified by whoever takes them in
//
// The bytes of a copy may still be on their way when copy() returns (state/arriving_bytes.h).
//
// It holds no state. A companion's rows and what it has at one place go with the primary's, as far
// as it has them; the companion verifies its own, and does without what it refuses.
//
// Invariants, verified by slot_copier_test.cc:
//   COPIER-1  what is copied of a slot and restored makes another slot what that one was
//   COPIER-2  what a companion answers with beyond its shape is not kept
//
// One owning thread, that of the engine.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/companion.h"
#include "engine/engine.h"
#include "state/extent_block.h"
#include "state/snapshot.h"
#include "tree/types.h"

namespace holdfast::cache {

// The parts of a state, held by whoever has this.
struct HeldParts {
  std::vector<BlockUse> rows;  // in order and without gaps
  SnapshotPtr snapshot;
};

// What is held of a companion's state, and the holders that keep it alive.
struct CompanionHolding {
  std::vector<engine::RowsView> rows;
  CheckedView place;
  std::vector<BlockUse> blocks;
  SnapshotPtr snapshot;
};

// What is wanted of a slot's state after `length` tokens.
struct CopyOrder {
  SlotId slot;
  TokenPos length = 0;
  std::vector<TokenRange> rows;
  bool snapshot = false;
  SnapshotPtr taken;  // the snapshot, if it was taken before; the slot may be beyond it then
};

struct CopiedState {
  std::vector<ExtentBlockPtr> rows;
  std::vector<SnapshotPtr> snapshots;  // one at most
  ByteCount bytes = 0;
};

// Brings a slot to `tokens` with these parts. Returns the bytes moved; on an Error the slot is
// empty.
[[nodiscard]] Result<ByteCount> restore_parts(engine::Engine& engine, SlotId slot, TokenSpan tokens,
                                              const HeldParts& parts);

class SlotCopier {
 public:
  // `companion` may be null.
  SlotCopier(engine::Engine& engine, engine::Companion* companion);

  // Bytes of one token's rows, the companion's included.
  [[nodiscard]] ByteCount bytes_per_token() const { return row_bytes_ + companion_row_bytes(); }
  // Bytes of one snapshot at a position, as far as is known before taking it.
  [[nodiscard]] ByteCount snapshot_bytes(TokenPos position) const;
  // Bytes of the whole state of this many tokens.
  [[nodiscard]] ByteCount state_bytes(TokenPos tokens) const {
    return static_cast<ByteCount>(tokens) * bytes_per_token() + snapshot_bytes(tokens);
  }
  [[nodiscard]] TokenPos slot_length(SlotId slot) const { return engine_.length(slot); }

  // Nothing: the engine failed, or there is no memory for it.
  // REQUIRES: the slot holds at least `length` tokens; where a snapshot is wanted and none was
  // taken, exactly them.
  [[nodiscard]] std::optional<CopiedState> copy(const CopyOrder& order);
  // A snapshot of the slot as it stands after `length` tokens. Null: it cannot be had.
  [[nodiscard]] SnapshotPtr take_snapshot(SlotId slot, TokenPos length);

  // Brings `slot` to `tokens`. Returns the bytes moved; on an Error the slot is empty.
  [[nodiscard]] Result<ByteCount> restore(SlotId slot, TokenSpan tokens, const HeldParts& parts) {
    return restore_parts(engine_, slot, tokens, parts);
  }
  // Brings the slot's parts that cannot be truncated to the snapshot; its rows stay. On an Error as
  // above.
  [[nodiscard]] Result<ByteCount> load_snapshot(SlotId slot, const Snapshot& snapshot);

  // What of the companion's state goes with such parts.
  [[nodiscard]] CompanionHolding companion_parts(const HeldParts& parts) const;
  // Whether there is a companion that keeps anything, and rows.
  [[nodiscard]] bool has_companion() const;
  [[nodiscard]] bool has_companion_rows() const { return companion_row_bytes() > 0; }
  // The companion has a part of such states and these lack it.
  [[nodiscard]] bool lacks_companion(const ExtentBlock& block) const;
  [[nodiscard]] bool lacks_companion(const Snapshot& snapshot) const;

 private:
  [[nodiscard]] SnapshotPtr made_of(ArrivingBytesPtr state, TokenPos position,
                                    CheckedBytes companion);
  [[nodiscard]] engine::CompanionSaved copy_companion(const CopyOrder& order,
                                                      const std::vector<TokenRange>& blocks) const;
  [[nodiscard]] ByteCount companion_row_bytes() const;

  engine::Engine& engine_;
  engine::Companion* const companion_;
  const tree::StateNeeds needs_;
  const ByteCount row_bytes_;
  const engine::CompanionShape companion_shape_;
  ByteCount snapshot_bytes_seen_ = 0;
};

}  // namespace holdfast::cache
