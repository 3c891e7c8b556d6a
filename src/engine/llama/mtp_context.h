// MtpContext: the MTP block of a model, in a library context of its own.
//
// It computes batches. A row of a batch is a token together with the model's hidden row of the
// token before it; computing it leaves an attention row in the context, at the token's position of
// the slot's sequence. A row that is an output also gives the logits of the next token and a
// hidden row, which the following draft token is read with.
//
// Traps of the library, and where each is disarmed:
//   MTPCTX-1  Which rows of a batch have hidden rows depends on the architecture and not on what
//             was asked for: qwen35 hands out the first rows of the batch when the last was
//             wanted, qwen3next aborts when all are. create() finds out by computing two tokens.
//             Tested by EveryMtp.DraftsAfterAPromptAreThoseOfAColdComputation, on both kinds.
//   MTPCTX-2  Hidden rows lie in the order of ubatches, and a batch is split where sequences
//             differ in length or its tokens exceed n_ubatch. n_ubatch is large enough for every
//             batch; callers that want outputs give each slot equally many rows (mtp_drafts.h).
//             Tested by EveryMtp.SeveralSlotsDraftAsIfAlone.
//   MTPCTX-3  The graph of a block that was not loaded aborts the process: create() asks
//             config.mtp. Tested by LlamaMtp.IsUnsupportedWhereThereIsNoBlock.
//   MTPCTX-4  The threads of another pool keep spinning after a computation and take the cores
//             from this one: both contexts use the primary's threads. It costs time only, and no
//             test measures it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/llama/llama_config.h"
#include "engine/llama/llama_handles.h"
#include "engine/llama/token_batch.h"
#include "state/extent_block.h"
#include "state/slot_id.h"

namespace holdfast::llama {

class LlamaEngine;

// What tests can make fail.
enum class MtpOperation { kDecode, kTrim, kSave, kRestore };

// Which rows of a batch the library keeps hidden rows of (MTPCTX-1).
enum class HiddenRowsOf { kEveryToken, kOutputs };

enum class MtpOutputs { kNone, kWanted };

class MtpContext {
 public:
  // `config` is the one that the model was loaded with. kUnsupported when the model has no MTP
  // block or one that is used in another way; kEngine when the context cannot be made.
  [[nodiscard]] static Result<std::unique_ptr<MtpContext>> create(
      std::shared_ptr<llama_model> model, const LlamaEngine& primary, const LlamaConfig& config);

  [[nodiscard]] std::size_t hidden_width() const { return width_; }  // floats of a hidden row
  [[nodiscard]] std::size_t vocabulary() const { return vocabulary_; }
  [[nodiscard]] std::size_t batch_rows_max() const { return rows_max_; }
  [[nodiscard]] llama_context* library() const { return context_.get(); }

  // --- the batch under construction ---
  // Returns the row's number. `hidden` is a hidden row, or null for zeros.
  // REQUIRES: fewer than batch_rows_max() rows so far.
  std::size_t append(SlotId slot, Token token, TokenPos position, const float* hidden, bool output);
  void drop_batch();
  // Computes the batch, which is empty afterwards. False: it failed, and nothing is known of the
  // sequences that were in it.
  [[nodiscard]] bool run(MtpOutputs outputs);

  // Of an output of the latest batch; null: the library has none. Valid until the next run().
  [[nodiscard]] const float* logits(std::size_t row) const;
  [[nodiscard]] const float* hidden(std::size_t row) const;

  // --- the rows that the library holds ---
  // Removes the rows from `position` on. False: they are still there.
  [[nodiscard]] bool trim(SlotId slot, TokenPos position);
  void erase(SlotId slot) noexcept;
  // The positions of the slot's rows; empty: there are none.
  [[nodiscard]] TokenRange held(SlotId slot) const;

  // Asked before each operation; true: it fails.
  std::function<bool(MtpOperation)> fault;
  [[nodiscard]] bool fails(MtpOperation operation) const { return fault && fault(operation); }

 private:
  MtpContext(std::shared_ptr<llama_model> model, LlamaContextPtr context);
  [[nodiscard]] Result<HiddenRowsOf> find_hidden_rows();

  std::shared_ptr<llama_model> model_;
  LlamaContextPtr context_;
  std::size_t width_;
  std::size_t vocabulary_;
  std::size_t rows_max_;
  HiddenRowsOf hidden_rows_of_ = HiddenRowsOf::kOutputs;
  TokenBatch batch_;
  std::vector<float> batch_hidden_;  // of each row of the batch
};

}  // namespace holdfast::llama
