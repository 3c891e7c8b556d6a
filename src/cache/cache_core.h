// CacheCore: what the parts of a StateCache share. The parts are classes with a task each
// (cache/checkpointer.h, cache/cold_states.h); they hold no state that belongs here.
#pragma once

#include "cache/cache_journal.h"
#include "cache/cache_options.h"
#include "cache/cache_status.h"
#include "cache/cold_tier.h"
#include "cache/measured_costs.h"
#include "cache/memory_tier.h"
#include "cache/prompt_logits.h"
#include "cache/slot_ledger.h"
#include "engine/companion.h"
#include "engine/engine.h"
#include "env/clock.h"

namespace holdfast::cache {

struct CacheCore {
  CacheCore(const CacheWorld& world, CacheOptions given, CacheJournal* journal);
  CacheCore(const CacheCore&) = delete;
  CacheCore& operator=(const CacheCore&) = delete;

  engine::Engine& engine;
  const CacheOptions options;
  const env::Clock& clock;
  engine::Companion* const companion;  // may be null
  ColdTier* const lower;               // may be null
  CacheJournal* const journal;         // may be null
  MemoryTier memory;
  PromptLogits ends;  // after memory, in whose budget it holds room
  SlotLedger slots;
  MeasuredCosts costs;
  CacheStatus totals;
  // When the latest request began. What a request keeps and drops does not depend on how fast it
  // is read.
  tree::Tick now = 0;

  // How much of a live state could be put into memory. Where prompts are exact what lies on the
  // grid; and a snapshot can be taken only where the state stands.
  [[nodiscard]] TokenPos storable_length(const LiveSlot& slot) const;
  // Of that, what memory lacks.
  [[nodiscard]] ByteCount unsaved_bytes(const LiveSlot& slot) const;
  [[nodiscard]] plan::StartCosts start_costs() const {
    return costs.start_costs(memory, engine.context_tokens());
  }
  // Whether the states of whole prompts are kept, and whether a prompt may begin with one.
  [[nodiscard]] bool keeps_ends(const Prompt& prompt) const;
  [[nodiscard]] bool may_begin_at_end(const Prompt& prompt) const {
    return keeps_ends(prompt) && engine.can_sample_kept();
  }
};

}  // namespace holdfast::cache
