// LlamaEngine: the Engine on libllama v0.5.0.
//
// Slot k is sequence k in a stream of its own (kv_unified = false), so cell i
// of a slot is token i and nothing foreign lies between. A prefill chunk is one
// sequence in one llama_decode and fits one ubatch.
//
// Traps of the library and where each is disarmed:
//   X1  seq_rm on a recurrent state answers true beyond the last ubatch, with a
//       stale state: can_cut() bounds the depth by what the slot's last own batch
//       kept (llama_planes.h), and allows one cut per batch
//   X2  seq_rm of a middle range punches a hole into hybrids: only tails are cut
//   X3  seq_rm on a sliding window never fails although the window is gone:
//       can_cut() looks at the oldest position held
//   X4  a batch of several sequences may move another's rollback planes, and is
//       split where they are of different length or not neighbours: decode() takes
//       neighbours with equally many tokens, which are one ubatch, and a cut within
//       the rollback depth needs the slot to have been in the engine's latest batch
//   X5  seq_cp forgets a pending rollback: seq_cp is not used
//   X6  a failed or empty restore leaves half a state: load() refuses empty
//       states, verifies length after the library's own answer, and clears
//   X7  a blob with a bad head throws through the C API: verified before, and
//       nothing escapes
//   X8  PARTIAL_ONLY on plain attention writes everything: save(kSnapshot) is
//       kUnsupported there
//   X9  M-RoPE models accept gaps in positions: positions are assigned here,
//       from length(), and never come from a caller
//   X10 a failed decode leaves hybrids with the tokens applied: every slot of a
//       failed batch is cleared; the abort callback is never installed
//   X11 seq_add/seq_div abort or corrupt: not used
//   X12 a grammar starting with %llguidance aborts the process: refused (sampler)
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/llama/llama_config.h"
#include "engine/llama/llama_copies.h"
#include "engine/llama/llama_handles.h"

namespace holdfast::llama {

class LlamaRowMap;
class LlamaThreads;

class LlamaEngine final : public engine::Engine {
 public:
  // Measures the shape of a model's state in a small throw-away context.
  [[nodiscard]] static Result<StateShape> measure_shape(llama_model* model,
                                                        const LlamaConfig& config);

  // `model` must outlive the engine. The context size in `config` is final here.
  [[nodiscard]] static Result<std::unique_ptr<LlamaEngine>> create(
      std::shared_ptr<llama_model> model, const LlamaConfig& config, StateShape shape);
  ~LlamaEngine() override;

  [[nodiscard]] const StateShape& shape() const override { return shape_; }
  [[nodiscard]] int slot_count() const override { return static_cast<int>(slots_.size()); }
  [[nodiscard]] TokenPos context_tokens() const override { return context_tokens_; }
  [[nodiscard]] TokenPos chunk_tokens_max() const override { return chunk_tokens_max_; }
  [[nodiscard]] TokenPos length(SlotId slot) const override { return state(slot).length; }
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

  // For an MTP head (LlamaConfig::mtp): the model's hidden row of one of the tokens
  // that the engine's latest batch, prefill or decode, appended to the slot. `row`
  // counts them from the first. Empty when the slot was not in that batch.
  [[nodiscard]] std::span<const float> hidden(SlotId slot, TokenPos row) const;
  // The position of the first of them; -1: the slot was not in that batch.
  [[nodiscard]] TokenPos hidden_begin(SlotId slot) const { return state(slot).batch_position; }
  // For another context of the same model, which computes when this one does not.
  [[nodiscard]] const LlamaThreads& threads() const { return *threads_; }

  [[nodiscard]] engine::CutAnswer cut(SlotId slot, TokenPos position) override;
  [[nodiscard]] bool can_cut(SlotId slot, TokenPos position) const override;
  void clear(SlotId slot) override;

  [[nodiscard]] Result<engine::SavedState> save(SlotId slot,
                                                engine::SaveScope scope) const override;
  [[nodiscard]] Result<void> load(SlotId slot, const engine::SavedStateView& state) override;

  [[nodiscard]] Result<engine::ExtentRows> save_rows(SlotId slot, TokenPos begin,
                                                     TokenPos end) const override;
  [[nodiscard]] Result<std::vector<engine::ExtentRows>> save_rows(
      SlotId slot, std::span<const TokenRange> blocks) const override;
  [[nodiscard]] Result<void> restore(SlotId slot, const engine::RestorePoint& point) override;
  [[nodiscard]] Result<void> normalize(SlotId slot) override;
  void wait() const override;

  [[nodiscard]] std::vector<std::string> check() const override;

 private:
  struct SlotState {
    TokenPos length = 0;
    int batch_begin = -1;          // of its tokens in the latest batch; -1: it was not there
    TokenPos batch_tokens = 0;     // how many of them,
    TokenPos batch_position = -1;  // and the position of the first
    TokenPos outputs = 0;          // how many of them, the last ones, have logits
    TokenPos rollback_left = 0;    // tokens that may still be taken back (X1, X4)
  };

  LlamaEngine(std::shared_ptr<llama_model> model, LlamaContextPtr context,
              std::unique_ptr<LlamaThreads> threads, StateShape shape, const LlamaConfig& config);

  [[nodiscard]] const SlotState& state(SlotId slot) const;
  [[nodiscard]] SlotState& state(SlotId slot);
  [[nodiscard]] bool snapshot_allows_cut(const SlotState& slot, TokenPos position) const;
  [[nodiscard]] bool window_allows_cut(SlotId slot, TokenPos position) const;
  void append_to_batch(SlotId slot, Token token, TokenPos position, bool logits);
  [[nodiscard]] Result<void> run_batch(std::span<const SlotId> slots, TokenPos count);
  void note_batch(SlotId slot, int begin, TokenPos count, TokenPos outputs);
  [[nodiscard]] TokenPos taken_back_after(TokenPos count) const;
  void forget_outputs();
  [[nodiscard]] int batch_row(SlotId slot, TokenPos row) const;
  [[nodiscard]] Result<const LlamaRowMap*> row_map(SlotId slot) const;
  [[nodiscard]] Result<const LlamaRowMap*> any_row_map(SlotId empty_slot);
  [[nodiscard]] Result<void> verify_loaded(SlotId slot, TokenPos length);
  [[nodiscard]] bool has_uncuttable_part() const;

  std::shared_ptr<llama_model> model_;
  // The threads outlive the context that uses them.
  std::unique_ptr<LlamaThreads> threads_;
  LlamaContextPtr context_;
  StateShape shape_;
  TokenPos context_tokens_ = 0;
  TokenPos chunk_tokens_max_ = 0;
  TokenPos decode_tokens_max_ = 1;
  TokenPos rollback_depth_ = 0;  // that there are planes for
  std::size_t vocabulary_ = 0;
  std::size_t hidden_width_ = 0;  // 0: hidden rows are not kept
  std::vector<SlotState> slots_;
  // Where each slot's extent rows lie; found when a slot first has tokens.
  mutable std::vector<std::unique_ptr<LlamaRowMap>> row_maps_;
  mutable LlamaCopies copies_;

  // The batch under construction, in the library's layout.
  std::vector<Token> batch_tokens_;
  std::vector<llama_pos> batch_positions_;
  std::vector<std::int32_t> batch_sequence_counts_;
  std::vector<llama_seq_id> batch_sequences_;
  std::vector<llama_seq_id*> batch_sequence_pointers_;
  std::vector<std::int8_t> batch_logits_;
  int output_row_ = -1;  // one with logits, of the latest batch; -1: there is none
};

}  // namespace holdfast::llama
