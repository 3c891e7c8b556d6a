#include "record/replay_world.h"

#include <algorithm>
#include <utility>

namespace holdfast::record {

namespace {

// Nobody touches these bytes, so the system never gives memory for them.
StateBytes untouched(ByteCount size) { return StateBytes(static_cast<std::size_t>(size)); }

Error failed() { return {ErrorCode::kEngine, "It failed when it was recorded.", ""}; }
Error no_model() { return {ErrorCode::kUnsupported, "A replay has no model.", ""}; }

}  // namespace

// --- the script ------------------------------------------------------------------------

void ReplayScript::open(CacheEvent& call) {
  answers_ = std::move(call.answers);
  clock_ns_ = std::move(call.clock_ns);
  next_answer_ = next_time_ = 0;
  difference_.clear();
}

void ReplayScript::differ(std::string how) {
  if (difference_.empty()) difference_ = std::move(how);
  next_answer_ = answers_.size();
}

std::string ReplayScript::close() {
  if (next_answer_ < answers_.size()) {
    differ(std::string("the recording goes on with '") +
           answer_kind_name(answers_[next_answer_].kind) + "', which was not asked again");
  }
  // Recorded time passes whether the cache asked for it or not.
  if (next_time_ < clock_ns_.size()) differ("the clock was read less often");
  while (next_time_ < clock_ns_.size()) ns_ += clock_ns_[next_time_++];
  answers_.clear();
  clock_ns_.clear();
  next_answer_ = next_time_ = 0;
  return std::exchange(difference_, {});
}

std::optional<Answer> ReplayScript::take(AnswerKind kind) {
  if (next_answer_ == answers_.size()) {
    differ(std::string("'") + answer_kind_name(kind) + "' was not asked when it was recorded");
    return std::nullopt;
  }
  if (answers_[next_answer_].kind != kind) {
    differ(std::string("'") + answer_kind_name(kind) + "' is asked where '" +
           answer_kind_name(answers_[next_answer_].kind) + "' was");
    return std::nullopt;
  }
  return std::move(answers_[next_answer_++]);
}

env::Clock::TimePoint ReplayScript::now() {
  if (next_time_ < clock_ns_.size()) {
    ns_ += clock_ns_[next_time_++];
  } else {
    if (difference_.empty()) difference_ = "the clock was read more often";
  }
  return env::Clock::TimePoint(
      std::chrono::duration_cast<env::Clock::TimePoint::duration>(std::chrono::nanoseconds(ns_)));
}

// --- the engine ------------------------------------------------------------------------

ReplayEngine::ReplayEngine(const RecordingHeader& header, ReplayScript& script)
    : header_(header), script_(script), lengths_(static_cast<std::size_t>(header.slots)) {}

bool ReplayEngine::can_truncate(SlotId slot, TokenPos position) const {
  if (const auto answer = script_.take(AnswerKind::kCanTruncate)) return answer->yes;
  return position == 0 || position == length(slot) || header_.shape.truncates_anywhere();
}

engine::TruncateAnswer ReplayEngine::truncate(SlotId slot, TokenPos position) {
  const auto answer = script_.take(AnswerKind::kTruncate);
  if (position > length(slot) || (answer && !answer->yes)) return engine::TruncateAnswer::kRefused;
  at(slot) = position;
  return engine::TruncateAnswer::kDone;
}

Result<engine::SavedState> ReplayEngine::save(SlotId slot, engine::SaveScope scope) const {
  const auto answer = script_.take(AnswerKind::kSave);
  if (answer && !answer->yes) return failed();
  engine::SavedState saved;
  saved.scope = scope;
  saved.length = length(slot);
  const bool sized = answer && answer->numbers.size() == 1;
  ByteCount size = sized ? answer->numbers[0] : header_.shape.bytes_per_snapshot();
  saved.bytes = untouched(std::clamp<ByteCount>(size, 1, kRecordedStateMax));
  return saved;
}

Result<std::vector<engine::ExtentRows>> ReplayEngine::save_rows(
    SlotId, std::span<const TokenRange> blocks) const {
  const auto answer = script_.take(AnswerKind::kSaveRows);
  if (answer && !answer->yes) return failed();
  const bool sized = answer && answer->numbers.size() == blocks.size();
  const Part* extent = header_.shape.find(PartKind::kExtent);
  std::vector<engine::ExtentRows> rows;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    engine::ExtentRows& made = rows.emplace_back();
    made.begin = blocks[i].begin;
    made.end = blocks[i].end;
    const auto tokens = static_cast<ByteCount>(blocks[i].length());
    const ByteCount usual = extent != nullptr ? tokens * extent->bytes_per_token : 1;
    made.bytes =
        untouched(std::clamp<ByteCount>(sized ? answer->numbers[i] : usual, 1, kRecordedStateMax));
  }
  return rows;
}

Result<void> ReplayEngine::brought(AnswerKind kind, SlotId slot, TokenPos length) {
  const auto answer = script_.take(kind);
  const bool done = !answer || answer->yes;
  at(slot) = done ? length : 0;
  if (!done) return failed();
  return {};
}

