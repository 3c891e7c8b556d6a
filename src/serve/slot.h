// Slot: one of the engine's sequences and who uses it. What it holds, the cache knows.
#pragma once

#include <memory>

#include "serve/job.h"
#include "state/slot_id.h"

namespace holdfast::serve {

struct Slot {
  SlotId id;
  std::unique_ptr<Job> job;  // null: idle

  [[nodiscard]] bool idle() const { return job == nullptr; }
  [[nodiscard]] bool decoding() const { return job != nullptr && !job->answer.uncomputed.empty(); }
};

}  // namespace holdfast::serve
