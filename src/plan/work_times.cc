#include "plan/work_times.h"

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

}  // namespace

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

double WorkTimes::copy_ms(ByteCount bytes) const {
  const auto size = static_cast<double>(bytes);
  return copying_.known() ? copying_.ms(1.0, size) : size * kCopyMsPerByte;
}

void WorkTimes::begin_read(TokenPos tokens) {
  unmeasured_ += tokens;
  ++unmeasured_chunks_;
}

bool WorkTimes::note_read(double ms) {
  if (unmeasured_chunks_ == 0) return false;
  reading_.note(unmeasured_chunks_, static_cast<double>(unmeasured_), ms);
  unmeasured_ = 0;
  unmeasured_chunks_ = 0;
  return true;
}

std::vector<std::string> WorkTimes::check() const {
  std::vector<std::string> violations;
  for (const double ms : {read_ms(64), copy_ms(1 << 20)}) {
    if (!std::isfinite(ms) || ms < 0.0) violations.push_back("WORK-1: " + std::to_string(ms));
  }
  return violations;
}

}  // namespace holdfast::plan
