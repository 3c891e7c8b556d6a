#include "cache/conversations.h"

#include <algorithm>
#include <utility>

namespace holdfast::cache {

namespace {

// What it is filed under.
Tokens keys_of(const CacheCore& core, const tree::HeldConversation& conversation) {
  Tokens keys = core.memory.tree().path(conversation.tip).tokens();
  keys.resize(static_cast<std::size_t>(conversation.tokens));
  return keys;
}

}  // namespace

ConversationsStatus Conversations::list(std::size_t most, env::Clock::TimePoint now,
                                        const std::optional<SpaceKey>& only) const {
  const tree::HeldConversations held = core_.memory.tree().conversations(most, only);
  ConversationsStatus status{
      .count = held.count, .own = held.own, .shared = held.shared, .latest = {}};
  const double now_ms = env::ms_between(started_, now);
  for (const tree::HeldConversation& one : held.latest) {
    Tokens keys = keys_of(core_, one);
    const double used_ms = static_cast<double>(one.last_use);
    const auto slot = core_.slots.holding(one.space, keys);
    status.latest.push_back({.tip = one.tip,
                             .tokens = one.tokens,
                             .own = one.own,
                             .shared = one.shared,
                             .idle_seconds = (now_ms - used_ms) / 1000.0,
                             .slot = slot,
                             .snapshots_at = one.snapshots_at,
                             .space = one.space,
                             .keys = std::move(keys)});
  }
  return status;
}

std::optional<DroppedConversation> Conversations::drop(tree::NodeId tip,
                                                       const std::optional<SpaceKey>& only) {
  const tree::TokenTree& tree = core_.memory.tree();
  if (!tree.alive(tip)) return std::nullopt;
  const SpaceKey space = tree.facts(tip).space;
  if (only && space != *only) return std::nullopt;
  const auto all = tree.conversations(~std::size_t{0}, space).latest;
  const auto found = std::ranges::find(all, tip, &tree::HeldConversation::tip);
  if (found == all.end()) return std::nullopt;
  const JournaledCall call(core_.journal, [&](CacheJournal& to) { to.drop(tip); });
  empty_idle_slots(*found);
  const tree::EvictionNote note{tree::EvictReason::kCleared, core_.now};
  return DroppedConversation{space, core_.memory.room.drop_bytes(found->own_nodes, note)};
}

// Else it would come back from there. Several may hold it, each with an ending of its own.
void Conversations::empty_idle_slots(const tree::HeldConversation& conversation) {
  const Tokens keys = keys_of(core_, conversation);
  for (const SlotId slot : core_.slots.all()) {
    const LiveSlot& held = core_.slots[slot];
    const bool holds = held.space == conversation.space &&
                       common_prefix(core_.slots.keys(held), keys) == length_of(keys);
    if (!holds || !held.idle()) continue;
    checkpointer_.places().shorten(slot, 0);
    core_.engine.clear(slot);
    live_.forget(slot);
  }
}

}  // namespace holdfast::cache
