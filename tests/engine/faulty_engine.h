// FaultyEngine: a real engine with one planted fault, of the kinds that engines have had.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "base/hash.h"
#include "engine/engine.h"

namespace holdfast {

enum class PlantedFault {
  kNone,
  kOnlyFirstSlot,    // of several slots in a step only the first is computed right
  kThreeSlots,       // steps of exactly three slots are wrong
  kOneNan,           // one value of one row, in steps of two slots with three tokens each
  kRestoreOffByOne,  // rows come back one place further
  kStalePlane,       // a recurrent state is not taken back with the tokens
};

class FaultyEngine final : public engine::Engine {
 public:
  FaultyEngine(engine::Engine& engine, PlantedFault fault) : engine_(engine), fault_(fault) {}

  // From now on.
  void plant(PlantedFault fault) { fault_ = fault; }

  [[nodiscard]] const StateShape& shape() const override { return engine_.shape(); }
  [[nodiscard]] int slot_count() const override { return engine_.slot_count(); }
  [[nodiscard]] TokenPos context_tokens() const override { return engine_.context_tokens(); }
  [[nodiscard]] TokenPos chunk_tokens_max() const override { return engine_.chunk_tokens_max(); }
  [[nodiscard]] TokenPos length(SlotId slot) const override { return engine_.length(slot); }
  [[nodiscard]] TokenPos decode_tokens_max() const override { return engine_.decode_tokens_max(); }
  [[nodiscard]] bool can_take_back(TokenPos count) const override {
    return engine_.can_take_back(count);
  }

  [[nodiscard]] Result<void> prefill(SlotId slot, TokenSpan chunk,
                                     engine::LogitsOf logits) override {
    batch_.clear();
    return engine_.prefill(slot, chunk, logits);
  }
  [[nodiscard]] Result<void> decode(std::span<const engine::DecodeStep> steps) override {
    batch_.clear();
    for (const engine::DecodeStep& step : steps) batch_.push_back(step.slot);
    rows_ = length_of(steps.front().tokens);
    return engine_.decode(steps);
  }
  [[nodiscard]] Result<engine::Sampled> sample(SlotId slot, engine::Sampler& sampler,
                                               TokenPos row) override {
    return engine_.sample(slot, sampler, row);
  }
  [[nodiscard]] std::span<const float> logits(SlotId slot, TokenPos row) override {
    const auto right = engine_.logits(slot, row);
    row_.assign(right.begin(), right.end());
    spoil(slot, row);
    return row_;
  }
  [[nodiscard]] bool can_sample_kept() const override { return engine_.can_sample_kept(); }
  [[nodiscard]] std::size_t logits_count() const override { return engine_.logits_count(); }
  [[nodiscard]] Result<engine::Sampled> sample_kept(std::span<const float> logits,
                                                    engine::Sampler& sampler) override {
    return engine_.sample_kept(logits, sampler);
  }

  [[nodiscard]] engine::TruncateAnswer truncate(SlotId slot, TokenPos position) override {
    if (fault_ != PlantedFault::kStalePlane || position == 0 || position == length(slot)) {
      return engine_.truncate(slot, position);
    }
    const auto stale = engine_.save(slot, engine::SaveScope::kSnapshot);
    const engine::TruncateAnswer answer = engine_.truncate(slot, position);
    if (answer == engine::TruncateAnswer::kDone && stale) make_stale(slot, *stale);
    return answer;
  }
  [[nodiscard]] bool can_truncate(SlotId slot, TokenPos position) const override {
    return engine_.can_truncate(slot, position);
  }
  void clear(SlotId slot) override { engine_.clear(slot); }

  [[nodiscard]] Result<engine::SavedState> save(SlotId slot,
                                                engine::SaveScope scope) const override {
    return engine_.save(slot, scope);
  }
  [[nodiscard]] Result<void> load(SlotId slot, const engine::SavedStateView& state) override {
    return engine_.load(slot, state);
  }
  [[nodiscard]] Result<engine::ExtentRows> save_rows(SlotId slot, TokenPos begin,
                                                     TokenPos end) const override {
    return engine_.save_rows(slot, begin, end);
  }
  [[nodiscard]] Result<std::vector<engine::ExtentRows>> save_rows(
      SlotId slot, std::span<const TokenRange> blocks) const override {
    return engine_.save_rows(slot, blocks);
  }
  [[nodiscard]] Result<void> restore(SlotId slot, const engine::RestorePoint& point) override {
    if (fault_ != PlantedFault::kRestoreOffByOne || point.rows.empty()) {
      return engine_.restore(slot, point);
    }
    std::vector<std::vector<std::byte>> moved;
    std::vector<engine::RowsView> rows(point.rows.begin(), point.rows.end());
    for (engine::RowsView& view : rows) {
      auto& bytes = moved.emplace_back(view.bytes.begin(), view.bytes.end());
      const auto count = static_cast<std::size_t>(view.block_end - view.block_begin);
      std::rotate(bytes.begin(), bytes.end() - static_cast<std::ptrdiff_t>(bytes.size() / count),
                  bytes.end());
      view.bytes = bytes;
      view.checksum = hash_bytes(bytes);
    }
    return engine_.restore(slot, {point.tokens, rows, point.snapshot});
  }
  [[nodiscard]] Result<void> normalize(SlotId slot) override { return engine_.normalize(slot); }
  void wait() const override { engine_.wait(); }
  [[nodiscard]] std::vector<std::string> check() const override { return engine_.check(); }

 private:
  void spoil(SlotId slot, TokenPos row) {
    if (batch_.empty()) return;
    const bool first = slot == batch_.front();
    const bool wrong = (fault_ == PlantedFault::kOnlyFirstSlot && !first) ||
                       (fault_ == PlantedFault::kThreeSlots && batch_.size() == 3);
    if (wrong) std::ranges::reverse(row_);
    const bool here = batch_.size() == 2 && rows_ == 3 && !first && row == 1;
    if (fault_ == PlantedFault::kOneNan && here) {
      row_[row_.size() / 2] = std::numeric_limits<float>::quiet_NaN();
    }
  }

  // The state as it was before the truncation, said to be that of now. What the library writes
  // first are positions and shapes.
  void make_stale(SlotId slot, const engine::SavedState& stale) {
    constexpr std::size_t kHeader = 40;
    auto now = engine_.save(slot, engine::SaveScope::kSnapshot);
    if (!now || now->bytes.size() != stale.bytes.size()) return;
    std::memcpy(now->bytes.data() + kHeader, stale.bytes.data() + kHeader,
                stale.bytes.size() - kHeader);
    now->checksum = hash_bytes(now->bytes);
    (void)engine_.load(slot, *now);
  }

  engine::Engine& engine_;
  PlantedFault fault_;
  std::vector<SlotId> batch_;  // of the latest decode
  TokenPos rows_ = 0;
  std::vector<float> row_;
};

}  // namespace holdfast
