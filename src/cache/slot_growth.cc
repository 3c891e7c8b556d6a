#include "cache/slot_growth.h"

#include <algorithm>

#include "base/check.h"
#include "plan/cuts.h"

namespace holdfast::cache {

TokenPos SlotGrowth::chunk_end(SlotId slot) const {
  const LiveSlot& held = core_.slots[slot];
  const auto cut = std::ranges::upper_bound(held.cuts, held.length());
  return cut == held.cuts.end() ? length_of(held.prompt) : *cut;
}

Result<void> SlotGrowth::before_chunk(SlotId slot) {
  if (!core_.options.has_exact_prompts()) return {};
  const JournaledCall call(core_.journal, [&](CacheJournal& to) { to.before_chunk(slot); });
  return core_.engine.normalize(slot);
}

void SlotGrowth::prefilled(SlotId slot, TokenSpan chunk, Receipt& receipt, engine::LogitsOf logits,
                           Copies copies) {
  const JournaledCall call(core_.journal,
                           [&](CacheJournal& to) { to.prefilled(slot, chunk, logits, copies); });
  if (core_.companion != nullptr) core_.companion->advance(slot, chunk, 0);
  LiveSlot& held = core_.slots[slot];
  CHECK(!held.postponed);
  const TokenPos before = held.length();
  const auto keys = core_.options.has_exact_prompts()
                        ? held.prompt_keys.subspan(static_cast<std::size_t>(before), chunk.size())
                        : TokenSpan{};
  core_.slots.append(slot, chunk, keys);
  const TokenPos after = held.length();
  const bool whole_chunk = std::ranges::binary_search(held.grid, after) &&
                           plan::floor_of(held.grid, after - 1) == before;
  if (whole_chunk && held.exact == before) held.exact = after;
  receipt.recomputed += length_of(chunk);
  checkpointer_.take_due(slot, before, logits, copies, receipt);
}

void SlotGrowth::copy_postponed(SlotId slot, ByteCount bytes, Receipt& receipt) {
  const JournaledCall call(core_.journal,
                           [&](CacheJournal& to) { to.copy_postponed(slot, bytes); });
  checkpointer_.copy_postponed(slot, bytes, receipt);
}

void SlotGrowth::decoded(SlotId slot, TokenSpan kept, TokenPos companion_synced) {
  const JournaledCall call(core_.journal, [&](CacheJournal& to) { to.decoded(slot, kept); });
  CHECK(!core_.slots[slot].postponed);
  core_.slots.append(slot, kept, kept);
  if (core_.companion == nullptr) return;
  const TokenSpan news = kept.subspan(static_cast<std::size_t>(companion_synced));
  core_.companion->advance(slot, news, companion_synced);
}

void SlotGrowth::note_prefill_speed(TokenPos tokens, double ms) {
  const JournaledCall call(core_.journal,
                           [&](CacheJournal& to) { to.note_prefill_speed(tokens, ms); });
  core_.costs.note_read(tokens, ms);
}

void SlotGrowth::emptied(SlotId slot) {
  const JournaledCall call(core_.journal, [&](CacheJournal& to) { to.emptied(slot); });
  live_.forget(slot);
}

}  // namespace holdfast::cache
