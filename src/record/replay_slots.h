// ReplaySlots: what requests do on their slots, from their begin to their end, in a replay.
//
// Each function replays one event, and returns false where no server writes that event there: the
// event then has not reached the cache.
//
// Invariants, tested by HostileRecording.IsRefusedOrReplayedButNeverMore in
// src/serve/recording_safety_test.cc:
//   RSLOT-1  the cache is asked about a request only on the slot where it has begun and not ended
//   RSLOT-2  a slot that the engine emptied because it failed sees nothing but its end
#pragma once

#include <vector>

#include "record/replay_requests.h"
#include "record/replayed_cache.h"

namespace holdfast::record {

class ReplaySlots {
 public:
  explicit ReplaySlots(ReplayedCache& cache)
      : cache_(cache), slots_(static_cast<std::size_t>(cache.header().slots)) {}

  [[nodiscard]] bool is_idle(int slot) const { return at(slot).request == nullptr; }
  [[nodiscard]] bool all_idle() const;

  // REQUIRES: the slot is idle.
  void occupy(int slot, LiveRequest& request) { at(slot) = {&request}; }
  [[nodiscard]] bool before_chunk(const CacheEvent& event);
  [[nodiscard]] bool prefilled(const CacheEvent& event, cache::Copies copies);
  [[nodiscard]] bool copy_postponed(const CacheEvent& event);
  [[nodiscard]] bool decoded(const CacheEvent& event);
  [[nodiscard]] bool emptied(const CacheEvent& event);
  [[nodiscard]] bool end(const CacheEvent& event);

 private:
  struct Slot {
    LiveRequest* request = nullptr;  // null: idle
    bool emptied = false;            // while it was at work
    bool failed = false;             // the engine emptied it: nothing but its end may follow
  };

  [[nodiscard]] const Slot& at(int slot) const { return slots_[static_cast<std::size_t>(slot)]; }
  [[nodiscard]] Slot& at(int slot) { return slots_[static_cast<std::size_t>(slot)]; }
  // The slot, if a request is at work there; otherwise null.
  [[nodiscard]] Slot* busy(int slot);
  // Reads the slot's prompt up to `end`, in the chunks that the cache asks for.
  void read_up_to(int slot, TokenPos end, engine::LogitsOf logits, cache::Copies copies);

  ReplayedCache& cache_;
  std::vector<Slot> slots_;
};

}  // namespace holdfast::record
