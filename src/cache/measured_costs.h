// MeasuredCosts: how long reading tokens and moving states took lately, and what a beginning is
// therefore taken to cost.
//
// Pure: no I/O, no clock.
#pragma once

#include "cache/memory_tier.h"
#include "plan/start_plan.h"
#include "state/parts.h"
#include "state/tokens.h"

namespace holdfast::cache {

class MeasuredCosts {
 public:
  // Short times tell more of the clock than of the machine, and are not noted.
  void note_read(TokenPos tokens, double ms);
  void note_moved(ByteCount bytes, double ms);

  // 0: not known yet.
  [[nodiscard]] double ms_per_token() const { return ms_per_token_; }
  // Of beginnings from this memory, in a context of this many tokens.
  [[nodiscard]] plan::StartCosts start_costs(const MemoryTier& memory,
                                             TokenPos context_tokens) const;

 private:
  double ms_per_token_ = 0.0;
  double bytes_per_ms_ = 4.0e6;  // moved between slots and memory
};

}  // namespace holdfast::cache
