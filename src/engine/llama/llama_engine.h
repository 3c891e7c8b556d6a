// LlamaEngine: the Engine on libllama v0.5.0.
//
// Slot k is sequence k in a stream of its own (kv_unified = false), so cell i
// of a slot is token i and nothing foreign lies between. A prefill chunk is one
// sequence in one llama_decode and fits one ubatch.
//
// Traps of the library, and where each is disarmed. Tests are those of llama_engine_test.cc:
//   LLAMA-1   seq_rm on a recurrent state answers true beyond the last ubatch, with a stale state:
//             can_truncate() bounds the depth by what the slot's last own batch kept
//             (llama_planes.h), and allows one truncation per batch
//             (LlamaTraps.RollbackReachesOnlyIntoTheLastBatch)
//   LLAMA-2   seq_rm of a middle range punches a hole into hybrids: only tails are truncated
//             (EveryArchitecture.ACutIsExactOrRefusedWithNothingChanged)
//   LLAMA-3   seq_rm on a sliding window never fails although the window is gone: can_truncate()
//   looks
//             at the oldest position held (LlamaTraps.AWindowIsNotCutBelowWhatItHolds)
//   LLAMA-4   a batch of several sequences may move another's rollback planes, and is split where
//             the sequences have different lengths or are not neighbours: decode() takes neighbours
//             with equally many tokens, which are one ubatch, and a truncation within the rollback
//             depth needs the slot to have been in the engine's latest batch
//             (LlamaTraps.NoRollbackAfterABatchOfSeveralSlots)
//   LLAMA-5   seq_cp forgets a pending rollback: seq_cp is not used, so there is nothing to test
//   LLAMA-6   a failed or empty restore leaves half a state: load() and restore() refuse empty
//             states, verify the length after the library's own answer, and clear the slot
//             (EveryArchitecture.BadStatesAreRefusedAndLeaveAnEmptySlot)
//   LLAMA-7   a blob with a bad head throws through the C interface: StateTransfer looks at it
//             first, and nothing escapes
//             (EveryArchitecture.AForgedSnapshotNeitherCrashesNorTakesMemory)
//   LLAMA-8   PARTIAL_ONLY on plain attention writes everything: save(kSnapshot) is kUnsupported
//             there (EveryArchitecture.ASnapshotGoesBackBitForBit)
//   LLAMA-9   M-RoPE models accept gaps in positions: positions are assigned here, from length(),
//             and never come from a caller; ENGINE-1 would show a gap
//   LLAMA-10  a failed decode leaves hybrids with the tokens applied: every slot of a failed batch
//             is cleared, and the abort callback is never installed
//             (EveryArchitecture.AFailedChunkEmptiesItsSlotOnly)
//   LLAMA-11  seq_add and seq_div abort or corrupt: they are not used
//   LLAMA-12  a grammar that starts with %llguidance aborts the process: the sampler refuses it
//             (llama_text_test.cc)
//   LLAMA-13  a slot's rows may still be on their way out of a card when the slot is shortened:
//   they
//             are settled before any batch or state is written over them (late_copies_test.cc)
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/llama/batch_ledger.h"
#include "engine/llama/llama_config.h"
#include "engine/llama/llama_handles.h"
#include "engine/llama/state_transfer.h"
#include "engine/llama/token_batch.h"

namespace holdfast::llama {

class LlamaThreads;

class LlamaEngine final : public engine::Engine {
 public:
  // Measures the shape of a model's state in a small temporary context.
  [[nodiscard]] static Result<StateShape> measure_shape(llama_model* model,
                                                        const LlamaConfig& config);

  // `model` must outlive the engine. The context size in `config` is final here.
  [[nodiscard]] static Result<std::unique_ptr<LlamaEngine>> create(
      std::shared_ptr<llama_model> model, const LlamaConfig& config, StateShape shape);
  ~LlamaEngine() override;

  [[nodiscard]] const StateShape& shape() const override { return shape_; }
  [[nodiscard]] int slot_count() const override { return ledger_.slot_count(); }
  [[nodiscard]] TokenPos context_tokens() const override { return context_tokens_; }
  [[nodiscard]] TokenPos chunk_tokens_max() const override { return chunk_tokens_max_; }
  [[nodiscard]] TokenPos length(SlotId slot) const override { return ledger_.length(slot); }
  [[nodiscard]] TokenPos decode_tokens_max() const override { return decode_tokens_max_; }
  [[nodiscard]] bool can_take_back(TokenPos count) const override;

