// WeightlessEngine: an Engine that computes nothing and whose states hold nothing.
//
// The cache above it is the real one. Rows and snapshots have one byte for each `unit()` bytes that
// they would really have, and nobody ever reads or writes them. So a cache of hundreds of gigabytes
// fits into one process, and every decision is the real one.
//
//   real          64 tokens x 20 KiB of rows     62.8 MiB of state     256 GiB budget
//   here          64 x 5 bytes                    16,077 bytes          64 Mi bytes
//
// Reading a prompt and copying states take as long as on the machine that is simulated. Decoding
// takes no time, because no decision depends on it.
#pragma once

#include <vector>

#include "engine/engine.h"
#include "policy/machine.h"
#include "policy/trace_clock.h"

namespace holdfast::policy {

class WeightlessEngine final : public engine::Engine {
 public:
  WeightlessEngine(const ModelShape& shape, TokenPos context_tokens, const Machine& machine,
                   TraceClock& clock);

  // How many real bytes one byte here stands for. It is 1 if a row is no multiple of a larger unit,
  // because rounding up small rows would distort sizes.
  [[nodiscard]] static ByteCount unit_for(const ModelShape& shape) {
    constexpr ByteCount kLarge = 2048;
    if (shape.row_bytes % (2 * kLarge) == 0) return 2 * kLarge;
    return shape.row_bytes % kLarge == 0 ? kLarge : 1;
  }
  [[nodiscard]] ByteCount unit() const { return unit_; }

  [[nodiscard]] const StateShape& shape() const override { return shape_; }
  [[nodiscard]] int slot_count() const override { return 1; }
  [[nodiscard]] TokenPos context_tokens() const override { return context_tokens_; }
  [[nodiscard]] TokenPos chunk_tokens_max() const override { return 512; }
  [[nodiscard]] TokenPos length(SlotId) const override { return length_; }
  [[nodiscard]] Result<void> prefill(SlotId slot, TokenSpan chunk,
                                     engine::LogitsOf logits) override;
  [[nodiscard]] TokenPos decode_tokens_max() const override { return context_tokens_; }
  [[nodiscard]] bool can_take_back(TokenPos) const override { return false; }
  [[nodiscard]] Result<void> decode(std::span<const engine::DecodeStep> steps) override;
  [[nodiscard]] Result<engine::Sampled> sample(SlotId, engine::Sampler&, TokenPos) override;
  [[nodiscard]] std::span<const float> logits(SlotId, TokenPos) override { return {}; }
  [[nodiscard]] bool can_sample_kept() const override { return false; }
  [[nodiscard]] std::size_t logits_count() const override { return 0; }
  [[nodiscard]] Result<engine::Sampled> sample_kept(std::span<const float>,
                                                    engine::Sampler&) override {
    return Error{ErrorCode::kUnsupported, "There is no model.", ""};
  }
  [[nodiscard]] engine::TruncateAnswer truncate(SlotId slot, TokenPos position) override;
  [[nodiscard]] bool can_truncate(SlotId slot, TokenPos position) const override;
  void clear(SlotId) override { length_ = 0; }
  [[nodiscard]] Result<engine::SavedState> save(SlotId slot,
                                                engine::SaveScope scope) const override;
  [[nodiscard]] Result<void> load(SlotId slot, const engine::SavedStateView& state) override;
  [[nodiscard]] Result<engine::ExtentRows> save_rows(SlotId slot, TokenPos begin,
                                                     TokenPos end) const override;
  [[nodiscard]] Result<std::vector<engine::ExtentRows>> save_rows(
      SlotId slot, std::span<const TokenRange> blocks) const override;
  [[nodiscard]] Result<void> restore(SlotId slot, const engine::RestorePoint& point) override;
  [[nodiscard]] Result<void> normalize(SlotId) override { return {}; }
  void wait() const override {}
  [[nodiscard]] std::vector<std::string> check() const override { return {}; }

 private:
  void pass_copying(ByteCount units) const { clock_.pass(machine_.copy_ms(units * unit_)); }

  const ModelShape model_;
  const Machine machine_;
  TraceClock& clock_;
  const ByteCount unit_;
  StateShape shape_;
  TokenPos context_tokens_;
  TokenPos length_ = 0;
};

}  // namespace holdfast::policy
