// PacedWork: what is done between two steps of those who write - reading, copying, bringing states
// back - measured, and divided as GapPace (plan/gap_pace.h) allows.
//
//   - a chunk that alone takes longer than the target is read in pieces, but not where prompts are
//     exact;
//   - at most one state is brought back between two steps;
//   - a checkpoint whose copy does not fit behind its chunk is postponed, and taken between later
//     steps, its rows piece by piece. Until then its slot neither reads on nor writes;
//   - what is larger than the target and cannot be divided (a state that is brought back, a
//     snapshot, a chunk of the grid) has two steps to itself.
//
// The engine need not be done with a chunk when prefill() returns, and nobody waits for it without
// a reason: chunks are measured together, when something else needs their result.
//
// The scheduler's thread.
#pragma once

#include <optional>

#include "serve/loop_core.h"

namespace holdfast::serve {

class PacedWork {
 public:
  explicit PacedWork(LoopCore& core) : core_(core) {}

  // -- reading ----------------------------------------------------------------------------------
  // Tokens that the slot may read now; 0: it is not its turn.
  [[nodiscard]] TokenPos tokens_to_read(const Slot& slot) const;
  // A chunk of this many tokens is about to be read.
  void begin_reading(TokenPos tokens);
  // The chunk was read; the checkpoint behind it is taken, or postponed where those who write
  // would wait for too long.
  void keep_chunk(Slot& slot, TokenSpan chunk, engine::LogitsOf logits);
  // Waits for what is being read.
  void settle_reading();
  // The request ends, wherever it stands. What it has computed is kept, as if it had gone on.
  void leave_off(Slot& slot);

  // -- copies -----------------------------------------------------------------------------------
  // Goes on with checkpoints that were postponed; false: there was nothing to do.
  bool copy_postponed();

  // -- beginning --------------------------------------------------------------------------------
  // False: bringing its state back would hold up those who write.
  [[nodiscard]] bool may_begin(Job& job, const cache::StartChoice& choice) const;
  void begin(Job& job, const cache::StartChoice& choice);

 private:
  void copy_postponed(Slot& slot, ByteCount bytes);

  LoopCore& core_;
  std::optional<env::Clock::TimePoint> reading_since_;  // chunks whose time is not known yet
};

}  // namespace holdfast::serve