  [[nodiscard]] Result<void> prefill(SlotId slot, TokenSpan chunk,
                                     engine::LogitsOf logits) override;
  [[nodiscard]] Result<void> decode(std::span<const engine::DecodeStep> steps) override;
  [[nodiscard]] Result<engine::Sampled> sample(SlotId slot, engine::Sampler& sampler,
                                               TokenPos row) override;
  [[nodiscard]] std::span<const float> logits(SlotId slot, TokenPos row) override;
  [[nodiscard]] bool can_sample_kept() const override { return output_row_ >= 0; }
  [[nodiscard]] std::size_t logits_count() const override { return vocabulary_; }
  [[nodiscard]] Result<engine::Sampled> sample_kept(std::span<const float> logits,
                                                    engine::Sampler& sampler) override;

  // For an MTP head (LlamaConfig::mtp): the model's hidden row of one of the tokens that the
  // engine's latest batch, prefill or decode, appended to the slot. `row` counts those tokens from
  // 0. Empty if the slot was not in that batch.
  [[nodiscard]] std::span<const float> hidden(SlotId slot, TokenPos row) const;
  // The position of the first of those tokens; -1: the slot was not in that batch.
  [[nodiscard]] TokenPos hidden_begin(SlotId slot) const { return ledger_.batch_position(slot); }
  // For another context of the same model that computes while this one does not.
  [[nodiscard]] const LlamaThreads& threads() const { return *threads_; }

  [[nodiscard]] engine::TruncateAnswer truncate(SlotId slot, TokenPos position) override;
  [[nodiscard]] bool can_truncate(SlotId slot, TokenPos position) const override;
  void clear(SlotId slot) override;

  [[nodiscard]] Result<engine::SavedState> save(SlotId slot,
                                                engine::SaveScope scope) const override;
  [[nodiscard]] Result<void> load(SlotId slot, const engine::SavedStateView& state) override;

  [[nodiscard]] Result<engine::ExtentRows> save_rows(SlotId slot, TokenPos begin,
                                                     TokenPos end) const override;
  [[nodiscard]] Result<std::vector<engine::ExtentRows>> save_rows(
      SlotId slot, std::span<const TokenRange> blocks) const override;
  [[nodiscard]] Result<engine::SavedLater> save_later(SlotId slot,
                                                      std::span<const TokenRange> blocks,
                                                      bool snapshot) const override;
  [[nodiscard]] bool saves_later() const override { return states_.saves_later(); }
  [[nodiscard]] Result<void> restore(SlotId slot, const engine::RestorePoint& point) override;
  [[nodiscard]] Result<void> normalize(SlotId slot) override;
  void wait() const override;

  [[nodiscard]] std::vector<std::string> check() const override;

 private:
  LlamaEngine(std::shared_ptr<llama_model> model, LlamaContextPtr context,
              std::unique_ptr<LlamaThreads> threads, StateShape shape, const LlamaConfig& config);

  [[nodiscard]] bool window_allows_truncation(SlotId slot, TokenPos position) const;
  // Computes the batch, in which each of the slots has `count` tokens.
  [[nodiscard]] Result<void> run_batch(std::span<const SlotId> slots, TokenPos count);
  [[nodiscard]] Result<void> learn_rows(SlotId empty_slot);
  [[nodiscard]] Result<void> refuse_state(SlotId slot, const std::string& why);
  [[nodiscard]] Result<void> verify_loaded(SlotId slot, TokenPos length);

  std::shared_ptr<llama_model> model_;
  // The threads outlive the context that uses them.
  std::unique_ptr<LlamaThreads> threads_;
  LlamaContextPtr context_;
  StateShape shape_;
  TokenPos context_tokens_ = 0;
  TokenPos chunk_tokens_max_ = 0;
  TokenPos decode_tokens_max_ = 1;
  std::size_t vocabulary_ = 0;
  std::size_t hidden_width_ = 0;  // 0: hidden rows are not kept
  BatchLedger ledger_;
  TokenBatch batch_;              // under construction
  int output_row_ = -1;           // a row of the latest batch that has logits; -1: none has
  mutable StateTransfer states_;  // saving a state is const for callers
};

}  // namespace holdfast::llama
