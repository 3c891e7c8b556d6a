#include "serve/prover.h"

#include <algorithm>
#include <cmath>

#include "engine/conformance.h"
#include "engine/row_distance.h"

namespace holdfast::serve {

namespace {

// Read after the place in question, so that there is something to compare.
constexpr TokenPos kAhead = 4;
constexpr int kTriesMax = 3;
// Below the attention tile of 64: other kernels than those of a whole chunk.
constexpr TokenPos kSmallChunk = 32;

std::vector<TokenPos> small_cuts(TokenPos position) {
  std::vector<TokenPos> cuts;
  for (TokenPos at = kSmallChunk; at < position; at += kSmallChunk) cuts.push_back(at);
  cuts.push_back(position);
  return cuts;
}

}  // namespace

std::string Proof::words() const {
  if (equal) return "equal";
  if (std::isinf(distance)) return "the restored state gives a value that is no number";
  const std::string off = "computed again, the logits after it are " +
                          engine::distance_text(distance) + " of their size away";
  return allowed == 0.0 ? off + "; they should have the same bits"
                        : off + "; " + engine::distance_text(allowed) + " would be rounding";
}

Prover::Prover(engine::Engine& engine, cache::StateCache& cache, const Grid& grid,
               ProverOptions options, const env::Clock& clock)
    : engine_(engine), cache_(cache), grid_(grid), options_(options), clock_(clock) {}

void Prover::note(const Restored& restored) {
  due_ += options_.share;
  if (due_ < 1.0) return;
  due_ -= 1.0;
  const auto kept = static_cast<std::size_t>(restored.position);
  Noted noted;
  noted.request = restored.request;
  noted.tenant = restored.tenant;
  noted.space = restored.space;
  noted.position = restored.position;
  noted.keys.assign(restored.keys.begin(), restored.keys.begin() + restored.position);
  noted.tokens.assign(restored.tokens.begin(), restored.tokens.begin() + restored.position);
  // Where the prompt ends there, its beginning does as well as anything.
  for (std::size_t i = 0; i < kAhead; ++i) {
    const bool more = kept + i < restored.tokens.size();
    noted.tokens.push_back(restored.tokens[more ? kept + i : i % restored.tokens.size()]);
  }
  if (length_of(noted.tokens) > engine_.context_tokens()) return;
  const bool full = noted_.size() == kNotedMax;
  if (full && work_) return;  // the first is under way
  if (full) {
    noted_.pop_front();
    ++counts_.unmade;
  }
  noted_.push_back(std::move(noted));
}

std::optional<SlotId> Prover::spare_slot() const {
  std::optional<SlotId> spare;
  for (int i = 0; i < engine_.slot_count(); ++i) {
    const SlotId slot{i};
    if (!cache_.live().can_spare(slot)) continue;
    if (cache_.slots()[slot].length() == 0) return slot;
    // The one that was used longest ago.
    if (!spare || cache_.slots()[slot].run < cache_.slots()[*spare].run) spare = slot;
  }
  return spare;
}

bool Prover::begin() {
  const auto slot = spare_slot();
  if (!slot) return false;
  if (cache_.slots()[*slot].length() > 0) cache_.transfer().erase(*slot);
  const Noted& noted = noted_.front();
  work_ = std::make_unique<Work>();
  Work& work = *work_;
  work.slot = *slot;
  work.began = clock_.now();
  const TokenSpan restored = TokenSpan(noted.tokens).first(noted.keys.size());
  work.cuts = grid_.cuts(restored);
  if (work.cuts.empty() || work.cuts.back() != noted.position) work.cuts.push_back(noted.position);
  return true;
}

// The state is not there, the engine failed, or no slot can be had: no proof.
void Prover::give_up() {
  if (work_) engine_.clear(work_->slot);
  work_.reset();
  noted_.pop_front();
  ++counts_.unmade;
}

void Prover::yield() {
  if (!work_) return;
  engine_.clear(work_->slot);
  work_.reset();
  if (++noted_.front().tries >= kTriesMax) give_up();
}

std::optional<Proof> Prover::step() {
  if (!work_ && !begin()) {
    give_up();
    return std::nullopt;
  }
  switch (work_->stage) {
    case Stage::kCold: return after_cold();
    case Stage::kGap: return measure_gap();
    case Stage::kRestored: return compare();
    case Stage::kSmallChunks: return after_small_chunks();
  }
  return std::nullopt;
}

// The next chunk up to the place in question. False: the engine failed.
bool Prover::read_chunk() {
  const TokenPos begin = engine_.length(work_->slot);
  const TokenPos end = *std::ranges::upper_bound(work_->cuts, begin);
  const TokenSpan chunk =
      TokenSpan(noted_.front().tokens)
          .subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  if (options_.exact && !engine_.normalize(work_->slot)) return false;
  return engine_.prefill(work_->slot, chunk, engine::LogitsOf::kNone).ok();
}

// The few tokens after the place, from one of them on, and the row of the last.
bool Prover::read_to_end(TokenPos from, std::vector<float>& row) {
  const TokenSpan rest = TokenSpan(noted_.front().tokens).subspan(static_cast<std::size_t>(from));
  if (options_.exact && !engine_.normalize(work_->slot)) return false;
  if (!engine_.prefill(work_->slot, rest, engine::LogitsOf::kLastToken)) return false;
  const auto logits = engine_.logits(work_->slot);
  row.assign(logits.begin(), logits.end());
  return true;
}

std::optional<Proof> Prover::after_cold() {
  const TokenPos position = noted_.front().position;
  if (engine_.length(work_->slot) < position) {
    if (!read_chunk()) give_up();
    return std::nullopt;
  }
  if (!options_.exact) {
    // To come back to; where there are no such parts, rows are cut.
    if (auto saved = engine_.save(work_->slot, engine::SaveScope::kSnapshot)) {
      work_->at_position = std::move(*saved);
    }
  }
  if (!read_to_end(position, work_->cold)) {
    give_up();
    return std::nullopt;
  }
  work_->stage = options_.exact ? Stage::kRestored : Stage::kGap;
  return std::nullopt;
}

// What it would make if the state lacked a token.
std::optional<Proof> Prover::measure_gap() {
  const TokenPos position = noted_.front().position;
  const bool back = work_->at_position
                        ? engine_.load(work_->slot, *work_->at_position).ok()
                        : engine_.cut(work_->slot, position) == engine::CutAnswer::kDone;
  std::vector<float> row;
  if (!back || !read_to_end(position + 1, row)) {
    give_up();
    return std::nullopt;
  }
  work_->at_position.reset();
  work_->effect = engine::row_distance(row, work_->cold);
  if (!std::isfinite(work_->effect)) {  // the engine itself gives what is no number
    work_->distance = work_->effect;
    return conclude(false, 0.0);
  }
  work_->stage = Stage::kRestored;
  return std::nullopt;
}

std::optional<Proof> Prover::compare() {
  const Noted& noted = noted_.front();
  const auto parts = cache_.memory().parts_of(noted.space, noted.keys);
  const TokenSpan restored = TokenSpan(noted.tokens).first(noted.keys.size());
  std::vector<float> row;
  if (!parts || !cache::restore_parts(engine_, work_->slot, restored, *parts) ||
      !read_to_end(noted.position, row)) {
    give_up();
    return std::nullopt;
  }
  work_->distance = engine::row_distance(row, work_->cold);
  if (options_.exact) return conclude(engine::same_row(row, work_->cold), 0.0);
  if (!std::isfinite(work_->distance)) return conclude(false, work_->effect / 2.0);
  const double least = engine::kLeastOfEffect * work_->effect;
  if (work_->distance <= least) return conclude(true, least);
  engine_.clear(work_->slot);
  work_->cuts = small_cuts(noted.position);
  work_->stage = Stage::kSmallChunks;
  return std::nullopt;
}

std::optional<Proof> Prover::after_small_chunks() {
  const TokenPos position = noted_.front().position;
  if (engine_.length(work_->slot) < position) {
    if (!read_chunk()) give_up();
    return std::nullopt;
  }
  std::vector<float> row;
  if (!read_to_end(position, row)) {
    give_up();
    return std::nullopt;
  }
  const double rounding = engine::row_distance(row, work_->cold);
  const double allowed =
      std::max(engine::kRoundings * rounding, engine::kLeastOfEffect * work_->effect);
  // Where rounding alone does as much as a missing token, nothing can be told.
  if (work_->distance > allowed && allowed > work_->effect / 2.0) {
    give_up();
    return std::nullopt;
  }
  return conclude(work_->distance <= allowed, allowed);
}

Proof Prover::conclude(bool equal, double allowed) {
  Noted& noted = noted_.front();
  Proof proof;
  proof.request = std::move(noted.request);
  proof.tenant = std::move(noted.tenant);
  proof.space = noted.space;
  proof.position = noted.position;
  proof.equal = equal;
  proof.distance = work_->distance;
  proof.allowed = allowed;
  proof.ms = env::ms_between(work_->began, clock_.now());
  engine_.clear(work_->slot);
  work_.reset();
  noted_.pop_front();
  counts_.seconds += proof.ms / 1000.0;
  ++(equal ? counts_.equal : counts_.different);
  return proof;
}

}  // namespace holdfast::serve
