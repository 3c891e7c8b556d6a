// The world that a replayed cache sees: it answers what the recorded one answered, in the same
// order, and a state has a size and no content.
//
//   ReplayScript    the answers of the call at hand
//   ReplayEngine    slots that are lengths; what it "saves" is memory that nobody touches
//   ReplayClock, ReplayCompanion, ReplayBelow
//
// Where the cache asks something else than it did (another version, another policy), the script
// says so once, and until the end of the call answers are made up: a state can be cut where the
// model's shape allows it, nothing fails, time stands still. The next call starts over.
//
// Invariants, verified by the tests:
//   Y1  a slot's length follows from the calls alone, whatever the recording says
//   Y2  no answer is taken twice, or left over unnoticed
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/cache_journal.h"
#include "record/recording_events.h"

namespace holdfast::record {

class ReplayScript {
 public:
  void open(CacheEvent& call);
  // Returns how the call differed from the recorded one, for people; empty: it did not.
  [[nodiscard]] std::string close();

  // The next answer, if it is one to such a question.
  [[nodiscard]] std::optional<Answer> take(AnswerKind kind);
  [[nodiscard]] env::Clock::TimePoint now();

 private:
  void differ(std::string how);

  std::vector<Answer> answers_;
  std::size_t next_answer_ = 0;
  std::vector<std::int64_t> clock_ns_;
  std::size_t next_time_ = 0;
  std::int64_t ns_ = 0;
  std::string difference_;
};

class ReplayClock final : public env::Clock {
 public:
  explicit ReplayClock(ReplayScript& script) : script_(script) {}
  [[nodiscard]] TimePoint now() const override { return script_.now(); }
  [[nodiscard]] std::int64_t unix_ms() const override { return 0; }

 private:
  ReplayScript& script_;
};

class ReplayEngine final : public engine::Engine {
 public:
  ReplayEngine(const RecordingHeader& header, ReplayScript& script);

  // What the scheduler did with the engine.
  void set_length(SlotId slot, TokenPos length) { at(slot) = length; }

  [[nodiscard]] const StateShape& shape() const override { return header_.shape; }
  [[nodiscard]] int slot_count() const override { return header_.slots; }
  [[nodiscard]] TokenPos context_tokens() const override { return header_.context_tokens; }
  [[nodiscard]] TokenPos chunk_tokens_max() const override { return header_.chunk_tokens_max; }
  [[nodiscard]] TokenPos length(SlotId slot) const override {
    return lengths_[static_cast<std::size_t>(slot.value)];
  }
  [[nodiscard]] engine::CutAnswer cut(SlotId slot, TokenPos position) override;
  [[nodiscard]] bool can_cut(SlotId slot, TokenPos position) const override;
  void clear(SlotId slot) override { at(slot) = 0; }
  [[nodiscard]] Result<engine::SavedState> save(SlotId slot,
                                                engine::SaveScope scope) const override;
  [[nodiscard]] Result<void> load(SlotId slot, const engine::SavedStateView& state) override;
  [[nodiscard]] Result<std::vector<engine::ExtentRows>> save_rows(
      SlotId slot, std::span<const TokenRange> blocks) const override;
  [[nodiscard]] Result<void> restore(SlotId slot, const engine::RestorePoint& point) override;
  [[nodiscard]] Result<void> normalize(SlotId slot) override;
  [[nodiscard]] bool can_sample_kept() const override;
  [[nodiscard]] std::size_t logits_count() const override;
  [[nodiscard]] std::span<const float> logits(SlotId, TokenPos) override;
  void wait() const override {}
  [[nodiscard]] std::vector<std::string> check() const override { return {}; }

  // Never asked by a cache: there is no model.
  [[nodiscard]] TokenPos decode_tokens_max() const override { return 1; }
  [[nodiscard]] bool can_take_back(TokenPos) const override { return false; }
  [[nodiscard]] Result<void> prefill(SlotId, TokenSpan, engine::LogitsOf) override;
  [[nodiscard]] Result<void> decode(std::span<const engine::DecodeStep>) override;
  [[nodiscard]] Result<engine::Sampled> sample(SlotId, engine::Sampler&, TokenPos) override;
  [[nodiscard]] Result<engine::Sampled> sample_kept(std::span<const float>,
                                                    engine::Sampler&) override;
  [[nodiscard]] Result<engine::ExtentRows> save_rows(SlotId, TokenPos, TokenPos) const override;

 private:
  [[nodiscard]] TokenPos& at(SlotId slot) { return lengths_[static_cast<std::size_t>(slot.value)]; }
  // The slot holds `length` tokens if the answer is yes, else none.
  [[nodiscard]] Result<void> brought(AnswerKind kind, SlotId slot, TokenPos length);

  const RecordingHeader header_;
  ReplayScript& script_;
  std::vector<TokenPos> lengths_;
  std::vector<float> logits_;  // all alike: nobody looks
};

class ReplayCompanion final : public engine::Companion {
 public:
  ReplayCompanion(const RecordingHeader& header, ReplayScript& script)
      : name_(header.companion), shape_(header.companion_shape), script_(script) {}

  [[nodiscard]] std::string_view name() const noexcept override { return name_; }
  [[nodiscard]] engine::CompanionShape shape() const noexcept override { return shape_; }
  [[nodiscard]] engine::Followed follow(SlotId slot,
                                        const engine::CompanionPoint& point) noexcept override;
  void advance(SlotId, TokenSpan, TokenPos) noexcept override {}
  void draft(std::span<engine::DraftWish>) noexcept override {}
  [[nodiscard]] engine::CompanionSaved save(SlotId slot, std::span<const TokenRange> blocks,
                                            TokenPos length) noexcept override;

 private:
  const std::string name_;
  const engine::CompanionShape shape_;
  ReplayScript& script_;
  std::string missing_;  // of the latest follow
};

// Whoever replays sets what is pending.
class ReplayBelow final : public cache::ColdTier {
 public:
  explicit ReplayBelow(ReplayScript& script) : script_(script) {}

  [[nodiscard]] TokenPos deepest(std::span<const tier::PathName> names) const override;
  [[nodiscard]] cache::ForeignMatch foreign(const cache::ForeignQuestion& question) const override;
  [[nodiscard]] double bytes_per_ms() const override;
  [[nodiscard]] std::shared_ptr<cache::Pending<tier::StoreMatch>> look(SpaceKey,
                                                                       TokenSpan) override {
    return std::make_shared<cache::Pending<tier::StoreMatch>>();
  }
  [[nodiscard]] std::shared_ptr<cache::Pending<cache::Brought>> bring(tier::StoreMatch,
                                                                      cache::ColdChoice) override {
    return std::make_shared<cache::Pending<cache::Brought>>();
  }
  void keep(cache::KeptPath) override {}
  void clear() override {}
  void distrust(SpaceKey, const std::string&) override {}

 private:
  ReplayScript& script_;
};

// Says of bytes what was said of them then: here they have no content.
class ReplayJournal final : public cache::CacheJournal {
 public:
  explicit ReplayJournal(ReplayScript& script) : script_(script) {}
  bool intact(std::span<const std::byte>, std::uint64_t) override;

 private:
  ReplayScript& script_;
};

// States as they came up, without content.
[[nodiscard]] cache::Brought brought_from(const BroughtOutline& outline);

}  // namespace holdfast::record
