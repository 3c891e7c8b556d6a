// ProofRun: one proof under way, on a slot that it has to itself.
//
//   read cold up to the place, chunk by chunk, and a few tokens more
//   measure what a missing token would make                            unless bits are promised
//   restore the state there, read the same few, compare
//   read cold again in small chunks, for the size of rounding          only where in doubt
//
// Where bits are promised (exact prompts, on a processor) they have to be the same. Else the
// distance between the two rows of logits counts (engine/row_distance.h), as in the check at start.
// Where rounding alone is as far, there is no proof.
//
// The slot is empty again when this is destroyed. The scheduler's thread.
#pragma once

#include <optional>
#include <vector>

#include "cache/memory_tier.h"
#include "engine/engine.h"
#include "serve/proof.h"
#include "state/grid.h"

namespace holdfast::serve {

class ProofRun {
 public:
  // What came of a step.
  enum class Outcome { kGoesOn, kConcluded, kNoProof };
  struct Result {
    bool equal = false;
    double distance = 0.0;
    double allowed = 0.0;  // 0: the same bits
  };

  // REQUIRES: the slot is empty. `exact`: the same bits are promised.
  ProofRun(engine::Engine& engine, const cache::MemoryTier& memory, const NotedRestore& noted,
           const Grid& grid, SlotId slot, bool exact);
  ~ProofRun() { engine_.clear(slot_); }
  ProofRun(const ProofRun&) = delete;
  ProofRun& operator=(const ProofRun&) = delete;

  // Does as much as one chunk. kNoProof: the state is not there, the engine failed, or nothing can
  // be told.
  [[nodiscard]] Outcome step();
  // REQUIRES: a step was kConcluded.
  [[nodiscard]] const Result& result() const { return result_; }

 private:
  enum class Stage { kCold, kGap, kRestored, kSmallChunks };

  [[nodiscard]] Outcome read_cold();
  [[nodiscard]] Outcome measure_gap();
  [[nodiscard]] Outcome compare();
  [[nodiscard]] Outcome read_small_chunks();
  [[nodiscard]] bool read_chunk();
  [[nodiscard]] bool read_to_end(TokenPos from, std::vector<float>& row);
  [[nodiscard]] Outcome conclude(bool equal, double allowed);

  engine::Engine& engine_;
  const cache::MemoryTier& memory_;
  const NotedRestore& noted_;
  const SlotId slot_;
  const bool exact_;
  Stage stage_ = Stage::kCold;
  std::vector<TokenPos> cuts_;  // where its reading is cut
  std::optional<engine::SavedState> at_position_;
  std::vector<float> cold_;
  double effect_ = 0.0;  // of a missing token
  Result result_;
};

}  // namespace holdfast::serve
