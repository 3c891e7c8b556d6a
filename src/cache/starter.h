// Starter: begins a prompt on a slot as it was planned, and plans around what fails.
//
//   evacuate what the slot held --> truncate, load or restore --> take the slot over
//                                        | refused, damaged
//                                        '--> the next best plan for the same slot
//
// One owning thread, that of the engine.
#pragma once

#include "cache/cache_core.h"
#include "cache/checkpointer.h"
#include "cache/live_states.h"
#include "cache/prompt.h"
#include "cache/receipt.h"
#include "cache/seen_tokens.h"
#include "cache/start_choice.h"
#include "cache/start_planner.h"

namespace holdfast::cache {

class Starter {
 public:
  Starter(CacheCore& core, const StartPlanner& planner, Checkpointer& checkpointer,
          LiveStates& live, const SeenTokens& seen);

  // Carries the choice out and fills in the receipt. Where a state cannot be brought back after
  // all, the next best plan for the same slot is taken. Afterwards the slot holds
  // `receipt.restored` tokens of the prompt. Where these are all of them, the answer begins with
  // the logits that are returned; else they are null.
  LogitsPtr begin(const Prompt& prompt, const StartChoice& choice, Receipt& receipt);
  [[nodiscard]] env::Clock::TimePoint started() const { return started_; }

 private:
  // Why an action was not done.
  enum class Obstacle { kNone, kTruncationRefused, kNotRestored, kOwnNotRestored };
  // What is being begun.
  struct Start {
    const Prompt& prompt;
    SlotId slot;
    Receipt& receipt;
  };
  // A choice, and the logits that it needs, where it needs any.
  struct Way {
    StartChoice choice;
    LogitsPtr logits;
  };

  [[nodiscard]] Way with_logits(const Start& start, StartChoice choice) const;
  [[nodiscard]] Way around(const Start& start, int failures);
  [[nodiscard]] Obstacle carry_out(const Start& start, const StartChoice& choice);
  [[nodiscard]] Obstacle act(const plan::StoreLive& action, const Start& start);
  [[nodiscard]] Obstacle act(const plan::TruncateLive& action, const Start& start);
  [[nodiscard]] Obstacle act(const plan::LoadSnapshot& action, const Start& start);
  [[nodiscard]] Obstacle act(const plan::RestoreState& action, const Start& start);
  [[nodiscard]] Obstacle act(const plan::ClearSlot& action, const Start& start);
  [[nodiscard]] Obstacle act(const plan::ReadPrompt& action, const Start& start);
  void note_restored(Receipt& receipt, ByteCount bytes, double ms);
  void take_over(const Start& start, const StartChoice& choice);
  void bring_companion(const Start& start);
  void add_up(const Prompt& prompt, const Receipt& receipt);

  CacheCore& core_;
  const StartPlanner& planner_;
  Checkpointer& checkpointer_;
  LiveStates& live_;
  const SeenTokens& seen_;
  const env::Clock::TimePoint started_;
};

}  // namespace holdfast::cache
