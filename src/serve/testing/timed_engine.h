// TimedEngine: an engine whose work takes time on a clock that is turned by hand, as on a GPU:
// reading goes on behind the caller's back until somebody needs what comes of it.
#pragma once

#include <string>
#include <vector>

#include "engine/engine.h"
#include "serve/testing/scheduler_fixture.h"

namespace holdfast::serve {

// In milliseconds.
struct WorkTimes {
  double chunk = 2.0;
  double token = 0.12;
  double step = 10.0;
  double step_slot = 0.0;  // more, for each slot after the first
  double row = 0.016;      // copied, in either direction
  double snapshot = 25.0;  // likewise
};

// What it was asked to do, in order: 'p' prefill, 'd' decode, 's' save, 'r' restore or load.
struct DoneWork {
  char kind = ' ';
  SlotId slot;  // 'd': the first
  TokenPos tokens = 0;
};

class TimedEngine final : public engine::Engine {
 public:
  TimedEngine(engine::FakeOptions fake, ManualClock& clock, WorkTimes times)
      : fake_(std::move(fake)), clock_(clock), times_(times) {}

  [[nodiscard]] const StateShape& shape() const override { return fake_.shape(); }
  [[nodiscard]] int slot_count() const override { return fake_.slot_count(); }
  [[nodiscard]] TokenPos context_tokens() const override { return fake_.context_tokens(); }
  [[nodiscard]] TokenPos chunk_tokens_max() const override { return fake_.chunk_tokens_max(); }
  [[nodiscard]] TokenPos length(SlotId slot) const override { return fake_.length(slot); }
  [[nodiscard]] TokenPos decode_tokens_max() const override { return fake_.decode_tokens_max(); }
  [[nodiscard]] bool can_take_back(TokenPos count) const override {
    return fake_.can_take_back(count);
  }
  [[nodiscard]] Result<void> prefill(SlotId slot, TokenSpan chunk,
                                     engine::LogitsOf logits) override {
    note('p', slot, length_of(chunk));
    behind_ms_ += times_.chunk + times_.token * length_of(chunk);
    return fake_.prefill(slot, chunk, logits);
  }
  [[nodiscard]] Result<void> decode(std::span<const engine::DecodeStep> steps) override {
    wait();
    note('d', steps.front().slot, static_cast<TokenPos>(steps.size()));
    pass(times_.step + times_.step_slot * static_cast<double>(steps.size() - 1));
    return fake_.decode(steps);
  }
  [[nodiscard]] Result<engine::Sampled> sample(SlotId slot, engine::Sampler& sampler,
                                               TokenPos row) override {
    wait();
    return fake_.sample(slot, sampler, row);
  }
  [[nodiscard]] std::span<const float> logits(SlotId slot, TokenPos row) override {
    wait();
    return fake_.logits(slot, row);
  }
  [[nodiscard]] bool can_sample_kept() const override { return fake_.can_sample_kept(); }
  [[nodiscard]] std::size_t logits_count() const override { return fake_.logits_count(); }
  [[nodiscard]] Result<engine::Sampled> sample_kept(std::span<const float> logits,
                                                    engine::Sampler& sampler) override {
    return fake_.sample_kept(logits, sampler);
  }
  [[nodiscard]] engine::TruncateAnswer truncate(SlotId slot, TokenPos position) override {
    return fake_.truncate(slot, position);
  }
  [[nodiscard]] bool can_truncate(SlotId slot, TokenPos position) const override {
    return fake_.can_truncate(slot, position);
  }
  void clear(SlotId slot) override { fake_.clear(slot); }
  [[nodiscard]] Result<engine::SavedState> save(SlotId slot,
                                                engine::SaveScope scope) const override {
    wait();
    note('s', slot, 0);
    pass(times_.snapshot);
    return fake_.save(slot, scope);
  }
  [[nodiscard]] Result<void> load(SlotId slot, const engine::SavedStateView& saved) override {
    wait();
    note('r', slot, 0);
    pass(times_.snapshot);
    return fake_.load(slot, saved);
  }
  [[nodiscard]] Result<engine::ExtentRows> save_rows(SlotId slot, TokenPos begin,
                                                     TokenPos end) const override {
    wait();
    note('s', slot, end - begin);
    pass(times_.row * (end - begin));
    return fake_.save_rows(slot, begin, end);
  }
  [[nodiscard]] Result<std::vector<engine::ExtentRows>> save_rows(
      SlotId slot, std::span<const TokenRange> blocks) const override {
    wait();
    for (const TokenRange& block : blocks) {
      note('s', slot, block.length());
      pass(times_.row * block.length());
    }
    return fake_.save_rows(slot, blocks);
  }
  [[nodiscard]] Result<void> restore(SlotId slot, const engine::RestorePoint& point) override {
    wait();
    note('r', slot, length_of(point.tokens));
    pass(times_.snapshot + times_.row * length_of(point.tokens));
    return fake_.restore(slot, point);
  }
  [[nodiscard]] Result<void> normalize(SlotId slot) override { return fake_.normalize(slot); }
  void wait() const override {
    pass(behind_ms_);
    behind_ms_ = 0.0;
  }
  [[nodiscard]] std::vector<std::string> check() const override { return fake_.check(); }

  [[nodiscard]] const std::vector<DoneWork>& done() const { return done_; }
  void set_times(WorkTimes times) { times_ = times; }

 private:
  void pass(double ms) const {
    clock_.advance(std::chrono::nanoseconds(static_cast<std::int64_t>(ms * 1e6)));
  }
  void note(char kind, SlotId slot, TokenPos tokens) const {
    done_.push_back({kind, slot, tokens});
  }

  engine::FakeEngine fake_;
  ManualClock& clock_;
  WorkTimes times_;
  mutable double behind_ms_ = 0.0;
  mutable std::vector<DoneWork> done_;
};

}  // namespace holdfast::serve
