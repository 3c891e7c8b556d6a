// MtpSlot: the MTP block's state for one slot of the primary.
//
//   tokens of the slot    t0    t1    t2    t3    t4  | next
//   hidden rows of model  h0    h1    h2    h3    h4  |
//   MTP reads             t0,0  t1,h0 t2,h1 t3,h2 t4,h3 next,h4 -> first drafted token
//                         |-- MtpRows --| pending |
//
// At N tokens the state is rows [0, N) and the carried row h_{N-1}. The rows of a prompt's chunk
// are made at once. Those of a few tokens stay pending until a draft is computed, which takes them
// along in its first batch; so following a slot that wants no drafts costs next to nothing.
//
// Rows that are missing cannot be made later: the hidden rows are gone. A slot whose rows do not
// reach from its first token to its last starts over where the primary stands, with no rows; one
// whose carried row is missing reads zeros once.
//
// A slot is in step as long as it knows what the primary's slot holds.
//
// Invariants, verified by check() whenever the primary's drafts have been truncated:
//   MTPSLOT-1  a slot in step has as many tokens as the primary's, or more: those of a decode step
//              that was right but had to be undone
//   MTPSLOT-2  its hidden rows reach from where its rows end to its last token, and at most
//              256 of them, or a chunk of the primary if that is less, are pending
//   MTPSLOT-3  a slot that is out of step holds nothing
#pragma once

#include <string>
#include <vector>

#include "engine/companion.h"
#include "engine/llama/mtp_context.h"
#include "engine/llama/mtp_hidden_rows.h"
#include "engine/llama/mtp_rows.h"

namespace holdfast::llama {

class LlamaEngine;

class MtpSlot {
 public:
  // REQUIRES: primary and context outlive it.
  MtpSlot(SlotId slot, const LlamaEngine& primary, MtpContext& context, MtpRows rows);

  [[nodiscard]] bool in_step() const { return in_step_; }
  [[nodiscard]] TokenPos length() const { return length_of(tokens_); }

  // Do what engine::Companion says. They may throw if memory runs out; call lose() then.
  [[nodiscard]] engine::Followed follow(const engine::CompanionPoint& point);
  void advance(TokenSpan kept, TokenPos first_row);
  // Fills in what it has of the blocks and of the position after `length` tokens.
  // REQUIRES: saved.rows has an entry for each block. May throw, and is still in step then.
  void save(std::span<const TokenRange> blocks, TokenPos length, engine::CompanionSaved& saved);

  // Drops the rows; they begin again at the primary's next token.
  void start_over() noexcept;
  // Holds nothing and is out of step until it follows again.
  void lose() noexcept;

  // --- for drafts ---
  [[nodiscard]] TokenPos pending() const { return hidden_.pending(); }
  [[nodiscard]] TokenPos rows_end() const { return rows_.end(); }
  // Makes the pending rows now, or starts over where that fails.
  void make_pending();
  // Appends the pending rows and that of `next` to the context's batch. Returns the row of `next`.
  std::size_t append_with(Token next);
  // The batch with the pending rows was computed.
  void note_pending_made();
  // Removes the rows of tokens from `position` on, or starts over where that fails.
  // REQUIRES: position >= length().
  bool drop_drafted(TokenPos position);

  // Appends violations of MTPSLOT-1..3, and of the invariants of its rows and hidden rows.
  void check(std::vector<std::string>& violations) const;

 private:
  void append_pending();
  [[nodiscard]] bool make_chunk(TokenPos count, TokenPos first_row);
  [[nodiscard]] bool keep_live_rows(TokenPos length);

  SlotId slot_;
  const LlamaEngine* primary_;
  MtpContext* context_;
  bool in_step_ = true;
  Tokens tokens_;  // those that the primary's slot holds
  MtpRows rows_;
  MtpHiddenRows hidden_;
};

}  // namespace holdfast::llama
