#include "cache/measured_costs.h"

#include <algorithm>

namespace holdfast::cache {

namespace {

// What reading a token is taken to cost, in bytes moved: see StartCosts.
constexpr ByteCount kTokenCostMin = 64 << 10;
constexpr ByteCount kTokenCostMax = 64 << 20;
constexpr ByteCount kAnyTokenCost = 4 << 20;

// The latest measurement's part in what is taken to be true.
constexpr double kLatest = 1.0 / 8.0;

}  // namespace

void MeasuredCosts::note_read(TokenPos tokens, double ms) {
  constexpr TokenPos kEnoughToMeasure = 64;
  if (tokens < kEnoughToMeasure || ms <= 0.0) return;
  const double measured = ms / tokens;
  ms_per_token_ += ms_per_token_ > 0.0 ? (measured - ms_per_token_) * kLatest : measured;
}

void MeasuredCosts::note_moved(ByteCount bytes, double ms) {
  constexpr ByteCount kEnoughToMeasure = 1 << 20;
  if (bytes < kEnoughToMeasure || ms <= 0.0) return;
  bytes_per_ms_ += (static_cast<double>(bytes) / ms - bytes_per_ms_) * kLatest;
}

plan::StartCosts MeasuredCosts::start_costs(const MemoryTier& memory,
                                            TokenPos context_tokens) const {
  plan::StartCosts costs;
  costs.bytes_per_token = memory.copier.bytes_per_token();
  costs.bytes_per_snapshot = memory.copier.snapshot_bytes(context_tokens);
  costs.any_token = kAnyTokenCost;
  if (ms_per_token_ > 0.0) {
    // Clamped first: what was measured may be anything, and a number may not hold it.
    const double token = ms_per_token_ * bytes_per_ms_;
    costs.token = static_cast<ByteCount>(
        std::clamp(token, static_cast<double>(kTokenCostMin), static_cast<double>(kTokenCostMax)));
  }
  return costs;
}

}  // namespace holdfast::cache
