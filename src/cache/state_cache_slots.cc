// A slot's state out of it and into it, asked for by people rather than by a prompt.
#include <algorithm>

#include "base/check.h"
#include "cache/state_cache.h"

namespace holdfast::cache {

// Deterministic, a slot that has written an answer goes on from where its prompt was last
// cut, and where a state cannot be cut, memory has the snapshot of that place.
std::optional<SlotState> StateCache::copy_out(SlotId slot) {
  const JournaledCall call(core_.journal, [&](CacheJournal& to) { to.copy_out(slot); });
  const LiveSlot& held = core_.slots[slot];
  CHECK(held.prompt.empty());
  TokenPos length = core_.storable_length(held);
  if (length == 0)
    length = core_.memory.match(held.space, core_.slots.keys(held)).restorable(held.exact);
  if (length == 0) return std::nullopt;
  const auto count = static_cast<std::size_t>(length);
  auto parts = core_.memory.collect(slot, held.space, core_.slots.keys(held).first(count));
  if (!parts) return std::nullopt;
  SlotState state;
  state.space = held.space;
  state.tokens.assign(held.tokens.begin(), held.tokens.begin() + length);
  if (core_.options.deterministic) state.keys.assign(held.keys.begin(), held.keys.begin() + length);
  state.exact = std::min(held.exact, length);
  state.rows = std::move(parts->rows);
  state.snapshot = std::move(parts->snapshot);
  return state;
}

Result<void> StateCache::bring_in(SlotId slot, const SlotState& state) {
  const JournaledCall call(core_.journal, [&](CacheJournal& to) { to.bring_in(slot, state); });
  LiveSlot& held = core_.slots[slot];
  CHECK(held.prompt.empty());
  CHECK(state.length() > 0 && 0 <= state.exact && state.exact <= state.length());
  CHECK(state.keys.size() == (core_.options.deterministic ? state.tokens.size() : 0));
  if (core_.unsaved_bytes(held) > 0) put_aside(slot);
  const HeldParts parts{state.rows, state.snapshot};
  const auto moved = core_.memory.restore(slot, state.tokens, parts);
  forget_slot(slot);  // of what it held
  if (!moved) return moved.error();
  held.space = state.space;
  held.tokens = state.tokens;
  held.keys = state.keys;
  held.exact = state.exact;
  core_.slots.begin_run(slot);
  held.tool_call = false;
  note_seen(held);
  if (core_.companion == nullptr) return {};
  const CompanionHolding companion = core_.memory.companion_parts(parts);
  engine::CompanionPoint point;
  point.tokens = held.tokens;
  point.rows = companion.rows;
  point.place = companion.place;
  (void)core_.companion->follow(slot, point);  // what it lacks it does without
  return {};
}

TokenPos StateCache::erase(SlotId slot) {
  const JournaledCall call(core_.journal, [&](CacheJournal& to) { to.erase(slot); });
  CHECK(core_.slots[slot].prompt.empty());
  const TokenPos length = length_of(core_.slots[slot].tokens);
  core_.engine.clear(slot);
  forget_slot(slot);
  return length;
}

}  // namespace holdfast::cache
