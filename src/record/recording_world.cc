#include "record/recording_world.h"

#include <algorithm>
#include <new>
#include <utility>

namespace holdfast::record {

namespace {

class RecordedClock final : public env::Clock {
 public:
  RecordedClock(const env::Clock& inner, CallNotes& notes) : inner_(inner), notes_(notes) {}
  [[nodiscard]] TimePoint now() const override {
    const TimePoint now = inner_.now();
    notes_.note_time(now);
    return now;
  }
  [[nodiscard]] std::int64_t unix_ms() const override { return inner_.unix_ms(); }

 private:
  const env::Clock& inner_;
  CallNotes& notes_;
};

// For the cache an Error and a failed allocation are the same: there is no copy. Recording both as
// an Error means that a replay needs to know only one of them.
template <typename Copy>
auto no_room_is_an_error(Copy copy) -> decltype(copy()) {
  try {
    return copy();
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kEngine, "There is not enough memory.", ""};
  }
}

class RecordedEngine final : public engine::Engine {
 public:
  RecordedEngine(engine::Engine& inner, CallNotes& notes) : inner_(inner), notes_(notes) {}

  [[nodiscard]] const StateShape& shape() const override { return inner_.shape(); }
  [[nodiscard]] int slot_count() const override { return inner_.slot_count(); }
  [[nodiscard]] TokenPos context_tokens() const override { return inner_.context_tokens(); }
  [[nodiscard]] TokenPos chunk_tokens_max() const override { return inner_.chunk_tokens_max(); }
  [[nodiscard]] TokenPos length(SlotId slot) const override { return inner_.length(slot); }
  [[nodiscard]] TokenPos decode_tokens_max() const override { return inner_.decode_tokens_max(); }
  [[nodiscard]] bool can_take_back(TokenPos count) const override {
    return inner_.can_take_back(count);
  }
  [[nodiscard]] Result<void> prefill(SlotId slot, TokenSpan chunk,
                                     engine::LogitsOf logits) override {
    return inner_.prefill(slot, chunk, logits);
  }
  [[nodiscard]] Result<void> decode(std::span<const engine::DecodeStep> steps) override {
    return inner_.decode(steps);
  }
  [[nodiscard]] Result<engine::Sampled> sample(SlotId slot, engine::Sampler& sampler,
                                               TokenPos row) override {
    return inner_.sample(slot, sampler, row);
  }
  [[nodiscard]] std::span<const float> logits(SlotId slot, TokenPos row) override {
    const auto values = inner_.logits(slot, row);
    notes_.note({AnswerKind::kLogits, true, {values.size()}});
    return values;
  }
  [[nodiscard]] bool can_sample_kept() const override {
    const bool can = inner_.can_sample_kept();
    notes_.note({AnswerKind::kCanSampleKept, can});
    return can;
  }
  [[nodiscard]] std::size_t logits_count() const override {
    const std::size_t count = inner_.logits_count();
    notes_.note({AnswerKind::kLogits, true, {count}});
    return count;
  }
  [[nodiscard]] Result<engine::Sampled> sample_kept(std::span<const float> logits,
                                                    engine::Sampler& sampler) override {
    return inner_.sample_kept(logits, sampler);
  }
  void clear(SlotId slot) override { inner_.clear(slot); }
  void wait() const override { inner_.wait(); }
  [[nodiscard]] std::vector<std::string> check() const override { return inner_.check(); }

  [[nodiscard]] engine::TruncateAnswer truncate(SlotId slot, TokenPos position) override {
    const engine::TruncateAnswer answer = inner_.truncate(slot, position);
    notes_.note({AnswerKind::kTruncate, answer == engine::TruncateAnswer::kDone});
    return answer;
  }
  [[nodiscard]] bool can_truncate(SlotId slot, TokenPos position) const override {
    const bool can = inner_.can_truncate(slot, position);
    notes_.note({AnswerKind::kCanTruncate, can});
    return can;
  }
  [[nodiscard]] Result<engine::SavedState> save(SlotId slot,
                                                engine::SaveScope scope) const override {
    auto saved = no_room_is_an_error([&] { return inner_.save(slot, scope); });
    Answer answer{AnswerKind::kSave, saved.ok()};
    if (saved) answer.numbers = {saved->bytes.size()};
    notes_.note(std::move(answer));
    return saved;
  }
  [[nodiscard]] Result<void> load(SlotId slot, const engine::SavedStateView& state) override {
    return noted(AnswerKind::kLoad, inner_.load(slot, state));
  }
  [[nodiscard]] Result<engine::ExtentRows> save_rows(SlotId slot, TokenPos begin,
                                                     TokenPos end) const override {
    return inner_.save_rows(slot, begin, end);  // the cache asks for blocks
  }
  [[nodiscard]] Result<std::vector<engine::ExtentRows>> save_rows(
      SlotId slot, std::span<const TokenRange> blocks) const override {
    auto rows = no_room_is_an_error([&] { return inner_.save_rows(slot, blocks); });
    Answer answer{AnswerKind::kSaveRows, rows.ok()};
    if (rows) {
      for (const engine::ExtentRows& block : *rows) answer.numbers.push_back(block.bytes.size());
    }
    notes_.note(std::move(answer));
    return rows;
  }
  [[nodiscard]] Result<engine::SavedLater> save_later(SlotId slot,
                                                      std::span<const TokenRange> blocks,
                                                      bool snapshot) const override {
    // Without it both calls below are made, and noted, one by one.
    if (!inner_.saves_later()) return Engine::save_later(slot, blocks, snapshot);
    auto saved = no_room_is_an_error([&] { return inner_.save_later(slot, blocks, snapshot); });
    if (!blocks.empty()) {
      Answer rows{AnswerKind::kSaveRows, saved.ok()};
      if (saved) {
        for (const ArrivingBytesPtr& block : saved->rows) rows.numbers.push_back(block->size());
      }
      notes_.note(std::move(rows));
    }
    if (snapshot && (saved || blocks.empty())) {
      Answer state{AnswerKind::kSave, saved.ok()};
      if (saved) state.numbers = {saved->snapshot->size()};
      notes_.note(std::move(state));
    }
    return saved;
  }
  [[nodiscard]] bool saves_later() const override { return inner_.saves_later(); }
  [[nodiscard]] Result<void> restore(SlotId slot, const engine::RestorePoint& point) override {
    return noted(AnswerKind::kRestore, inner_.restore(slot, point));
  }
  [[nodiscard]] Result<void> normalize(SlotId slot) override {
    return noted(AnswerKind::kNormalize, inner_.normalize(slot));
  }

