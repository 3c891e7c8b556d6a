// LlamaMtp: the MTP block of a model as a Companion.
//
// The block is one attention layer. It reads a token together with the model's hidden
// row of the token before it, and its own attention rows follow from these two alone:
//
//   tokens of the slot    t0    t1    t2    t3    t4  | next
//   hidden rows of model  h0    h1    h2    h3    h4  |
//   MTP reads             t0,0  t1,h0 t2,h1 t3,h2 t4,h3 next,h4 -> first drafted token
//                         |-- in its context --|pending|
//
// So at N tokens its state is rows [0, N) and the carried row h_{N-1}. A row is made
// as soon as its pair is known (a chunk of a prompt), or when it is needed: a few
// pairs that are "pending" go together with the first draft, so that a draft of D tokens
// takes D computations of the block; many are made at once, so that following a slot
// that wants no drafts costs next to nothing. Rows that were made from drafted tokens are taken out
// again before draft() returns.
//
// Rows that are missing cannot be made later: the hidden rows are gone. A slot whose
// rows do not reach from its first token to its last starts over where the primary
// stands, with no rows; one whose carried row is missing reads zeros once.
//
// Invariants, verified by check(), whenever the primary's drafts have been cut:
//   M1  a slot that is in step has as many tokens as the primary's, or more: those of
//       a step that was right but had to be undone
//   M2  0 <= first <= made <= tokens; each token from `made` on has its hidden row
//       pending, and they are at most `pending_max_`
//   M3  the library's context holds exactly the positions [first, made) of the slot
//   M4  a slot that is out of step holds nothing
//
// Traps of the library and where each is disarmed:
//   D1  which rows of a batch have hidden rows depends on the architecture and not on
//       what was asked for: qwen35 hands out the first rows of the batch when the last
//       was wanted, qwen3next aborts when all are. Found out by trying, once
//   D2  hidden rows lie in the order of ubatches, and a batch is split where sequences
//       differ in length or its tokens exceed n_ubatch: each slot of a drafting batch
//       is filled up to the same length, and n_ubatch is large enough
//   D3  a graph of a block that was not loaded aborts the process: config.mtp must
//       say that it was
//   D4  threads of another pool spin after a computation and take the cores from this
//       one: the primary's threads serve both
//
// Same thread as the primary, which outlives it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/companion.h"
#include "engine/likeliest.h"
#include "engine/llama/llama_config.h"
#include "engine/llama/llama_copies.h"
#include "engine/llama/llama_handles.h"

namespace holdfast::llama {

class LlamaEngine;
class LlamaRowMap;

// What may be made to fail, for tests.
enum class MtpOperation { kDecode, kTrim, kSave, kRestore };

class LlamaMtp final : public engine::Companion {
 public:
  // `config` is the one that the model was loaded with. kUnsupported when the model
  // has no MTP block or one that is used in another way; kEngine when its context
  // cannot be made. The server then runs without.
  [[nodiscard]] static Result<std::unique_ptr<LlamaMtp>> create(std::shared_ptr<llama_model> model,
                                                                LlamaEngine& primary,
                                                                const LlamaConfig& config);
  ~LlamaMtp() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "mtp"; }
  [[nodiscard]] engine::CompanionShape shape() const noexcept override;

  [[nodiscard]] engine::Followed follow(SlotId slot,
                                        const engine::CompanionPoint& point) noexcept override;
  void advance(SlotId slot, TokenSpan kept, TokenPos first_row) noexcept override;
  void draft(std::span<engine::DraftWish> wishes) noexcept override;
  // With no memory left it may answer with fewer rows than blocks.
  [[nodiscard]] engine::CompanionSaved save(SlotId slot, std::span<const TokenRange> blocks,
                                            TokenPos length) noexcept override;

  // Asked before each operation; true: it fails.
  void set_fault(std::function<bool(MtpOperation)> fault) { fault_ = std::move(fault); }

  // Violations of M1..M4; empty when they hold.
  [[nodiscard]] std::vector<std::string> check() const;

