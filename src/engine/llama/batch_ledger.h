// BatchLedger: how many tokens each slot of an engine holds, and where the tokens of the engine's
// latest batch lie.
//
//   latest batch    | a0 a1 a2 | b0 b1 b2 |       slot 0 got three tokens, slot 1 three more
//   rows of outputs   0  1  2     3  4  5         output_row(slot 1, 2) is 5
//
// Logits and hidden rows belong to the latest batch, and a recurrent state can take back tokens of
// that batch only. So every batch begins by forgetting the one before.
//
// Invariants, verified by check():
//   LEDGER-1  a slot with outputs, or with tokens that can be taken back, ends where its part of
//             the latest batch ended; it has at most as many outputs as tokens in that batch
//   LEDGER-2  at most as many tokens can be taken back as the slot has in the latest batch, less
//             one, and as there are planes for
#pragma once

#include <string>
#include <vector>

#include "state/slot_id.h"
#include "state/tokens.h"

namespace holdfast::llama {

class BatchLedger {
 public:
  // `rollback_depth`: how many tokens the context has planes for (llama_planes.h).
  BatchLedger(int slots, TokenPos decode_tokens_max, TokenPos rollback_depth);

  [[nodiscard]] int slot_count() const { return static_cast<int>(slots_.size()); }
  [[nodiscard]] TokenPos length(SlotId slot) const { return at(slot).length; }

  // How many tokens can be taken back after a batch in which each slot has `count`. A batch with
  // more than a decode step has is part of a prompt, which is never taken back.
  [[nodiscard]] TokenPos rollback_after(TokenPos count) const;
  // Whether the recurrent state of the slot can go back to `position`.
  [[nodiscard]] bool can_roll_back(SlotId slot, TokenPos position) const;

  // The latest batch is over, and nothing of it can be asked for any more.
  void forget_batch();
  // The slot's tokens in the latest batch begin at row `begin`; the last `outputs` have logits.
  void note_batch(SlotId slot, int begin, TokenPos count, TokenPos outputs);
  void note_truncation(SlotId slot, TokenPos position);
  void note_cleared(SlotId slot);
  void note_loaded(SlotId slot, TokenPos length);
  // The logits of the latest batch were overwritten; its hidden rows were not.
  void forget_logits();

  // The row in the batch of one of the slot's outputs. REQUIRES: it has that output.
  [[nodiscard]] int output_row(SlotId slot, TokenPos row) const;
  // The row in the batch of one of the slot's tokens; -1: there is no such token in it.
  [[nodiscard]] int token_row(SlotId slot, TokenPos row) const;
  // The position of the slot's first token in the latest batch; -1: the slot was not in it.
  [[nodiscard]] TokenPos batch_position(SlotId slot) const { return at(slot).batch_position; }

  // Violations of LEDGER-1 and LEDGER-2; empty when they hold.
  [[nodiscard]] std::vector<std::string> check() const;

 private:
  struct SlotState {
    TokenPos length = 0;
    int batch_begin = -1;          // row of its first token in the latest batch; -1: none there
    TokenPos batch_tokens = 0;     // how many tokens it has in that batch
    TokenPos batch_position = -1;  // the position of the first of them
    TokenPos outputs = 0;          // how many of them, the last ones, have logits
    TokenPos rollback_left = 0;    // how many can still be taken back
  };

  [[nodiscard]] const SlotState& at(SlotId slot) const;
  [[nodiscard]] SlotState& at(SlotId slot);

  TokenPos decode_tokens_max_;
  TokenPos rollback_depth_;
  std::vector<SlotState> slots_;
};

}  // namespace holdfast::llama
