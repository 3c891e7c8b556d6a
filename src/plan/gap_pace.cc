#include "plan/gap_pace.h"

#include <algorithm>
#include <cmath>

namespace holdfast::plan {

namespace {

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

// --- what may be done ------------------------------------------------------------------

double GapPace::limit_ms() const {
  if (options_.target_ms <= 0.0) return std::numeric_limits<double>::infinity();
  double limit = options_.target_ms;
  if (times_.knows_reading()) {
    const double batch = kBatchesInGap * times_.read_ms(options_.tokens_max);
    limit = std::min(limit, std::max(batch, kUnnoticedMs));
  }
  return std::max(limit, step_ms_);
}

bool GapPace::resting() const { return options_.target_ms > 0.0 && rests_.owed(step_ms_); }

// As few pieces as fit the limit, and about equally long.
TokenPos GapPace::piece_of(TokenPos wanted) const {
  TokenPos longest = options_.chunk_min;
  while (longest + kPieceUnit <= wanted && times_.read_ms(longest + kPieceUnit) <= limit_ms()) {
    longest += kPieceUnit;
  }
  const TokenPos pieces = (wanted + longest - 1) / longest;
  const TokenPos even = (wanted + pieces - 1) / pieces;
  const TokenPos units = (even + kPieceUnit - 1) / kPieceUnit;
  return std::clamp(units * kPieceUnit, std::min(options_.chunk_min, wanted),
                    std::min(longest, wanted));
}

TokenPos GapPace::tokens_to_read(TokenPos wanted, Chunks chunks) const {
  if (resting()) return 0;
  if (gap_.tokens > 0) {
    const bool known = times_.knows_reading() || options_.target_ms <= 0.0;
    if (!known || gap_.tokens + wanted > options_.tokens_max) return 0;
  }
  const double ms = times_.read_ms(wanted);
  if (fits(ms) && (chunks == Chunks::kWhole || ms <= limit_ms())) return wanted;
  if (gap_.begun) return 0;
  return piece_of(wanted);
}

bool GapPace::may_copy(ByteCount bytes) const { return fits(times_.copy_ms(bytes)); }

bool GapPace::may_restore(ByteCount bytes) const {
  if (bytes == 0) return true;
  return !resting() && !gap_.restored && may_copy(bytes);
}

ByteCount GapPace::bytes_to_copy(ByteCount wanted) const {
  if (gap_.begun) return may_copy(wanted) ? wanted : 0;
  const double ms = times_.copy_ms(wanted);
  if (ms <= limit_ms()) return wanted;
  // The price of a piece is paid for each of them.
  const double piece = times_.copy_ms(0);
  const double share = std::max(limit_ms() - piece, 0.0) / (ms - piece);
  return std::max<ByteCount>(static_cast<ByteCount>(share * static_cast<double>(wanted)), 1);
}

// --- what was done -----------------------------------------------------------------------

void GapPace::begin_read(TokenPos tokens) {
  gap_.begun = true;
  gap_.tokens += tokens;
  gap_.expected_ms += times_.read_ms(tokens);
  times_.begin_read(tokens);
}

void GapPace::note_read(double ms) {
  if (!times_.note_read(ms)) return;
  gap_.expected_ms = 0.0;
  add_work(ms);
}

void GapPace::note_copied(ByteCount bytes, double ms) {
  times_.note_copied(bytes, ms);
  add_work(ms);
}

void GapPace::note_restored(ByteCount bytes, double ms) {
  note_copied(bytes, ms);
  gap_.restored = gap_.restored || bytes > 0;
}

void GapPace::note_other(double ms) {
  if (ms >= kNothingMs) add_work(ms);
}

void GapPace::add_work(double ms) {
  gap_.begun = true;
  if (ms > 0.0 && std::isfinite(ms)) gap_.ms += ms;
}

void GapPace::note_step(double ms, int writers, int readers) {
  if (!std::isfinite(ms) || ms < 0.0) ms = 0.0;
  const bool noticed = gap_.all_ms() > kNoticedShare * step_ms_;
  const double share = noticed ? kStepShare / 4 : kStepShare;
  if (noticed) {
    const double more = std::max(writers - readers, 0);
    rests_.owe(gap_.all_ms() * more / writers);
  } else {
    rests_.save_step();
  }
  if (ms > 0.0) step_ms_ += step_ms_ > 0.0 ? (ms - step_ms_) * share : ms;
  rests_.pay(ms);
  gap_ = {};
}

void GapPace::nobody_writes() {
  gap_ = {};
  rests_.forgive();
}

std::vector<std::string> GapPace::check() const {
  std::vector<std::string> violations = rests_.check();
  for (const std::string& more : times_.check()) violations.push_back(more);
  for (const double ms : {step_ms_, gap_.ms, gap_.expected_ms}) {
    if (!std::isfinite(ms) || ms < 0.0) violations.push_back("GAP-1: " + std::to_string(ms));
  }
  if (!gap_.begun && (gap_.all_ms() > 0.0 || gap_.tokens > 0)) {
    violations.emplace_back("GAP-2: work in a gap that was not begun");
  }
  return violations;
}

}  // namespace holdfast::plan
