// IdleCheck: what of an engine's check (engine/conformance.h) there was no time for before serving
// is done while nobody waits.
//
// It needs all slots for a moment. A request ends it at its next batch; kinds that have passed by
// then are not checked again, and the rest is started over later.
//
// Invariant, verified by the tests: between runs all slots that it used are empty, in the engine
// and for the cache.
//
// The scheduler's thread.
#pragma once

#include <functional>
#include <optional>

#include "cache/state_cache.h"
#include "engine/conformance.h"
#include "engine/engine.h"

namespace holdfast::serve {

class IdleCheck {
 public:
  // `how.known` are the kinds that passed before. Without `how` there is nothing to check.
  IdleCheck(engine::Engine& engine, cache::StateCache& cache,
            std::optional<engine::ConformanceOptions> how);

  [[nodiscard]] bool has_work() const { return left_ > 0; }
  // Checks until all is done, something fails or `wanted` says that somebody waits. Nothing: a slot
  // holds what would be lost.
  // REQUIRES: no request is at work.
  [[nodiscard]] std::optional<engine::ConformanceReport> run(const std::function<bool()>& wanted);

 private:
  engine::Engine& engine_;
  cache::StateCache& cache_;
  engine::ConformanceOptions how_;
  std::size_t left_ = 0;
};

}  // namespace holdfast::serve