 private:
  [[nodiscard]] Result<void> noted(AnswerKind kind, Result<void> result) {
    notes_.note({kind, result.ok()});
    return result;
  }

  engine::Engine& inner_;
  CallNotes& notes_;
};

class RecordedCompanion final : public engine::Companion {
 public:
  RecordedCompanion(engine::Companion& inner, CallNotes& notes) : inner_(inner), notes_(notes) {}

  [[nodiscard]] std::string_view name() const noexcept override { return inner_.name(); }
  [[nodiscard]] engine::CompanionShape shape() const noexcept override { return inner_.shape(); }
  [[nodiscard]] engine::Followed follow(SlotId slot,
                                        const engine::CompanionPoint& point) noexcept override {
    const engine::Followed followed = inner_.follow(slot, point);
    Answer answer{AnswerKind::kFollow, followed.missing != nullptr};
    answer.numbers = {static_cast<std::uint64_t>(std::max(followed.held, 0)),
                      static_cast<std::uint64_t>(std::max(followed.from_memory, 0))};
    if (followed.missing != nullptr) answer.text = followed.missing;
    notes_.note(std::move(answer));
    return followed;
  }
  void advance(SlotId slot, TokenSpan kept, TokenPos first_row) noexcept override {
    inner_.advance(slot, kept, first_row);
  }
  void draft(std::span<engine::DraftWish> wishes) noexcept override { inner_.draft(wishes); }
  [[nodiscard]] engine::CompanionSaved save(SlotId slot, std::span<const TokenRange> blocks,
                                            TokenPos length) noexcept override {
    engine::CompanionSaved saved = inner_.save(slot, blocks, length);
    Answer answer{AnswerKind::kCompanionSave, true};
    for (const CheckedBytes& rows : saved.rows) answer.numbers.push_back(rows.bytes.size());
    answer.numbers.push_back(saved.place.bytes.size());
    notes_.note(std::move(answer));
    return saved;
  }

 private:
  engine::Companion& inner_;
  CallNotes& notes_;
};

// What look() and bring() find is not noted here: the cache tells the journal when it takes it.
class RecordedBelow final : public cache::ColdTier {
 public:
  RecordedBelow(cache::ColdTier& inner, CallNotes& notes) : inner_(inner), notes_(notes) {}

  [[nodiscard]] TokenPos deepest(std::span<const tier::PathName> names) const override {
    const TokenPos position = inner_.deepest(names);
    notes_.note({AnswerKind::kDeepest, true, {static_cast<std::uint64_t>(position)}});
    return position;
  }
  [[nodiscard]] cache::ForeignMatch foreign(const cache::ForeignQuestion& question) const override {
    cache::ForeignMatch found = inner_.foreign(question);
    Answer answer{AnswerKind::kForeign, found.agreed > 0};
    answer.numbers = {static_cast<std::uint64_t>(found.agreed)};
    answer.text = found.made_by;
    answer.more_text = found.flags;
    notes_.note(std::move(answer));
    return found;
  }
  [[nodiscard]] double bytes_per_ms() const override {
    const double rate = inner_.bytes_per_ms();
    notes_.note({AnswerKind::kBytesPerMs, true, {}, rate});
    return rate;
  }
  [[nodiscard]] std::shared_ptr<cache::Pending<tier::StoreMatch>> look(SpaceKey space,
                                                                       TokenSpan keys) override {
    return inner_.look(space, keys);
  }
  [[nodiscard]] std::shared_ptr<cache::Pending<cache::Brought>> bring(
      tier::StoreMatch match, cache::ColdChoice choice) override {
    return inner_.bring(std::move(match), std::move(choice));
  }
  void persist(cache::KeptPath path) override { inner_.persist(std::move(path)); }
  void clear(const std::optional<SpaceKey>& only) override { inner_.clear(only); }
  void forget_end(PathEnd end) override { inner_.forget_end(std::move(end)); }
  void distrust(SpaceKey space, const std::string& why) override { inner_.distrust(space, why); }

 private:
  cache::ColdTier& inner_;
  CallNotes& notes_;
};

}  // namespace

RecordedWorld::RecordedWorld(const cache::CacheWorld& inner, CallNotes& notes)
    : engine_(std::make_unique<RecordedEngine>(*inner.engine, notes)),
      clock_(std::make_unique<RecordedClock>(*inner.clock, notes)) {
  if (inner.companion != nullptr) {
    companion_ = std::make_unique<RecordedCompanion>(*inner.companion, notes);
  }
  if (inner.lower != nullptr) below_ = std::make_unique<RecordedBelow>(*inner.lower, notes);
}

cache::CacheWorld RecordedWorld::world() const {
  return {engine_.get(), clock_.get(), companion_.get(), below_.get()};
}

}  // namespace holdfast::record
