// LiveStates: what slots hold, on its way into memory.
//
//   evacuate   another prompt takes the slot: memory gets what it lacks
//   keep_idle  nothing happens: memory, and the tier below, get what idle slots hold
//
// Rows and snapshots are copied at checkpoints while a prompt is read (cache/checkpointer.h); what
// is left for here is the answer behind the last of them.
//
// One owning thread, that of the engine.
#pragma once

#include <cstdint>

#include "cache/cache_core.h"
#include "cache/checkpointer.h"
#include "cache/cold_states.h"

namespace holdfast::cache {

class LiveStates {
 public:
  LiveStates(CacheCore& core, Checkpointer& checkpointer, ColdStates& cold)
      : core_(core), checkpointer_(checkpointer), cold_(cold) {}

  // What the slot holds is about to go from there. Returns the bytes copied.
  ByteCount evacuate(SlotId slot);
  // Puts what idle slots hold into memory, as far as there is room, and into the tier below, if
  // there is one. Returns whether there was anything.
  bool keep_idle();
  // Whether emptying an idle slot loses nothing that memory does not hold.
  [[nodiscard]] bool can_spare(SlotId slot) const;

  // The answer that ended on this slot called a tool: its client will soon be back.
  void called_tool(SlotId slot, std::uint64_t run);

  // The slot holds no more than this many tokens.
  void shorten(SlotId slot, TokenPos length);
  // The engine's slot is empty.
  void forget(SlotId slot);

 private:
  // Whether other states make way for it.
  enum class Priority { kEssential, kIfThereIsRoom };

  StoreOutcome store(SlotId slot, Priority priority);
  bool keep(SlotId slot);

  CacheCore& core_;
  Checkpointer& checkpointer_;
  ColdStates& cold_;
};

}  // namespace holdfast::cache
