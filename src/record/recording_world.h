// What stands between a cache and the world while it is recorded. Each forwards every call and
// tells the recorder the answer.
#pragma once

#include <memory>

#include "cache/cold_tier.h"
#include "engine/companion.h"
#include "engine/engine.h"
#include "env/clock.h"

namespace holdfast::record {

class CacheRecorder;

// REQUIRES: both outlive what is made.
[[nodiscard]] std::unique_ptr<engine::Engine> recorded(engine::Engine& engine,
                                                       CacheRecorder& recorder);
[[nodiscard]] std::unique_ptr<env::Clock> recorded(const env::Clock& clock,
                                                   CacheRecorder& recorder);
[[nodiscard]] std::unique_ptr<engine::Companion> recorded(engine::Companion& companion,
                                                          CacheRecorder& recorder);
[[nodiscard]] std::unique_ptr<cache::ColdTier> recorded(cache::ColdTier& below,
                                                        CacheRecorder& recorder);

}  // namespace holdfast::record
