// NoGeneration: the engine of a server that embeds texts. Its one slot stays empty: whatever is
// asked for is an Error. So that server has a scheduler, like every other one, which never works.
#pragma once

#include <vector>

#include "engine/engine.h"

namespace holdfast::engine {

class NoGeneration final : public Engine {
 public:
  explicit NoGeneration(TokenPos context) : context_(context) {}

  [[nodiscard]] const StateShape& shape() const override { return shape_; }
  [[nodiscard]] int slot_count() const override { return 1; }
  [[nodiscard]] TokenPos context_tokens() const override { return context_; }
  [[nodiscard]] TokenPos chunk_tokens_max() const override { return context_; }
  [[nodiscard]] TokenPos length(SlotId) const override { return 0; }
  [[nodiscard]] Result<void> prefill(SlotId, TokenSpan, LogitsOf) override { return refusal(); }
  [[nodiscard]] TokenPos decode_tokens_max() const override { return 1; }
  [[nodiscard]] bool can_take_back(TokenPos) const override { return false; }
  [[nodiscard]] Result<void> decode(std::span<const DecodeStep>) override { return refusal(); }
  [[nodiscard]] Result<Sampled> sample(SlotId, Sampler&, TokenPos) override { return refusal(); }
  [[nodiscard]] std::span<const float> logits(SlotId, TokenPos) override { return {}; }
  [[nodiscard]] bool can_sample_kept() const override { return false; }
  [[nodiscard]] std::size_t logits_count() const override { return 0; }
  [[nodiscard]] Result<Sampled> sample_kept(std::span<const float>, Sampler&) override {
    return refusal();
  }
  [[nodiscard]] TruncateAnswer truncate(SlotId, TokenPos) override { return TruncateAnswer::kDone; }
  [[nodiscard]] bool can_truncate(SlotId, TokenPos) const override { return true; }
  void clear(SlotId) override {}
  [[nodiscard]] Result<SavedState> save(SlotId, SaveScope) const override { return refusal(); }
  [[nodiscard]] Result<void> load(SlotId, const SavedStateView&) override { return refusal(); }
  [[nodiscard]] Result<ExtentRows> save_rows(SlotId, TokenPos, TokenPos) const override {
    return refusal();
  }
  [[nodiscard]] Result<std::vector<ExtentRows>> save_rows(
      SlotId, std::span<const TokenRange>) const override {
    return refusal();
  }
  [[nodiscard]] Result<void> restore(SlotId, const RestorePoint&) override { return refusal(); }
  [[nodiscard]] Result<void> normalize(SlotId) override { return refusal(); }
  void wait() const override {}
  [[nodiscard]] std::vector<std::string> check() const override { return {}; }

 private:
  [[nodiscard]] static Error refusal() {
    return {ErrorCode::kUnsupported, "This server embeds texts and generates none.", ""};
  }

  const StateShape shape_;
  const TokenPos context_;
};

}  // namespace holdfast::engine