 private:
  struct SlotState {
    bool in_step = true;  // false: what the primary holds is not known (M4)
    Tokens tokens;        // those that the primary's slot holds
    TokenPos first = 0;   // rows [first, made) are in the context
    TokenPos made = 0;
    std::vector<float> pending;  // hidden rows that tokens [made, end) are read with
    std::vector<float> carried;  // the one that the next token is read with
    TokenPos unknown_at = -1;    // the position that is read with zeros for want of a row
  };
  // One wish that is being answered.
  struct Drafting {
    engine::DraftWish* wish = nullptr;
    TokenPos most = 0;
    std::size_t row = 0;  // in the batch
    bool filled = false;  // rows that mean nothing follow it
  };
  // Which rows of a batch the library keeps hidden rows of (D1).
  enum class HiddenRows { kOfEveryToken, kOfOutputs };
  enum class Outputs { kNone, kWanted };

  LlamaMtp(std::shared_ptr<llama_model> model, const LlamaEngine& primary, LlamaContextPtr context);

  // --- the context ---
  [[nodiscard]] Result<void> explore();
  [[nodiscard]] Result<HiddenRows> find_hidden_rows();
  [[nodiscard]] Result<void> record_row_maps();
  void append_row(SlotId slot, Token token, TokenPos position, const float* hidden, bool output);
  [[nodiscard]] bool run_batch(Outputs outputs);
  [[nodiscard]] bool trim(SlotId slot, TokenPos position);
  void erase_sequence(SlotId slot) noexcept;
  [[nodiscard]] bool fails(MtpOperation operation) const { return fault_ && fault_(operation); }

  // --- one slot ---
  [[nodiscard]] bool valid(SlotId slot) const noexcept;
  [[nodiscard]] SlotState& state(SlotId slot) { return slots_[index(slot)]; }
  [[nodiscard]] static std::size_t index(SlotId slot) {
    return static_cast<std::size_t>(slot.value);
  }
  void begin_anew(SlotId slot) noexcept;
  void lose(SlotId slot) noexcept;
  [[nodiscard]] bool take_over(SlotId slot, TokenSpan kept, TokenPos first_row);
  [[nodiscard]] bool make_chunk(SlotId slot, TokenPos count, TokenPos first_row);
  void append_pending(SlotId slot);
  [[nodiscard]] bool make_pending(SlotId slot);

  // --- following ---
  [[nodiscard]] const float* own_carried(const SlotState& now, TokenPos position) const;
  [[nodiscard]] bool keep_live_rows(SlotId slot, TokenPos length);
  [[nodiscard]] const char* restore_rows(SlotId slot, const engine::CompanionPoint& point);
  [[nodiscard]] const char* rows_defect(const engine::CompanionPoint& point) const;
  void carry(SlotState& now, const CheckedView& place) const;
  [[nodiscard]] engine::Followed follow_rows(SlotId slot, const engine::CompanionPoint& point);

  // --- drafting ---
  void begin_drafting(std::span<engine::DraftWish> wishes);
  void append_first_step();
  [[nodiscard]] bool fits_filled_up(TokenPos rows) const;
  void take_drafted_tokens();
  [[nodiscard]] bool take_drafted_token(Drafting& one);
  void end_drafting();
  void give_up_drafting() noexcept;

  std::shared_ptr<llama_model> model_;
  const LlamaEngine& primary_;
  LlamaContextPtr context_;
  std::size_t width_ = 0;  // of a hidden row
  std::size_t vocabulary_ = 0;
  TokenPos pending_in_draft_ = 0;  // pairs that a drafting batch takes along, at most
  TokenPos pending_max_ = 0;       // pairs that wait, at most
  HiddenRows hidden_rows_ = HiddenRows::kOfOutputs;
  std::vector<SlotState> slots_;
  std::vector<std::unique_ptr<LlamaRowMap>> row_maps_;  // of each slot
  LlamaCopies copies_;
  std::function<bool(MtpOperation)> fault_;
  engine::LikeliestFinder likeliest_;

  std::vector<Drafting> drafting_;  // those that want more, ascending by slot
  std::vector<SlotId> drafted_;     // all that took part

  // The batch under construction, in the library's layout; as large as it can get.
  std::size_t batch_size_ = 0;
  std::vector<Token> batch_tokens_;
  std::vector<float> batch_hidden_;
  std::vector<llama_pos> batch_positions_;
  std::vector<std::int32_t> batch_sequence_counts_;
  std::vector<llama_seq_id> batch_sequences_;
  std::vector<llama_seq_id*> batch_sequence_pointers_;
  std::vector<std::int8_t> batch_outputs_;
};

}  // namespace holdfast::llama
