// LoopCore: what the parts of the scheduler's loop share. Each part is a class with a task of its
// own (docs/ARCHITECTURE.md has the map); they hold no state that belongs here.
//
// The scheduler's thread; `board` and `pulse` may be read on any.
#pragma once

#include <cstdint>
#include <vector>

#include "cache/state_cache.h"
#include "engine/engine.h"
#include "engine/text.h"
#include "env/clock.h"
#include "plan/gap_pace.h"
#include "serve/pulse.h"
#include "serve/scheduler_options.h"
#include "serve/scheduler_status.h"
#include "serve/slot.h"
#include "state/grid.h"

namespace holdfast::serve {

struct LoopCore {
  LoopCore(engine::Engine& its_engine, const engine::TextModel& its_text, SchedulerOptions given,
           const env::Clock& its_clock, const SchedulerParts& parts);
  LoopCore(const LoopCore&) = delete;
  LoopCore& operator=(const LoopCore&) = delete;

  engine::Engine& engine;
  const engine::TextModel& text;
  const SchedulerOptions options;
  const env::Clock& clock;
  SchedulerObserver& observer;
  const Grid grid;
  cache::StateCache cache;
  std::vector<Slot> slots;
  plan::GapPace pace;
  bool writing = false;  // somebody did when this round began
  SchedulerStatus totals;
  StatusBoard board;
  Pulse pulse;
  std::uint64_t prompts = 0;  // that were numbered for the journal

  [[nodiscard]] std::uint64_t next_number() { return ++prompts; }
  [[nodiscard]] Slot& slot(SlotId id) { return slots[static_cast<std::size_t>(id.value)]; }
  // Tokens that the slot holds.
  [[nodiscard]] TokenPos length(SlotId id) const { return cache.slots()[id].length(); }
  // Of the prompt at work there.
  [[nodiscard]] TokenPos left_to_read(const Slot& slot) const {
    return slot.job->prompt_length() - length(slot.id);
  }
  [[nodiscard]] bool reading(const Slot& slot) const {
    return !slot.idle() && left_to_read(slot) > 0;
  }
  // A slot whose checkpoint is yet to be taken waits for that.
  [[nodiscard]] bool writes(const Slot& slot) const {
    return slot.decoding() && !cache.slots()[slot.id].postponed;
  }
  [[nodiscard]] bool anybody_writes() const;
  [[nodiscard]] bool all_slots_idle() const;
  // From now on the board shows how things stand.
  void publish();
};

}  // namespace holdfast::serve
