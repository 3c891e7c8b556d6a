#include "record/replay_slots.h"

#include <algorithm>

namespace holdfast::record {

bool ReplaySlots::all_idle() const {
  return std::ranges::all_of(slots_, [](const Slot& slot) { return slot.request == nullptr; });
}

ReplaySlots::Slot* ReplaySlots::busy(int slot) {
  Slot& now = at(slot);
  return now.request != nullptr && !now.failed ? &now : nullptr;
}

bool ReplaySlots::before_chunk(const CacheEvent& event) {
  Slot* slot = busy(event.slot);
  if (slot == nullptr) return false;
  slot->failed = !cache_->growth().before_chunk({event.slot}).ok();
  return true;
}

void ReplaySlots::read_up_to(int slot, TokenPos end, engine::LogitsOf logits,
                             cache::Copies copies) {
  const SlotId id{slot};
  LiveRequest& request = *at(slot).request;
  const TokenSpan prompt = request.prompt.tokens;
  while (cache_->slots()[id].length() < end) {
    const TokenPos begin = cache_->slots()[id].length();
    const TokenPos next = std::min(cache_->growth().chunk_end(id), end);
    const bool last = next == end;
    cache_.engine().set_length(id, next);
    cache_->growth().prefilled(
        id, prompt.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(next - begin)),
        request.receipt, last ? logits : engine::LogitsOf::kNone,
        last ? copies : cache::Copies::kNow);
  }
}

bool ReplaySlots::prefilled(const CacheEvent& event, cache::Copies copies) {
  Slot* slot = busy(event.slot);
  if (slot == nullptr || slot->emptied || cache_->growth().postponed({event.slot})) return false;
  if (event.position > length_of(slot->request->prompt.tokens)) return false;
  const auto logits = event.yes ? engine::LogitsOf::kLastToken : engine::LogitsOf::kNone;
  read_up_to(event.slot, event.position, logits, copies);
  return true;
}

bool ReplaySlots::copy_postponed(const CacheEvent& event) {
  Slot* slot = busy(event.slot);
  if (slot == nullptr || !cache_->growth().postponed({event.slot})) return false;
  cache_->growth().copy_postponed({event.slot}, event.bytes, slot->request->receipt);
  return true;
}

bool ReplaySlots::decoded(const CacheEvent& event) {
  Slot* slot = busy(event.slot);
  if (slot == nullptr || cache_->growth().postponed({event.slot})) return false;
  const SlotId id{event.slot};
  if (!slot->emptied) {
    read_up_to(event.slot, length_of(slot->request->prompt.tokens), engine::LogitsOf::kLastToken,
               cache::Copies::kNow);
  }
  const TokenPos length = cache_->slots()[id].length() + length_of(event.tokens);
  if (length > cache_.header().context_tokens) return false;
  cache_.engine().set_length(id, length);
  cache_->growth().decoded(id, event.tokens);
  return true;
}

bool ReplaySlots::emptied(const CacheEvent& event) {
  Slot* slot = busy(event.slot);
  if (slot == nullptr) return false;
  slot->emptied = true;
  cache_.engine().set_length({event.slot}, 0);
  cache_->growth().emptied({event.slot});
  return true;
}

// A request that failed left its slot shorter.
bool ReplaySlots::end(const CacheEvent& event) {
  Slot& slot = at(event.slot);
  if (slot.request == nullptr) return false;
  const SlotId id{event.slot};
  ReplayEngine& engine = cache_.engine();
  engine.set_length(id, std::min(engine.length(id), event.position));
  cache_->end(id);
  slot.request->ended = true;
  slot = {};
  return true;
}

}  // namespace holdfast::record
