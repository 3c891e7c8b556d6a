// What the slots keep of their own paths, beside memory's budget.
#include <algorithm>

#include "cache/state_cache.h"

namespace holdfast {

// So much of a handful for each slot as the budget is smaller.
ByteCount StateCache::slot_allowance() const {
  if (!memory_.enabled() || !memory_.tree().needs().snapshot || options_.slot_snapshots <= 0) {
    return 0;
  }
  const ByteCount handful = memory_.snapshot_bytes(engine_.context_tokens()) *
                            static_cast<ByteCount>(options_.slot_snapshots) * live_.size();
  return handful > memory_.budget() ? handful - memory_.budget() : 0;
}

// Returns whether it is kept there. The logits of a whole prompt are kept with memory's state
// alone, so its end is no place for a slot.
bool StateCache::keep_in_slot(SlotId slot, const Checkpoint& checkpoint,
                              const SnapshotPtr& held_by_memory, Receipt& receipt) {
  if (checkpoint.kind == CheckpointKind::kAnswerStart) return false;
  const Live& held = live(slot);
  SlotOffer offer;
  offer.at = checkpoint;
  offer.off_grid = !std::ranges::binary_search(held.grid, checkpoint.position);
  offer.path_end = std::max(length_of(held.prompt), length_of(held.tokens));
  offer.bytes = memory_.snapshot_bytes(checkpoint.position);
  offer.allowance = slot_allowance();
  if (offer.allowance == 0) return false;
  bool copied = false;
  const ByteCount kept = places_.put(slot, offer, [&]() -> SnapshotPtr {
    if (held_by_memory != nullptr) return held_by_memory;
    copied = true;
    return memory_.take_snapshot(slot, keys_of(held));
  });
  if (copied) receipt.bytes_out += kept;
  return kept > 0;
}

// The slot's rows are about to go, and no state of all of them has room in memory. The deepest
// place that could have it is put there with its rows, and those above it as far as they are worth
// their room. Returns the bytes copied.
ByteCount StateCache::put_places_aside(SlotId slot) {
  const Live& held = live(slot);
  ByteCount copied = 0;
  bool deepest = true;
  const auto places = places_.of(slot);
  for (auto place = places.rbegin(); place != places.rend(); ++place) {
    const TokenPos position = place->at.position;
    if (position <= held.kept) break;
    if (!memory_.could_hold(position)) continue;
    StoreRequest request = request_for(slot, place->at, place->off_grid);
    request.saves = position - held.kept;
    request.essential = deepest && request.saves >= scarce_distance();
    request.snapshot = place->snapshot;
    const StoreOutcome outcome = memory_.store(request);
    copied += outcome.bytes;
    if (outcome.stored) deepest = false;
  }
  return copied;
}

void StateCache::check_places(std::vector<std::string>& violations) const {
  for (std::string& violation : places_.check()) violations.push_back("C7: " + violation);
  for (std::size_t i = 0; i < live_.size(); ++i) {
    const auto places = places_.of(SlotId{static_cast<int>(i)});
    if (places.empty()) continue;
    const Live& held = live_[i];
    const TokenPos limit = options_.deterministic ? held.exact : length_of(held.tokens);
    if (places.back().at.position > limit) {
      violations.push_back("C7: a place of slot " + std::to_string(i) + " lies beyond its tokens");
    }
  }
  if (places_.bytes() > slot_allowance()) {
    violations.emplace_back("C7: slots keep more beside the budget than they may");
  }
}

}  // namespace holdfast
