// What stands between a cache and the world while it is recorded. Each forwards every call and
// tells the recorder the answer.
#pragma once

#include <memory>

#include "cache/cold_tier.h"
#include "engine/companion.h"
#include "engine/engine.h"
#include "env/clock.h"

namespace holdfast {

class CacheRecorder;

// REQUIRES: both outlive what is made.
[[nodiscard]] std::unique_ptr<Engine> recorded(Engine& engine, CacheRecorder& recorder);
[[nodiscard]] std::unique_ptr<Clock> recorded(const Clock& clock, CacheRecorder& recorder);
[[nodiscard]] std::unique_ptr<Companion> recorded(Companion& companion, CacheRecorder& recorder);
[[nodiscard]] std::unique_ptr<ColdTier> recorded(ColdTier& below, CacheRecorder& recorder);

}  // namespace holdfast
