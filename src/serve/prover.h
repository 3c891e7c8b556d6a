// Prover: computes restored states again from the first token while nobody waits, and compares.
//
//   a request began with a restored state --> a sampled share of them is noted
//   nothing happens for a while           --> an idle slot computes it again  (serve/proof_run.h)
//
// A difference is for the scheduler to act on. A request ends a proof under way at its next chunk;
// it is started over later, a few times at most.
//
// Invariants, verified by the tests:
//   PROVER-1  between proofs, and whenever a request is at work, its slot is empty in the engine as
//             the cache says (SLOT-1)
//   PROVER-2  what is noted is bounded: kNotedMax restores, the latest ones
//
// The scheduler's thread.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "cache/state_cache.h"
#include "engine/engine.h"
#include "env/clock.h"
#include "serve/proof.h"
#include "serve/proof_counts.h"
#include "serve/proof_run.h"
#include "state/grid.h"

namespace holdfast::serve {

struct ProverOptions {
  double share = 0.0;  // of restores, 0..1
  bool exact = false;  // the same bits are promised
};

// A restore that may be proved.
struct Restored {
  std::string request;  // its receipt
  std::string tenant;
  SpaceKey space;
  TokenSpan tokens;  // the prompt's
  TokenSpan keys;    // what its states are filed under
  TokenPos position = 0;
};

class Prover {
 public:
  static constexpr std::size_t kNotedMax = 8;

  Prover(engine::Engine& engine, cache::StateCache& cache, const Grid& grid, ProverOptions options,
         const env::Clock& clock);

  // A request began with this. Whether it is among the share is decided here.
  void note(const Restored& restored);
  [[nodiscard]] bool has_work() const { return options_.share > 0.0 && !noted_.empty(); }
  // Does as much as one chunk. Nothing: the proof goes on, or could not be made.
  // REQUIRES: no request is at work.
  [[nodiscard]] std::optional<Proof> step();
  // Somebody waits: the slot is given back.
  void yield();
  // Nothing is restored any more.
  void stop() { noted_.clear(); }

  [[nodiscard]] const ProofCounts& counts() const { return counts_; }

 private:
  [[nodiscard]] bool begin();
  [[nodiscard]] std::optional<SlotId> spare_slot() const;
  void give_up();
  [[nodiscard]] Proof conclude();

  engine::Engine& engine_;
  cache::StateCache& cache_;
  const Grid& grid_;
  const ProverOptions options_;
  const env::Clock& clock_;
  double due_ = 0.0;  // of a proof, by the share
  std::deque<NotedRestore> noted_;
  std::unique_ptr<ProofRun> run_;  // of the first of them; null: nothing is under way
  env::Clock::TimePoint began_{};  // the run
  ProofCounts counts_;
};

}  // namespace holdfast::serve