Result<void> ReplayEngine::load(SlotId slot, const engine::SavedStateView& state) {
  return brought(AnswerKind::kLoad, slot, state.length);
}

Result<void> ReplayEngine::restore(SlotId slot, const engine::RestorePoint& point) {
  return brought(AnswerKind::kRestore, slot, length_of(point.tokens));
}

Result<void> ReplayEngine::normalize(SlotId slot) {
  return brought(AnswerKind::kNormalize, slot, length(slot));
}

bool ReplayEngine::can_sample_kept() const {
  const auto answer = script_.take(AnswerKind::kCanSampleKept);
  return !answer || answer->yes;
}

std::size_t ReplayEngine::logits_count() const {
  const auto answer = script_.take(AnswerKind::kLogits);
  constexpr std::uint64_t kMost = 1 << 24;
  const bool sized = answer && answer->numbers.size() == 1;
  return sized ? std::min(answer->numbers[0], kMost) : 0;
}

std::span<const float> ReplayEngine::logits(SlotId, TokenPos) {
  logits_.resize(logits_count());
  return logits_;
}

Result<engine::Sampled> ReplayEngine::sample_kept(std::span<const float>, engine::Sampler&) {
  return no_model();
}
Result<void> ReplayEngine::prefill(SlotId, TokenSpan, engine::LogitsOf) { return no_model(); }
Result<void> ReplayEngine::decode(std::span<const engine::DecodeStep>) { return no_model(); }
Result<engine::Sampled> ReplayEngine::sample(SlotId, engine::Sampler&, TokenPos) {
  return no_model();
}
Result<engine::ExtentRows> ReplayEngine::save_rows(SlotId, TokenPos, TokenPos) const {
  return no_model();
}

// --- the others ------------------------------------------------------------------------

engine::Followed ReplayCompanion::follow(SlotId, const engine::CompanionPoint& point) noexcept {
  auto answer = script_.take(AnswerKind::kFollow);
  if (!answer) return {length_of(point.tokens), 0, nullptr};
  missing_ = std::move(answer->text);
  return {static_cast<TokenPos>(answer->numbers[0]), static_cast<TokenPos>(answer->numbers[1]),
          answer->yes ? missing_.c_str() : nullptr};
}

engine::CompanionSaved ReplayCompanion::save(SlotId, std::span<const TokenRange> blocks,
                                             TokenPos) noexcept {
  engine::CompanionSaved saved;
  const auto answer = script_.take(AnswerKind::kCompanionSave);
  saved.rows.resize(blocks.size());
  if (!answer || answer->numbers.empty()) return saved;
  const auto& sizes = answer->numbers;
  for (std::size_t i = 0; i < std::min(blocks.size(), sizes.size() - 1); ++i) {
    saved.rows[i].bytes = untouched(sizes[i]);
  }
  saved.place.bytes = untouched(sizes.back());
  return saved;
}

TokenPos ReplayBelow::deepest(std::span<const tier::PathName>) const {
  const auto answer = script_.take(AnswerKind::kDeepest);
  if (!answer || answer->numbers.size() != 1) return 0;
  constexpr std::uint64_t kMost = std::numeric_limits<TokenPos>::max();
  return static_cast<TokenPos>(std::min(answer->numbers[0], kMost));
}

cache::ForeignMatch ReplayBelow::foreign(const cache::ForeignQuestion&) const {
  auto answer = script_.take(AnswerKind::kForeign);
  if (!answer || answer->numbers.size() != 1) return {};
  return {static_cast<TokenPos>(answer->numbers[0]), std::move(answer->text),
          std::move(answer->more_text)};
}

double ReplayBelow::bytes_per_ms() const {
  const auto answer = script_.take(AnswerKind::kBytesPerMs);
  return answer ? answer->real : 1.0;
}

bool ReplayJournal::intact(std::span<const std::byte>, std::uint64_t) {
  const auto answer = script_.take(AnswerKind::kIntact);
  return !answer || answer->yes;
}

cache::Brought brought_from(const BroughtOutline& outline) {
  cache::Brought brought;
  std::vector<ExtentBlockPtr> blocks;
  for (const BroughtOutline::Block& block : outline.blocks) {
    blocks.push_back(std::make_shared<const ExtentBlock>(
        block.range, untouched(block.bytes), 0, CheckedBytes{untouched(block.companion), 0}));
  }
  for (const BroughtOutline::Use& use : outline.uses) {
    brought.rows.push_back({blocks[use.block], use.range});
  }
  if (outline.place > 0) {
    brought.snapshot =
        std::make_shared<const Snapshot>(outline.place, untouched(outline.place_bytes), 0,
                                         CheckedBytes{untouched(outline.place_companion), 0});
  }
  brought.logits = {untouched(outline.logits), 0};
  brought.marks = hints_of(outline.marks);
  brought.bytes = outline.bytes;
  brought.all = outline.all;
  return brought;
}

}  // namespace holdfast::record
