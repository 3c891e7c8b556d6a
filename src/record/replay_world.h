// The world that a replayed cache sees. It answers what the recorded world answered, in the same
// order. A state has a size and no content.
//
//   ReplayScript    the recorded answers inside the current call
//   ReplayEngine    its slots are lengths; what it "saves" is memory that nobody touches
//   ReplayClock, ReplayCompanion, ReplayBelow
//
// If the cache asks something else than the recorded one did (another version, another policy), the
// script notes that once, and answers are invented until the end of the call: a state can be
// truncated where the model's shape allows it, nothing fails, time stands still. The next call is
// answered from the recording again.
//
// Invariants, tested in src/serve:
//   REPLAY-1  a slot's length follows from the calls alone, whatever the recording says
//             (HostileRecording.IsRefusedOrReplayedButNeverMore)
//   REPLAY-2  no answer is taken twice, and none is left over without a note
//             (Recording.ReplaysToTheSameReceipts)
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
  // Ends the call. Returns, for people, how it differed from the recorded one; empty: it did not.
  [[nodiscard]] std::string close();

  // The next recorded answer, if it is of this kind.
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

  // The scheduler has brought the slot to this length.
  void set_length(SlotId slot, TokenPos length) { at(slot) = length; }

  [[nodiscard]] const StateShape& shape() const override { return header_.shape; }
  [[nodiscard]] int slot_count() const override { return header_.slots; }
  [[nodiscard]] TokenPos context_tokens() const override { return header_.context_tokens; }
  [[nodiscard]] TokenPos chunk_tokens_max() const override { return header_.chunk_tokens_max; }
  [[nodiscard]] TokenPos length(SlotId slot) const override {
    return lengths_[static_cast<std::size_t>(slot.value)];
  }
  [[nodiscard]] engine::TruncateAnswer truncate(SlotId slot, TokenPos position) override;
  [[nodiscard]] bool can_truncate(SlotId slot, TokenPos position) const override;
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

  // A cache never asks these: there is no model.
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
  // The slot holds `length` tokens if the recorded answer is yes, otherwise none.
  [[nodiscard]] Result<void> brought(AnswerKind kind, SlotId slot, TokenPos length);

  const RecordingHeader header_;
  ReplayScript& script_;
  std::vector<TokenPos> lengths_;
  std::vector<float> logits_;  // all zeros: nobody looks at them
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

// The replayer sets what look() and bring() return pending.
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
  void persist(cache::KeptPath) override {}
  void clear(const std::optional<SpaceKey>&) override {}
  void forget_end(PathEnd) override {}
  void distrust(SpaceKey, const std::string&) override {}

 private:
  ReplayScript& script_;
};

// Says of a state's bytes what was said when it was recorded: in a replay they have no content.
class ReplayJournal final : public cache::CacheJournal {
 public:
  explicit ReplayJournal(ReplayScript& script) : script_(script) {}
  bool intact(std::span<const std::byte>, std::uint64_t) override;

 private:
  ReplayScript& script_;
};

// States as they came up from the tier below, without content.
[[nodiscard]] cache::Brought brought_from(const BroughtOutline& outline);

}  // namespace holdfast::record
