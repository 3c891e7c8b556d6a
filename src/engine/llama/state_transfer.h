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
//   TRANSFER-3  what save_later() answers with is the state at that call, whatever is computed,
//               truncated or restored next: the tests above and tests/engine/warm_equals_cold_test
//               run with late copies too
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/llama/late_copies.h"
#include "engine/llama/llama_copies.h"
#include "engine/llama/llama_rows.h"

namespace holdfast::llama {

struct TransferOptions {
  int slots = 1;
  LateCopying late = LateCopying::kWhereItHelps;
  std::optional<ByteCount> late_room;  // of LateCopies
};

class StateTransfer {
 public:
  // REQUIRES: both outlive it.
  StateTransfer(llama_context* context, const StateShape& shape, const TransferOptions& options);

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
  // --- both, while the context computes on ---
  // REQUIRES: as of save() and save_rows().
  [[nodiscard]] Result<engine::SavedLater> save_later(SlotId slot, TokenPos length,
                                                      std::span<const TokenRange> blocks,
                                                      bool snapshot);
  // Whether the latest save_later() waited for nothing.
  [[nodiscard]] bool saves_later() const { return saves_later_; }
  // The slot's rows of tokens from `position` on are about to be written.
  void settle(SlotId slot, TokenPos position) { late_.settle(slot, position); }

  // --- extent rows, brought back ---
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
  [[nodiscard]] bool intact(std::span<const std::byte> bytes, std::uint64_t checksum) const;
  [[nodiscard]] Result<const LlamaRowMap*> row_map(SlotId slot, TokenPos length);
  [[nodiscard]] const LlamaRowMap* any_row_map() const;  // null: none is known yet
  [[nodiscard]] Result<std::vector<ArrivingBytesPtr>> begin_rows(
      SlotId slot, TokenPos length, std::span<const TokenRange> blocks);
  [[nodiscard]] Result<ArrivingBytesPtr> begin_snapshot(SlotId slot, TokenPos length);

  llama_context* const context_;
  const StateShape& shape_;
  std::vector<std::unique_ptr<LlamaRowMap>> row_maps_;  // made when a slot first has tokens
  LlamaCopies copies_;
  mutable LateCopies late_;  // looking into its berths notes their use
  bool saves_later_ = false;
};

}  // namespace holdfast::llama
