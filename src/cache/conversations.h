// Conversations: what memory holds of each, and dropping one of them.
//
// One owning thread, that of the engine.
#pragma once

#include <cstddef>
#include <optional>

#include "cache/cache_core.h"
#include "cache/checkpointer.h"
#include "cache/conversation_status.h"
#include "cache/live_states.h"
#include "env/clock.h"

namespace holdfast::cache {

class Conversations {
 public:
  // `started`: when the cache began to count its ticks.
  Conversations(CacheCore& core, Checkpointer& checkpointer, LiveStates& live,
                env::Clock::TimePoint started)
      : core_(core), checkpointer_(checkpointer), live_(live), started_(started) {}

  // The conversations that memory holds, and at most this many of them that were used last. Walks
  // all that is held: for whoever asks, not for every round.
  // `only`: those of one space.
  [[nodiscard]] ConversationsStatus list(std::size_t most, env::Clock::TimePoint now,
                                         const std::optional<SpaceKey>& only = std::nullopt) const;
  // Drops from memory, and from idle slots, what only this conversation needs; its tokens stay
  // known, and what lies below stays there. Nothing: there is no such conversation, or it is of
  // another space than `only`.
  std::optional<DroppedConversation> drop(tree::NodeId tip, const std::optional<SpaceKey>& only);

 private:
  void empty_idle_slots(const tree::HeldConversation& conversation);

  CacheCore& core_;
  Checkpointer& checkpointer_;
  LiveStates& live_;
  const env::Clock::TimePoint started_;
};

}  // namespace holdfast::cache
