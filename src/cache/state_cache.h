// StateCache: everything that has been computed and can still be used - the live states of the
// slots, and the states in memory and below it.
//
//   admission().step    does a prompt begin now, or wait?        (cache/admission.h)
//   begin               it does, on a slot                       (cache/starter.h)
//   growth()            the slot reads the prompt and writes     (cache/slot_growth.h)
//   end                 the request is over; its tokens stay known
//   live(), transfer()  what idle slots hold                     (cache/live_states.h,
//   slot_transfer.h)
//   conversations()     what memory holds of each                (cache/conversations.h)
//
// A live state is copied into memory at its checkpoints, each row once, and the rest of it (the
// answer) when another prompt takes its slot. So nothing that was computed is lost but by the
// budget (H3), and a conversation that stays on its slot brings nothing back. Below memory there
// may be another tier (cache/cold_tier.h), which keeps what memory holds across restarts and beyond
// its budget.
//
// Where reading the last few tokens of a prompt costs more than a state, the state of the whole
// prompt is kept too, with its logits (cache/prompt_logits.h): asked again, it begins with nothing
// to read.
//
// Where prompts are exact only prefill state on the grid is kept or continued, because decoded
// state differs from it in its last bits; and states are filed under chunk keys
// (state/chunk_keys.h), because rows differ with the chunk that they were computed in.
//
// Invariants, verified by check():
//   CACHE-1  those of MemoryTier, SlotLedger, Checkpointer and SeenTokens
//   CACHE-2  what a slot says is filed is: its first tokens (where prompts are exact, keys) are
//            those above the node, while that is alive
//   CACHE-3  those of PromptLogits
//
// One owning thread, that of the engine.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/admission.h"
#include "cache/cache_core.h"
#include "cache/checkpointer.h"
#include "cache/cold_states.h"
#include "cache/conversations.h"
#include "cache/live_states.h"
#include "cache/prompt.h"
#include "cache/receipt.h"
#include "cache/seen_tokens.h"
#include "cache/slot_growth.h"
#include "cache/slot_transfer.h"
#include "cache/start_planner.h"
#include "cache/starter.h"
#include "engine/companion.h"
#include "engine/engine.h"
#include "env/clock.h"

namespace holdfast::cache {

class StateCache {
 public:
  // Companion and lower tier may be null in the world. A journal sees every call.
  StateCache(const CacheWorld& world, const CacheOptions& options, CacheJournal* journal = nullptr);

  // -- a request, from its arrival to its end -------------------------------------------------
  [[nodiscard]] Admission& admission() { return admission_; }
  // REQUIRES: the choice is the prompt's, of now.
  LogitsPtr begin(const Prompt& prompt, const StartChoice& choice, Receipt& receipt) {
    return starter_.begin(prompt, choice, receipt);
  }
  [[nodiscard]] SlotGrowth& growth() { return growth_; }
  // The request is over, or failed: the engine may have emptied the slot. What was postponed is
  // not taken any more; the slot holds it.
  void end(SlotId slot);

  // -- what is held ---------------------------------------------------------------------------
  [[nodiscard]] const SlotLedger& slots() const { return core_.slots; }
  [[nodiscard]] MemoryTier& memory() { return core_.memory; }
  [[nodiscard]] const MemoryTier& memory() const { return core_.memory; }
  [[nodiscard]] ColdStates& cold() { return cold_; }
  [[nodiscard]] LiveStates& live() { return live_; }
  [[nodiscard]] SlotTransfer& transfer() { return transfer_; }
  [[nodiscard]] Conversations conversations() {
    return {core_, checkpointer_, live_, starter_.started()};
  }
  [[nodiscard]] CacheStatus status() const;
  // Forgets everything, or everything of one space: states in memory, in idle slots and below, and
  // tokens. Returns the bytes that this frees.
  ByteCount clear(const std::optional<SpaceKey>& only = std::nullopt);
  // A state of this space was computed again and came out otherwise (serve/prover.h). Whatever may
  // have come of it goes: memory, idle slots, and what the tier below has of the space. From now on
  // nothing is restored; slots go on from what they hold.
  // REQUIRES: no request is at work.
  void distrust(SpaceKey space, const std::string& why);
  [[nodiscard]] std::vector<std::string> check() const;

 private:
  CacheCore core_;
  Checkpointer checkpointer_;
  ColdStates cold_;
  StartPlanner planner_;
  Admission admission_;
  LiveStates live_;
  SeenTokens seen_;
  Starter starter_;
  SlotGrowth growth_;
  SlotTransfer transfer_;
};

}  // namespace holdfast::cache
