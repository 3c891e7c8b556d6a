// Where states will be kept while a prompt is read, and where it is cut for that.
//
// While there is plenty of room, nearly every cut; else so few that they leave room for others
// (plan/placement.h has the rules, this the distances that memory affords). Pure: no I/O, no clock.
#pragma once

#include <optional>
#include <vector>

#include "cache/cache_core.h"
#include "cache/prompt.h"
#include "plan/placement.h"

namespace holdfast::cache {

struct CheckpointPlan {
  std::vector<TokenPos> cuts;         // where the prompt is cut this time, ascending
  std::vector<plan::Checkpoint> due;  // ascending
  std::vector<TokenPos> due_in_slot;  // of them not offered to memory, ascending
};

// Of checkpoints where memory is scarce, so that they weigh no more than the rows.
[[nodiscard]] TokenPos scarce_distance(const CacheCore& core);
// Of those inside messages, which are rarely where prompts part.
[[nodiscard]] TokenPos sparse_distance(const CacheCore& core);

struct CheckpointInput {
  TokenPos restored = 0;             // what the slot holds of the prompt
  std::optional<TokenPos> parts_at;  // from the prompt that it agrees with most
  bool slots_keep_places = false;    // beside memory (cache/slot_snapshots.h)
};
[[nodiscard]] CheckpointPlan plan_checkpoints(const CacheCore& core, const Prompt& prompt,
                                              const CheckpointInput& input);

}  // namespace holdfast::cache
