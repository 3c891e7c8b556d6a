// (e) The bytes that a cache holds: as it counts them, as the allocator does, and as the system
// does.
#pragma once

#include "cache/state_cache.h"
#include "cost_report.h"
#include "cost_state.h"
#include "engine/llama/llama_config.h"

namespace holdfast::bench {

// What is held at the moment when it is made.
struct Footprint {
  explicit Footprint(const cache::StateCache& cache);

  cache::CacheStatus status;
  ByteCount allocated = 0;
  ByteCount resident = 0;
};

// What was added between the two, per token, beside the least that the model's shape allows.
[[nodiscard]] Measurement held_bytes(const StateSetting& setting, const llama::LoadedModel& model,
                                     const Footprint& before, const Footprint& after);

}  // namespace holdfast::bench
