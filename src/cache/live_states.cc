#include "cache/live_states.h"

namespace holdfast::cache {

ByteCount LiveStates::evacuate(SlotId slot) {
  const LiveSlot& held = core_.slots[slot];
  // A short answer behind a prompt that was kept is worth its tokens: where there is no room,
  // nothing makes way for it.
  const TokenPos unsaved = core_.storable_length(held) - held.stored_upto;
  const bool essential = unsaved >= scarce_distance(core_) && !held.one_off;
  const bool fits = core_.unsaved_bytes(held) <= core_.memory.budget.free();
  StoreOutcome outcome;
  if (essential || fits) {
    outcome = store(slot, essential ? Priority::kEssential : Priority::kIfThereIsRoom);
  }
  const ByteCount of_places = outcome.stored ? 0 : checkpointer_.put_places_aside(slot);
  if (held.tool_call) core_.memory.note_tool_call(held.space, core_.slots.keys(held));
  if (outcome.stored) {
    cold_.persist(held.space,
                  core_.slots.keys(held).first(static_cast<std::size_t>(outcome.filed.length)));
  }
  return outcome.bytes + of_places;
}

StoreOutcome LiveStates::store(SlotId slot, Priority priority) {
  const LiveSlot& held = core_.slots[slot];
  const TokenPos length = core_.storable_length(held);
  if (length == 0) return {};
  const plan::EvictionPolicy& policy = core_.options.memory.eviction;
  StoreRequest request;
  request.slot = slot;
  request.space = held.space;
  request.tokens = core_.slots.keys(held).first(static_cast<std::size_t>(length));
  if (length > held.exact) request.marks = request.marks | Hint::kOffGrid;
  if (held.tool_call) request.marks = request.marks | Hint::kToolCall;
  request.odds = held.tool_call ? policy.tip_after_tool_call : policy.tip;
  request.saves = length - held.stored_upto;
  request.essential = priority == Priority::kEssential;
  if (held.one_off) request.keep_as_one_off(policy);
  request.newcomer = held.newcomer;
  request.now = core_.now;
  const auto before = core_.clock.now();
  const StoreOutcome outcome = core_.memory.store(request);
  core_.totals.store_seconds += env::ms_between(before, core_.clock.now()) / 1000.0;
  return outcome;
}

// The slot goes on holding what is stored.
bool LiveStates::keep(SlotId slot) {
  LiveSlot& held = core_.slots[slot];
  const StoreOutcome outcome = store(slot, Priority::kIfThereIsRoom);
  if (!outcome.stored) return false;
  held.stored_upto = core_.storable_length(held);
  held.filed = outcome.filed;
  return true;
}

bool LiveStates::keep_idle() {
  bool any = false;
  const JournaledCall call(core_.journal, [](CacheJournal& to) { to.keep_idle(); });
  for (const SlotId slot : core_.slots.all()) {
    LiveSlot& held = core_.slots[slot];
    const TokenPos length = core_.storable_length(held);
    const ByteCount unsaved = core_.unsaved_bytes(held);
    if (!held.idle() || unsaved == 0 || held.offered == length) continue;
    // Nothing makes way for what lies in a slot as well, unless it goes on to the tier below.
    if (core_.lower == nullptr && unsaved > core_.memory.budget.free()) continue;
    held.offered = length;
    any = true;
    if (!keep(slot)) continue;
    cold_.persist(held.space, core_.slots.keys(held).first(static_cast<std::size_t>(length)));
  }
  return any;
}

bool LiveStates::can_spare(SlotId slot) const {
  const LiveSlot& held = core_.slots[slot];
  if (!held.idle()) return false;
  if (held.tokens.empty()) return true;
  return core_.memory.enabled() && core_.storable_length(held) <= held.stored_upto &&
         checkpointer_.places().of(slot).empty();
}

void LiveStates::called_tool(SlotId slot, std::uint64_t run) {
  const JournaledCall call(core_.journal, [&](CacheJournal& to) { to.called_tool(slot, run); });
  if (core_.slots[slot].run == run) core_.slots[slot].tool_call = true;
}

void LiveStates::shorten(SlotId slot, TokenPos length) {
  core_.slots.shorten(slot, length);
  checkpointer_.places().shorten(slot, length);
}

void LiveStates::forget(SlotId slot) {
  shorten(slot, 0);
  if (core_.companion != nullptr) (void)core_.companion->follow(slot, {});
}

}  // namespace holdfast::cache
