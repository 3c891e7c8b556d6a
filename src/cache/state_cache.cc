#include "cache/state_cache.h"

#include <utility>

#include "base/check.h"

namespace holdfast::cache {

namespace {

CacheWorld watched(const CacheWorld& world, const CacheOptions& options, CacheJournal* journal) {
  return journal == nullptr ? world : journal->watch(world, options);
}

// CACHE-2
bool is_filed(const CacheCore& core, const LiveSlot& held) {
  const tree::TokenTree& tree = core.memory.tree();
  if (held.filed.length < 0 || held.filed.length > held.length()) return false;
  if (!tree.alive(held.filed.node)) return true;
  const Tokens above = tree.path(held.filed.node).tokens();
  return tree.facts(held.filed.node).space == held.space &&
         common_prefix(above, core.slots.keys(held)) >= held.filed.length;
}

// A slot at work keeps its state, and what it has given to memory is to be given again.
void empty_idle_slots(CacheCore& core, Checkpointer& checkpointer, LiveStates& live,
                      const std::optional<SpaceKey>& only) {
  for (const SlotId slot : core.slots.all()) {
    LiveSlot& held = core.slots[slot];
    if (only && held.space != *only) continue;
    checkpointer.places().shorten(slot, 0);
    held.stored_upto = 0;
    if (held.postponed) held.postponed->rows = 0;
    if (!held.idle()) continue;
    core.engine.clear(slot);
    live.forget(slot);
  }
}

}  // namespace

StateCache::StateCache(const CacheWorld& world, const CacheOptions& options, CacheJournal* journal)
    : core_(watched(world, options, journal), options, journal),
      checkpointer_(core_),
      cold_(core_),
      planner_(core_, checkpointer_.places()),
      admission_(core_, planner_, checkpointer_, cold_),
      live_(core_, checkpointer_, cold_),
      seen_(core_),
      starter_(core_, planner_, checkpointer_, live_, seen_),
      growth_(core_, checkpointer_, live_),
      transfer_(core_, live_, seen_) {
  if (journal != nullptr) journal->close();
}

void StateCache::end(SlotId slot) {
  const JournaledCall call(core_.journal, [&](CacheJournal& to) { to.end(slot); });
  LiveSlot& held = core_.slots[slot];
  seen_.note(held);
  cold_.persist(held.space, core_.slots.keys(held));
  live_.shorten(slot, core_.engine.length(slot));
  core_.slots.end_request(slot);
}

// --- what is held ----------------------------------------------------------------------------

CacheStatus StateCache::status() const {
  CacheStatus status = core_.totals;
  core_.memory.report(status);
  status.ghost_tokens += seen_.tokens();
  status.slot_snapshot_count = checkpointer_.places().count();
  status.slot_snapshots = checkpointer_.places().bytes();
  status.slot_snapshots_max = checkpointer_.slot_allowance();
  return status;
}

ByteCount StateCache::clear(const std::optional<SpaceKey>& only) {
  const JournaledCall call(core_.journal, [&](CacheJournal& to) { to.clear(only); });
  const ByteCount places = checkpointer_.places().bytes();
  empty_idle_slots(core_, checkpointer_, live_, only);
  if (core_.lower != nullptr) core_.lower->clear(only);
  const ByteCount logits = core_.ends.bytes();
  only ? (void)core_.ends.clear(*only) : core_.ends.clear();
  seen_.clear(only);
  const ByteCount beside = places + logits - checkpointer_.places().bytes() - core_.ends.bytes();
  return beside + (only ? core_.memory.room.clear(*only) : core_.memory.room.clear());
}

void StateCache::distrust(SpaceKey space, const std::string& why) {
  const JournaledCall call(core_.journal, [](CacheJournal& to) { to.distrust(); });
  if (core_.lower != nullptr) core_.lower->distrust(space, why);
  checkpointer_.places().clear();
  core_.ends.clear();
  for (const SlotId slot : core_.slots.all()) {
    CHECK(core_.slots[slot].idle());
    core_.engine.clear(slot);
    live_.forget(slot);
  }
  core_.memory.room.retire(core_.now);
}

std::vector<std::string> StateCache::check() const {
  std::vector<std::string> violations = core_.memory.check();
  const auto add = [&](std::vector<std::string> more, const char* prefix = "") {
    for (std::string& violation : more) violations.push_back(prefix + violation);
  };
  add(core_.ends.check(), "CACHE-3: ");
  add(core_.slots.check());
  add(checkpointer_.check());
  add(seen_.check());
  for (const SlotId slot : core_.slots.all()) {
    if (!is_filed(core_, core_.slots[slot])) {
      violations.push_back("CACHE-2: slot " + std::to_string(slot.value));
    }
  }
  return violations;
}

}  // namespace holdfast::cache
