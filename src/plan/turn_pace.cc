#include "plan/turn_pace.h"

#include <algorithm>
#include <cmath>

namespace holdfast::plan {

namespace {

// What a time counts when the next one is noted.
constexpr double kFading = 0.6;
// Pieces are told apart from their size where they differ at least this much.
constexpr double kToldApart = 0.02;
// Before any copy was measured: two gigabytes in a second, which is slow.
constexpr double kCopyMsPerByte = 5e-7;
// Pieces of a chunk are whole rows of the engine's kernels.
constexpr TokenPos kPieceUnit = 32;
// A gap with more work than this part of a step is noticed.
constexpr double kNoticedShare = 0.2;
// A gap takes no longer than this many batches of `tokens_max` tokens: a batch, and some copying.
constexpr double kBatchesInGap = 1.25;
// Nobody notices a single gap of this length, however fast the model is.
constexpr double kUnnoticedMs = 50.0;
// Work of less is none.
constexpr double kNothingMs = 1.0;
// The latest step's part in what a step is taken to last; a quarter of that after work, where a
// GPU is slower.
constexpr double kStepShare = 0.125;

}  // namespace

// --- times ---------------------------------------------------------------------------

void PieceTimes::note(double pieces, double size, double ms) {
  if (!(ms > 0.0) || !(size > 0.0) || !std::isfinite(ms)) return;
  if (known()) ms = std::min(ms, std::max(2.0 * this->ms(pieces, size), ms / 8.0));
  for (double* sum :
       {&weight_, &pieces_pieces_, &pieces_size_, &size_size_, &pieces_ms_, &size_ms_}) {
    *sum *= kFading;
  }
  weight_ += 1.0;
  pieces_pieces_ += pieces * pieces;
  pieces_size_ += pieces * size;
  size_size_ += size * size;
  pieces_ms_ += pieces * ms;
  size_ms_ += size * ms;
}

// Least squares; neither price is negative.
PieceTimes::Prices PieceTimes::prices() const {
  const double both = pieces_pieces_ * size_size_;
  const double apart = both - pieces_size_ * pieces_size_;
  const Prices by_size{0.0, size_ms_ / size_size_};
  if (apart < kToldApart * both) return by_size;
  const double piece = (pieces_ms_ * size_size_ - size_ms_ * pieces_size_) / apart;
  const double size = (size_ms_ * pieces_pieces_ - pieces_ms_ * pieces_size_) / apart;
  if (piece < 0.0) return by_size;
  if (size < 0.0) return {pieces_ms_ / pieces_pieces_, 0.0};
  return {piece, size};
}

double PieceTimes::ms(double pieces, double size) const {
  if (!known()) return 0.0;
  const Prices now = prices();
  return pieces * now.piece + size * now.size;
}

double TurnPace::read_ms(TokenPos tokens) const {
  return reading_.ms(1.0, static_cast<double>(tokens));
}

double TurnPace::copy_ms(ByteCount bytes) const {
  const auto size = static_cast<double>(bytes);
  return copying_.known() ? copying_.ms(1.0, size) : size * kCopyMsPerByte;
}

// --- what may be done ------------------------------------------------------------------

double TurnPace::limit_ms() const {
  if (options_.target_ms <= 0.0) return std::numeric_limits<double>::infinity();
  double limit = options_.target_ms;
  if (reading_.known()) {
    const double batch = kBatchesInGap * read_ms(options_.tokens_max);
    limit = std::min(limit, std::max(batch, kUnnoticedMs));
  }
  return std::max(limit, step_ms_);
}

// Rounded to whole steps.
bool TurnPace::resting() const {
  return options_.target_ms > 0.0 && quiet_ < 0 && owed_ms_ > step_ms_ / 2;
}

// As few pieces as fit the limit, and about equally long.
TokenPos TurnPace::piece_of(TokenPos wanted) const {
  TokenPos longest = options_.chunk_min;
  while (longest + kPieceUnit <= wanted && read_ms(longest + kPieceUnit) <= limit_ms()) {
    longest += kPieceUnit;
  }
  const TokenPos pieces = (wanted + longest - 1) / longest;
  const TokenPos even = (wanted + pieces - 1) / pieces;
  const TokenPos units = (even + kPieceUnit - 1) / kPieceUnit;
  return std::clamp(units * kPieceUnit, std::min(options_.chunk_min, wanted),
                    std::min(longest, wanted));
}

TokenPos TurnPace::tokens_to_read(TokenPos wanted, Chunks chunks) const {
  if (resting()) return 0;
  if (gap_.tokens > 0) {
    const bool known = reading_.known() || options_.target_ms <= 0.0;
    if (!known || gap_.tokens + wanted > options_.tokens_max) return 0;
  }
  const double ms = read_ms(wanted);
  if (fits(ms) && (chunks == Chunks::kWhole || ms <= limit_ms())) return wanted;
  if (gap_.begun) return 0;
  return piece_of(wanted);
}

bool TurnPace::may_copy(ByteCount bytes) const { return fits(copy_ms(bytes)); }

bool TurnPace::may_restore(ByteCount bytes) const {
  if (bytes == 0) return true;
  return !resting() && !gap_.restored && may_copy(bytes);
}

ByteCount TurnPace::bytes_to_copy(ByteCount wanted) const {
  if (gap_.begun) return may_copy(wanted) ? wanted : 0;
  const double ms = copy_ms(wanted);
  if (ms <= limit_ms()) return wanted;
  // The price of a piece is paid for each of them.
  const double piece = copy_ms(0);
  const double share = std::max(limit_ms() - piece, 0.0) / (ms - piece);
  return std::max<ByteCount>(static_cast<ByteCount>(share * static_cast<double>(wanted)), 1);
}

// --- what was done -----------------------------------------------------------------------

void TurnPace::begin_read(TokenPos tokens) {
  gap_.begun = true;
  gap_.tokens += tokens;
  gap_.expected_ms += read_ms(tokens);
  unmeasured_ += tokens;
  ++unmeasured_chunks_;
}

void TurnPace::note_read(double ms) {
  if (unmeasured_chunks_ == 0) return;
  reading_.note(unmeasured_chunks_, static_cast<double>(unmeasured_), ms);
  unmeasured_ = 0;
  unmeasured_chunks_ = 0;
  gap_.expected_ms = 0.0;
  add_work(ms);
}

void TurnPace::note_copied(ByteCount bytes, double ms) {
  copying_.note(1.0, static_cast<double>(bytes), ms);
  add_work(ms);
}

void TurnPace::note_restored(ByteCount bytes, double ms) {
  note_copied(bytes, ms);
  gap_.restored = gap_.restored || bytes > 0;
}

void TurnPace::note_other(double ms) {
  if (ms >= kNothingMs) add_work(ms);
}

void TurnPace::add_work(double ms) {
  gap_.begun = true;
  if (ms > 0.0 && std::isfinite(ms)) gap_.ms += ms;
}

bool TurnPace::noticed() const { return gap_ms() > kNoticedShare * step_ms_; }

void TurnPace::note_step(double ms, int writers, int readers) {
  if (!std::isfinite(ms) || ms < 0.0) ms = 0.0;
  const double share = noticed() ? kStepShare / 4 : kStepShare;
  if (noticed()) {
    quiet_ = std::max(quiet_, 0) - options_.quiet_steps;
    const double more = std::max(writers - readers, 0);
    owed_ms_ = gap_ms() * more / writers;
  } else {
    quiet_ = std::min(quiet_ + 1, kSavedGaps * options_.quiet_steps);
  }
  if (ms > 0.0) step_ms_ += step_ms_ > 0.0 ? (ms - step_ms_) * share : ms;
  owed_ms_ = std::max(owed_ms_ - ms, 0.0);
  gap_ = {};
}

void TurnPace::nobody_writes() {
  gap_ = {};
  quiet_ = std::max(quiet_, 0);
  owed_ms_ = 0.0;
}

std::vector<std::string> TurnPace::check() const {
  std::vector<std::string> violations;
  if (quiet_ < -options_.quiet_steps || quiet_ > kSavedGaps * options_.quiet_steps) {
    violations.push_back("PACE-1: " + std::to_string(quiet_) + " quiet steps");
  }
  for (const double ms :
       {step_ms_, gap_.ms, gap_.expected_ms, owed_ms_, reading_.ms(1.0, 64.0), copy_ms(1 << 20)}) {
    if (!std::isfinite(ms) || ms < 0.0) violations.push_back("PACE-2: " + std::to_string(ms));
  }
  if (!gap_.begun && (gap_ms() > 0.0 || gap_.tokens > 0)) violations.push_back("PACE-3");
  return violations;
}

}  // namespace holdfast::plan
