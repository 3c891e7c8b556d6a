// Admission: whether a prompt begins now, or waits because that saves more.
//
//              .-- a running request computes more of it --> wait for a peer --.
//   step ------+-- the tier below may hold more of it -----> wait for the disk +--> step
//              '-- neither, or no longer ------------------> run
//
// A prompt that waits owns its State; nobody else knows that it waits. Both waits end by
// themselves: a peer passes the place or is gone, and the disk answers or has used up the time that
// reading would take (H7).
//
// One owning thread, that of the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "cache/cache_core.h"
#include "cache/checkpointer.h"
#include "cache/cold_states.h"
#include "cache/prompt.h"
#include "cache/receipt.h"
#include "cache/start_choice.h"
#include "cache/start_planner.h"

namespace holdfast::cache {

// A prefix that a slot is computing right now and another prompt could use.
struct Awaited {
  SlotId slot;
  std::uint64_t run = 0;  // of the slot; another number: that request is over
  TokenPos position = 0;
};

class Admission {
 public:
  Admission(CacheCore& core, const StartPlanner& planner, Checkpointer& checkpointer,
            ColdStates& cold)
      : core_(core), planner_(planner), checkpointer_(checkpointer), cold_(cold) {}

  // What a prompt waits for. It asks the tier below once.
  struct State {
    std::optional<Awaited> peer;
    std::optional<ColdFetch> fetch;
  };
  enum class Verdict { kRun, kWaitForPeer, kWaitForDisk };
  struct Step {
    Verdict verdict = Verdict::kRun;
    StartChoice choice;  // kRun: how it begins, valid until the cache changes
    SlotId peer;         // kWaitForPeer: who computes what it needs
  };

  // REQUIRES: there is a slot, all are idle, and the prompt does not wait any more.
  [[nodiscard]] Step step(State& state, const Prompt& prompt, std::span<const SlotId> slots,
                          Receipt& receipt);
  // Whether a step would find what the one before it found.
  [[nodiscard]] bool waiting(const State& state) const {
    return fetching(state) || (state.peer && still_coming(*state.peer));
  }
  // Whether the tier below is yet to answer.
  [[nodiscard]] bool fetching(const State& state) const {
    return state.fetch && !state.fetch->over() && !cold_.ready(*state.fetch);
  }
  // What beginning so would move at most.
  [[nodiscard]] ByteCount bytes_to_begin(const StartChoice& choice) const {
    return planner_.bytes_to_begin(choice);
  }

  // -- the parts of a step, as a journal sees them ---------------------------------------
  [[nodiscard]] StartChoice plan(const Prompt& prompt, std::span<const SlotId> slots) const;
  // A checkpoint deeper than what the choice reuses, that a running request will reach. Asks for
  // one at the place where the two prompts part.
  [[nodiscard]] std::optional<Awaited> find_peer(const Prompt& prompt, const StartChoice& choice);
  [[nodiscard]] bool still_coming(const Awaited& awaited) const;

 private:
  enum class FromDisk { kNothing, kComing, kCame };

  [[nodiscard]] FromDisk ask_disk(State& state, const Prompt& prompt, const StartChoice& choice,
                                  Receipt& receipt);
  [[nodiscard]] std::optional<Awaited> deepest_peer(const Prompt& prompt,
                                                    const StartChoice& choice) const;
  [[nodiscard]] TokenPos reach_of(const LiveSlot& other, const Prompt& prompt,
                                  const tree::Match& match) const;

  CacheCore& core_;
  const StartPlanner& planner_;
  Checkpointer& checkpointer_;
  ColdStates& cold_;
};

}  // namespace holdfast::cache
