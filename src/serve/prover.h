// Prover: computes restored states again from the first token while nobody waits, and compares.
//
//   a request began with a restored state --> a sampled share of them is noted
//   nothing happens for a while           --> an idle slot reads the same tokens, cold,
//                                             chunk by chunk, and a few more
//                                             the state is restored there, and the same few read
//   the two answers are compared
//
// Where bits are promised (deterministic, on a processor) they have to be the same. Else the
// distance between the two rows of logits counts (engine/row_distance.h), as in the check at start:
// what a missing token would make is measured, and, in doubt, how far another cold reading in small
// chunks is off. Where that is as far, there is no proof. A difference is for the scheduler to act
// on.
//
// A request ends a proof under way at its next chunk; it is started over later, a few times at
// most.
//
// Invariants, verified by the tests:
//   V1  between proofs, and whenever a request is at work, its slot is empty in the engine as the
//       cache says
//   V2  what is noted is bounded: kNotedMax restores, the latest ones
//
// The scheduler's thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/state_cache.h"
#include "engine/engine.h"
#include "env/clock.h"
#include "serve/proof_counts.h"
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

struct Proof {
  std::string request;
  std::string tenant;
  SpaceKey space;
  TokenPos position = 0;
  bool equal = false;
  double distance = 0.0;
  double allowed = 0.0;  // 0: the same bits
  double ms = 0.0;
  // "equal" or what differs, for people.
  [[nodiscard]] std::string words() const;
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
  struct Noted {
    std::string request;
    std::string tenant;
    SpaceKey space;
    Tokens tokens;  // those restored, and a few more
    Tokens keys;    // of those restored
    TokenPos position = 0;
    int tries = 0;
  };
  enum class Stage { kCold, kGap, kRestored, kSmallChunks };
  struct Work {
    SlotId slot;
    Stage stage = Stage::kCold;
    std::vector<TokenPos> cuts;  // where its reading is cut
    std::optional<engine::SavedState> at_position;
    std::vector<float> cold;
    double effect = 0.0;
    double distance = 0.0;
    env::Clock::TimePoint began{};
  };

  [[nodiscard]] bool begin();
  [[nodiscard]] std::optional<SlotId> spare_slot() const;
  void give_up();
  [[nodiscard]] bool read_chunk();
  [[nodiscard]] bool read_to_end(TokenPos from, std::vector<float>& row);
  [[nodiscard]] std::optional<Proof> after_cold();
  [[nodiscard]] std::optional<Proof> measure_gap();
  [[nodiscard]] std::optional<Proof> compare();
  [[nodiscard]] std::optional<Proof> after_small_chunks();
  [[nodiscard]] Proof conclude(bool equal, double allowed);

  engine::Engine& engine_;
  cache::StateCache& cache_;
  const Grid& grid_;
  const ProverOptions options_;
  const env::Clock& clock_;
  double due_ = 0.0;  // of a proof, by the share
  std::deque<Noted> noted_;
  std::unique_ptr<Work> work_;  // null: nothing is under way
  ProofCounts counts_;
};

}  // namespace holdfast::serve
