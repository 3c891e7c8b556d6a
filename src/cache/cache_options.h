// How a cache is set.
#pragma once

#include <string>

#include "cache/memory_tier.h"
#include "state/exactness.h"
#include "state/tokens.h"

namespace holdfast::cache {

struct CacheOptions {
  MemoryOptions memory;
  Exactness exact = Exactness::kOff;
  // Distance of the checkpoints inside long messages; 0: as memory allows.
  TokenPos checkpoint_every = 0;
  // Off: states are kept only when their slot is taken.
  bool checkpoints = true;
  // Chunks of the grid that together have no more tokens are read as one, where bits need not be
  // a cold run's (plan/run_cuts.h); 0: none are.
  TokenPos merged_chunk = 0;
  // This many snapshots each slot may keep of its own path, however small memory's budget is. Those
  // that the budget has room for count within it. No effect where the budget is 0.
  int slot_snapshots = 8;
  // The tier below holds states of other makers: receipts say so where that is why a prompt is
  // read.
  bool names_foreign = false;
  std::string fingerprint;  // shown by status()

  // Where prompts are exact, only state that was read on the grid is kept or continued, and states
  // are filed under chunk keys (state/chunk_keys.h).
  [[nodiscard]] bool has_exact_prompts() const { return prompts_are_exact(exact); }
};

}  // namespace holdfast::cache
