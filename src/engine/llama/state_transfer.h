// StateTransfer: moves the states of slots out of the library and back into it.
//
// A whole state or a snapshot travels as the library writes it; extent rows travel block by block,
// along a map of where they lie (llama_rows.h). It knows what the library's bytes look like and
// nothing of tokens: callers say how many a slot holds, clear a slot where a transfer failed, and
// verify its length where one succeeded (llama_engine.h, LLAMA-6).
//
// Invariants, tested by llama_engine_test.cc:
//   TRANSFER-1  bytes reach the library only if their checksum is their maker's and they begin as
//               the library's own do (EveryArchitecture.BadStatesAreRefusedAndLeaveAnEmptySlot)
//   TRANSFER-2  saving changes nothing in the library: the test above goes on from a slot that was
//               saved, and compares bits
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/llama/llama_copies.h"
#include "engine/llama/llama_rows.h"

namespace holdfast::llama {

class StateTransfer {
 public:
  // REQUIRES: both outlive it.
  StateTransfer(llama_context* context, const StateShape& shape, int slots);

  // Whether the model has parts that cannot be truncated, which a snapshot holds.
  [[nodiscard]] bool has_snapshots() const;

  // --- whole states and snapshots ---
  // REQUIRES: the slot holds `length` tokens, at least one, and the model has such a scope.
  [[nodiscard]] Result<engine::SavedState> save(SlotId slot, TokenPos length,
                                                engine::SaveScope scope);
  // Why the state cannot be loaded into a slot that holds `held` tokens, as a sentence; empty: it
  // can.
  [[nodiscard]] std::string defect_of(const engine::SavedStateView& saved, TokenPos held) const;
  // REQUIRES: no defect. On an Error the slot holds no usable state.
  [[nodiscard]] Result<void> load(SlotId slot, const engine::SavedStateView& saved);

  // --- extent rows ---
  [[nodiscard]] Result<std::vector<engine::ExtentRows>> save_rows(
      SlotId slot, TokenPos length, std::span<const TokenRange> blocks);
  // Whether it is known what a row is. All slots agree on that.
  [[nodiscard]] bool knows_rows() const;
  // REQUIRES: the slot holds `length` tokens, at least one.
  [[nodiscard]] Result<void> learn_rows(SlotId slot, TokenPos length);
  // As above. REQUIRES: knows_rows().
  [[nodiscard]] std::string defect_of(const engine::RestorePoint& point) const;
  // REQUIRES: the slot is empty, and there is no defect. On an Error the slot holds no usable
  // state.
  [[nodiscard]] Result<void> restore(SlotId slot, const engine::RestorePoint& point);

 private:
  [[nodiscard]] Result<const LlamaRowMap*> row_map(SlotId slot, TokenPos length);
  [[nodiscard]] const LlamaRowMap* any_row_map() const;  // null: none is known yet

  llama_context* const context_;
  const StateShape& shape_;
  std::vector<std::unique_ptr<LlamaRowMap>> row_maps_;  // made when a slot first has tokens
  LlamaCopies copies_;
};

}  // namespace holdfast::llama
