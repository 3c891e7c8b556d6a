#include "serve/loop_core.h"

#include <algorithm>
#include <utility>

namespace holdfast::serve {

namespace {

GridRule grid_rule(const engine::Engine& engine, const engine::TextModel& text, TokenPos step) {
  return {std::min(step, engine.chunk_tokens_max()), text.turn_ends()};
}

cache::CacheOptions cache_options(const SchedulerOptions& options) {
  cache::CacheOptions cache = options.cache;
  cache.exact = options.exact;
  cache.merged_chunk = options.grid_step;
  return cache;
}

SchedulerObserver& observer_of(const SchedulerParts& parts) {
  static SchedulerObserver nobody;
  return parts.observer != nullptr ? *parts.observer : nobody;
}

std::vector<Slot> empty_slots(int count) {
  std::vector<Slot> slots(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) slots[static_cast<std::size_t>(i)].id = SlotId{i};
  return slots;
}

}  // namespace

LoopCore::LoopCore(engine::Engine& its_engine, const engine::TextModel& its_text,
                   SchedulerOptions given, const env::Clock& its_clock, const SchedulerParts& parts)
    : engine(its_engine),
      text(its_text),
      options(std::move(given)),
      clock(its_clock),
      observer(observer_of(parts)),
      grid(grid_rule(engine, text, options.grid_step)),
      cache(
          {.engine = &engine, .clock = &clock, .companion = parts.companion, .lower = parts.lower},
          cache_options(options), parts.journal),
      slots(empty_slots(engine.slot_count())),
      pace(options.pace),
      pulse(clock) {
  cache.memory().room.on_evicted = [this](const plan::Victim& victim) {
    observer.on_evicted(victim);
  };
  if (parts.companion != nullptr) totals.companion = parts.companion->name();
}

bool LoopCore::anybody_writes() const {
  return std::ranges::any_of(slots, [&](const Slot& slot) { return writes(slot); });
}

bool LoopCore::all_slots_idle() const { return std::ranges::all_of(slots, &Slot::idle); }

void LoopCore::publish() {
  totals.slots.resize(slots.size());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const Slot& slot = slots[i];
    SlotStatus& out = totals.slots[i];
    out = SlotStatus{};
    out.id = slot.id;
    out.busy = !slot.idle();
    out.tokens_held = length(slot.id);
    if (slot.idle()) continue;
    out.prefilling = reading(slot);
    out.request_id = slot.job->input.id;
    out.client = slot.job->input.client;
    out.prompt_tokens = slot.job->prompt_length();
    out.prompt_processed = std::min(length(slot.id), slot.job->prompt_length());
    out.predicted = slot.job->timings.predicted_tokens;
    out.drafts = slot.job->input.draft.max > 0 && !totals.companion.empty();
    const TokenPos most = slot.job->input.max_tokens;
    if (most >= 0) out.remaining = std::max<TokenPos>(most - out.predicted, 0);
  }
  board.publish(totals, cache.status());
}

}  // namespace holdfast::serve
