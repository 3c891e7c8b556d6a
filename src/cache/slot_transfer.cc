#include "cache/slot_transfer.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace holdfast::cache {

// Where prompts are exact a slot that has written an answer goes on from where its prompt was last
// cut, and where a state cannot be truncated, memory has the snapshot of that place.
std::optional<SlotState> SlotTransfer::copy_out(SlotId slot) {
  const JournaledCall call(core_.journal, [&](CacheJournal& to) { to.copy_out(slot); });
  const LiveSlot& held = core_.slots[slot];
  CHECK(held.idle());
  TokenPos length = core_.storable_length(held);
  if (length == 0)
    length = core_.memory.tree().match(held.space, core_.slots.keys(held)).restorable(held.exact);
  if (length == 0) return std::nullopt;
  const auto count = static_cast<std::size_t>(length);
  auto parts = core_.memory.held.collect(slot, held.space, core_.slots.keys(held).first(count));
  if (!parts) return std::nullopt;
  SlotState state;
  state.space = held.space;
  state.tokens.assign(held.tokens.begin(), held.tokens.begin() + length);
  if (core_.options.has_exact_prompts())
    state.keys.assign(held.keys.begin(), held.keys.begin() + length);
  state.exact = std::min(held.exact, length);
  state.rows = std::move(parts->rows);
  state.snapshot = std::move(parts->snapshot);
  return state;
}

Result<void> SlotTransfer::bring_in(SlotId slot, const SlotState& state) {
  const JournaledCall call(core_.journal, [&](CacheJournal& to) { to.bring_in(slot, state); });
  LiveSlot& held = core_.slots[slot];
  CHECK(held.idle());
  CHECK(state.length() > 0 && 0 <= state.exact && state.exact <= state.length());
  CHECK(state.keys.size() == (core_.options.has_exact_prompts() ? state.tokens.size() : 0));
  if (core_.unsaved_bytes(held) > 0) live_.evacuate(slot);
  const HeldParts parts{state.rows, state.snapshot};
  const auto moved = core_.memory.copier.restore(slot, state.tokens, parts);
  live_.forget(slot);  // of what it held
  if (!moved) return moved.error();
  held.space = state.space;
  held.tokens = state.tokens;
  held.keys = state.keys;
  held.exact = state.exact;
  held.own_from = state.length();
  core_.slots.begin_run(slot);
  held.tool_call = false;
  seen_.note(held);
  bring_companion(slot, parts);
  return {};
}

// What the companion lacks it does without.
void SlotTransfer::bring_companion(SlotId slot, const HeldParts& parts) {
  if (core_.companion == nullptr) return;
  const CompanionHolding held = core_.memory.copier.companion_parts(parts);
  engine::CompanionPoint point;
  point.tokens = core_.slots[slot].tokens;
  point.rows = held.rows;
  point.place = held.place;
  (void)core_.companion->follow(slot, point);
}

TokenPos SlotTransfer::erase(SlotId slot) {
  const JournaledCall call(core_.journal, [&](CacheJournal& to) { to.erase(slot); });
  CHECK(core_.slots[slot].idle());
  return empty(slot);
}

TokenPos SlotTransfer::forget(SlotId slot) {
  const JournaledCall call(core_.journal, [&](CacheJournal& to) { to.forget(slot); });
  CHECK(core_.slots[slot].idle());
  if (core_.slots[slot].length() > 0) forget_conversation(core_.slots[slot], slot);
  return empty(slot);
}

TokenPos SlotTransfer::empty(SlotId slot) {
  const TokenPos length = core_.slots[slot].length();
  core_.engine.clear(slot);
  live_.forget(slot);
  return length;
}

// Other slots may go on from a part of it.
void SlotTransfer::forget_conversation(const LiveSlot& held, SlotId slot) {
  const TokenSpan keys = core_.slots.keys(held);
  PathEnd end{held.space, Tokens(keys.begin(), keys.end()), held.own_from, 0};
  for (const SlotId other : core_.slots.all()) {
    const LiveSlot& beside = core_.slots[other];
    if (other == slot || beside.space != held.space) continue;
    const TokenSpan theirs = beside.idle() ? core_.slots.keys(beside) : beside.prompt_keys;
    end.keep = std::max(end.keep, common_prefix(theirs, keys));
  }
  seen_.forget_end(held, end);
  end.keep = std::max(end.keep, core_.memory.room.clear(end));
  core_.ends.forget_end(end);
  if (core_.lower != nullptr) core_.lower->forget_end(std::move(end));
}

}  // namespace holdfast::cache
