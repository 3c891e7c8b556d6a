#include "cache/admission.h"

#include <algorithm>

#include "plan/cuts.h"
#include "plan/run_cuts.h"

namespace holdfast::cache {

Admission::Step Admission::step(State& state, const Prompt& prompt, std::span<const SlotId> slots,
                                Receipt& receipt) {
  for (;;) {
    StartChoice choice = plan(prompt, slots);
    state.peer = find_peer(prompt, choice);
    if (state.peer) return {Verdict::kWaitForPeer, {}, state.peer->slot};
    switch (ask_disk(state, prompt, choice, receipt)) {
      case FromDisk::kNothing: return {Verdict::kRun, std::move(choice), {}};
      case FromDisk::kComing: return {Verdict::kWaitForDisk, {}, {}};
      case FromDisk::kCame: break;  // memory holds more of the prompt now, so it is planned again
    }
  }
}

StartChoice Admission::plan(const Prompt& prompt, std::span<const SlotId> slots) const {
  const JournaledCall call(core_.journal, [&](CacheJournal& to) { to.plan(prompt, slots); });
  StartChoice choice = planner_.plan(prompt, slots);
  if (core_.journal != nullptr) core_.journal->planned(choice.plan);
  return choice;
}

Admission::FromDisk Admission::ask_disk(State& state, const Prompt& prompt,
                                        const StartChoice& choice, Receipt& receipt) {
  if (!state.fetch) state.fetch = cold_.look_up(prompt, choice);
  if (state.fetch->over()) return FromDisk::kNothing;
  if (!cold_.ready(*state.fetch)) return FromDisk::kComing;
  const bool more = cold_.advance(*state.fetch, prompt, choice, receipt);
  if (!state.fetch->over()) return FromDisk::kComing;
  return more ? FromDisk::kCame : FromDisk::kNothing;
}

// --- peers -------------------------------------------------------------------------------

std::optional<Awaited> Admission::find_peer(const Prompt& prompt, const StartChoice& choice) {
  const JournaledCall call(core_.journal, [&](CacheJournal& to) { to.worth_waiting_for(prompt); });
  const std::optional<Awaited> awaited = deepest_peer(prompt, choice);
  if (awaited) {
    ++core_.totals.waits;
    const bool postponed = awaited->position == core_.slots[awaited->slot].length();
    if (!postponed) checkpointer_.place_junction(awaited->slot, awaited->position);
  }
  if (core_.journal != nullptr) core_.journal->waits_for(awaited);
  return awaited;
}

std::optional<Awaited> Admission::deepest_peer(const Prompt& prompt,
                                               const StartChoice& choice) const {
  if (!core_.memory.enabled() || !prompt.reuse || !core_.options.checkpoints) return std::nullopt;
  std::optional<Awaited> best;
  for (const SlotId slot : core_.slots.all()) {
    const LiveSlot& other = core_.slots[slot];
    const TokenPos held = other.length();
    if (held >= length_of(other.prompt) || other.space != prompt.space) continue;
    const TokenPos reach = reach_of(other, prompt, choice.match);
    // One that is behind what this prompt has already would only hold it up.
    const bool coming = reach > held || (reach == held && other.postponed);
    const bool ahead = held >= choice.plan.reused && coming;
    if (!ahead || (best && reach <= best->position) || !core_.memory.could_hold(reach)) continue;
    best = Awaited{slot, other.run, reach};
  }
  return best;
}

// How much of the prompt the request at work there could leave a state of.
TokenPos Admission::reach_of(const LiveSlot& other, const Prompt& prompt,
                             const tree::Match& match) const {
  const TokenPos held = other.length();
  TokenPos common = planner_.common(other, prompt, match);
  if (common == held) {
    const auto agreed = static_cast<std::size_t>(held);
    common += common_prefix(other.prompt.subspan(agreed), prompt.tokens.subspan(agreed));
  }
  common = std::min(common, length_of(prompt.tokens) - 1);
  const TokenPos reach = plan::floor_of(other.cuts, common);
  const bool worth_a_junction =
      !core_.options.has_exact_prompts() && common - std::max(reach, held) >= plan::kJunctionWorth;
  return worth_a_junction ? common : reach;
}

bool Admission::still_coming(const Awaited& awaited) const {
  const LiveSlot& other = core_.slots[awaited.slot];
  const TokenPos length = other.length();
  return other.run == awaited.run && !other.prompt.empty() &&
         (length < awaited.position || (length == awaited.position && other.postponed));
}

}  // namespace holdfast::cache
