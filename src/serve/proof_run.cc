#include "serve/proof_run.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/conformance.h"
#include "engine/row_distance.h"

namespace holdfast::serve {

namespace {

// Below the attention tile of 64: other kernels than those of a whole chunk.
constexpr TokenPos kSmallChunk = 32;

std::vector<TokenPos> small_cuts(TokenPos position) {
  std::vector<TokenPos> cuts;
  for (TokenPos at = kSmallChunk; at < position; at += kSmallChunk) cuts.push_back(at);
  cuts.push_back(position);
  return cuts;
}

}  // namespace

ProofRun::ProofRun(engine::Engine& engine, const cache::MemoryTier& memory,
                   const NotedRestore& noted, const Grid& grid, SlotId slot, bool exact)
    : engine_(engine), memory_(memory), noted_(noted), slot_(slot), exact_(exact) {
  cuts_ = grid.cuts(TokenSpan(noted.tokens).first(noted.keys.size()));
  if (cuts_.empty() || cuts_.back() != noted.position) cuts_.push_back(noted.position);
}

ProofRun::Outcome ProofRun::step() {
  switch (stage_) {
    case Stage::kCold: return read_cold();
    case Stage::kGap: return measure_gap();
    case Stage::kRestored: return compare();
    case Stage::kSmallChunks: return read_small_chunks();
  }
  return Outcome::kNoProof;
}

// The next chunk up to the place in question. False: the engine failed.
bool ProofRun::read_chunk() {
  const TokenPos begin = engine_.length(slot_);
  const TokenPos end = *std::ranges::upper_bound(cuts_, begin);
  const TokenSpan chunk =
      TokenSpan(noted_.tokens)
          .subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  if (exact_ && !engine_.normalize(slot_)) return false;
  return engine_.prefill(slot_, chunk, engine::LogitsOf::kNone).ok();
}

// The few tokens after the place, from one of them on, and the row of the last.
bool ProofRun::read_to_end(TokenPos from, std::vector<float>& row) {
  const TokenSpan rest = TokenSpan(noted_.tokens).subspan(static_cast<std::size_t>(from));
  if (exact_ && !engine_.normalize(slot_)) return false;
  if (!engine_.prefill(slot_, rest, engine::LogitsOf::kLastToken)) return false;
  const auto logits = engine_.logits(slot_);
  row.assign(logits.begin(), logits.end());
  return true;
}

ProofRun::Outcome ProofRun::read_cold() {
  if (engine_.length(slot_) < noted_.position) {
    return read_chunk() ? Outcome::kGoesOn : Outcome::kNoProof;
  }
  if (!exact_) {
    // To come back to; where there are no such parts, rows are truncated.
    if (auto saved = engine_.save(slot_, engine::SaveScope::kSnapshot)) {
      at_position_ = std::move(*saved);
    }
  }
  if (!read_to_end(noted_.position, cold_)) return Outcome::kNoProof;
  stage_ = exact_ ? Stage::kRestored : Stage::kGap;
  return Outcome::kGoesOn;
}

// What it would make if the state lacked a token.
ProofRun::Outcome ProofRun::measure_gap() {
  const bool back = at_position_
                        ? engine_.load(slot_, *at_position_).ok()
                        : engine_.truncate(slot_, noted_.position) == engine::TruncateAnswer::kDone;
  std::vector<float> row;
  if (!back || !read_to_end(noted_.position + 1, row)) return Outcome::kNoProof;
  at_position_.reset();
  effect_ = engine::row_distance(row, cold_);
  if (!std::isfinite(effect_)) {  // the engine itself gives what is no number
    result_.distance = effect_;
    return conclude(false, 0.0);
  }
  stage_ = Stage::kRestored;
  return Outcome::kGoesOn;
}

ProofRun::Outcome ProofRun::compare() {
  const auto parts = memory_.held.parts_of(noted_.space, noted_.keys);
  const TokenSpan restored = TokenSpan(noted_.tokens).first(noted_.keys.size());
  std::vector<float> row;
  if (!parts || !cache::restore_parts(engine_, slot_, restored, *parts) ||
      !read_to_end(noted_.position, row)) {
    return Outcome::kNoProof;
  }
  result_.distance = engine::row_distance(row, cold_);
  if (exact_) return conclude(engine::same_row(row, cold_), 0.0);
  if (!std::isfinite(result_.distance)) return conclude(false, effect_ / 2.0);
  const double least = engine::kLeastOfEffect * effect_;
  if (result_.distance <= least) return conclude(true, least);
  engine_.clear(slot_);
  cuts_ = small_cuts(noted_.position);
  stage_ = Stage::kSmallChunks;
  return Outcome::kGoesOn;
}

ProofRun::Outcome ProofRun::read_small_chunks() {
  if (engine_.length(slot_) < noted_.position) {
    return read_chunk() ? Outcome::kGoesOn : Outcome::kNoProof;
  }
  std::vector<float> row;
  if (!read_to_end(noted_.position, row)) return Outcome::kNoProof;
  const double rounding = engine::row_distance(row, cold_);
  const double allowed = std::max(engine::kRoundings * rounding, engine::kLeastOfEffect * effect_);
  // Where rounding alone does as much as a missing token, nothing can be told.
  if (result_.distance > allowed && allowed > effect_ / 2.0) return Outcome::kNoProof;
  return conclude(result_.distance <= allowed, allowed);
}

ProofRun::Outcome ProofRun::conclude(bool equal, double allowed) {
  result_.equal = equal;
  result_.allowed = allowed;
  return Outcome::kConcluded;
}

}  // namespace holdfast::serve
