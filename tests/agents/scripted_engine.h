// ScriptedEngine: a model that says what a script tells it to say.
//
// Its state is that of the fake engine, so it costs nothing and a misplaced state is noticed; its
// words are those of a real vocabulary, so that template, grammar and parser are the real ones.
// When a prompt ends, its text decides what is answered (script.h), and that is sampled token by
// token, whatever the sampler would have liked; the sampler's grammar still has to accept it.
//
// Invariants, verified by check():
//   SCRIPTED-1  the tokens noted for a slot are as many as the fake engine holds
//
// One owning thread.
#pragma once

#include <string>
#include <vector>

#include "engine/testing/fake.h"
#include "engine/text.h"
#include "script.h"

namespace holdfast {

class ScriptedEngine final : public engine::Engine {
 public:
  ScriptedEngine(engine::FakeOptions fake, const engine::TextModel& text, Script script);

  [[nodiscard]] const StateShape& shape() const override { return fake_.shape(); }
  [[nodiscard]] int slot_count() const override { return fake_.slot_count(); }
  [[nodiscard]] TokenPos context_tokens() const override { return fake_.context_tokens(); }
  [[nodiscard]] TokenPos chunk_tokens_max() const override { return fake_.chunk_tokens_max(); }
  [[nodiscard]] TokenPos length(SlotId slot) const override { return fake_.length(slot); }
  [[nodiscard]] TokenPos decode_tokens_max() const override { return 1; }
  [[nodiscard]] bool can_take_back(TokenPos count) const override {
    return fake_.can_take_back(count);
  }
  // Takes as long as the script says.
  [[nodiscard]] Result<void> prefill(SlotId slot, TokenSpan chunk,
                                     engine::LogitsOf logits) override;
  // So does this.
  [[nodiscard]] Result<void> decode(std::span<const engine::DecodeStep> steps) override;
  [[nodiscard]] Result<engine::Sampled> sample(SlotId slot, engine::Sampler& sampler,
                                               TokenPos row) override;
  [[nodiscard]] std::span<const float> logits(SlotId slot, TokenPos row) override {
    return fake_.logits(slot, row);
  }
  // What is said follows from the tokens of a slot, not from logits.
  [[nodiscard]] bool can_sample_kept() const override { return false; }
  [[nodiscard]] std::size_t logits_count() const override { return fake_.logits_count(); }
  [[nodiscard]] Result<engine::Sampled> sample_kept(std::span<const float> logits,
                                                    engine::Sampler& sampler) override;
  [[nodiscard]] engine::TruncateAnswer truncate(SlotId slot, TokenPos position) override;
  [[nodiscard]] bool can_truncate(SlotId slot, TokenPos position) const override {
    return fake_.can_truncate(slot, position);
  }
  void clear(SlotId slot) override;
  [[nodiscard]] Result<engine::SavedState> save(SlotId slot,
                                                engine::SaveScope scope) const override {
    return fake_.save(slot, scope);
  }
  // Snapshots only: a whole state does not say which tokens it is made of.
  [[nodiscard]] Result<void> load(SlotId slot, const engine::SavedStateView& saved) override;
  [[nodiscard]] Result<engine::ExtentRows> save_rows(SlotId slot, TokenPos begin,
                                                     TokenPos end) const override {
    return fake_.save_rows(slot, begin, end);
  }
  [[nodiscard]] Result<std::vector<engine::ExtentRows>> save_rows(
      SlotId slot, std::span<const TokenRange> blocks) const override {
    return fake_.save_rows(slot, blocks);
  }
  [[nodiscard]] Result<void> restore(SlotId slot, const engine::RestorePoint& point) override;
  [[nodiscard]] Result<void> normalize(SlotId slot) override { return fake_.normalize(slot); }
  void wait() const override {}
  [[nodiscard]] std::vector<std::string> check() const override;

 private:
  struct Line {
    Tokens tokens;              // what the slot holds
    Tokens answer;              // what is to be said after the prompt
    std::size_t answer_at = 0;  // the prompt's length
  };

  [[nodiscard]] Line& line(SlotId slot) { return lines_[static_cast<std::size_t>(slot.value)]; }
  void plan_answer(Line& line) const;
  // After an operation that may have failed: what the slot holds now.
  Result<void> note(SlotId slot, Result<void> done, Tokens tokens);

  engine::FakeEngine fake_;
  const engine::TextModel& text_;
  const Script script_;
  const Token turn_end_;
  std::vector<Line> lines_;
};

}  // namespace holdfast
