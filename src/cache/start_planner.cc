#include "cache/start_planner.h"

#include <vector>

namespace holdfast::cache {

// Where prompts are exact the tree knows keys and not tokens, so all tokens are compared.
TokenPos StartPlanner::common(const LiveSlot& held, const Prompt& prompt,
                              const tree::Match& match) const {
  if (held.space != prompt.space) return 0;
  if (core_.options.has_exact_prompts()) return common_prefix(held.tokens, prompt.tokens);
  return core_.memory.tree().common(match, prompt.tokens, held.filed, held.tokens);
}

plan::LiveState StartPlanner::describe(SlotId slot, const Prompt& prompt, const tree::Match& match,
                                       Truncation truncation) const {
  const LiveSlot& held = core_.slots[slot];
  plan::LiveState state;
  state.slot = slot.value;
  state.length = held.length();
  state.common = prompt.reuse ? common(held, prompt, match) : 0;
  state.exact = held.exact;
  state.can_truncate = [this, slot, truncation](TokenPos position) {
    return (truncation == Truncation::kAllowed || position == core_.engine.length(slot)) &&
           core_.engine.can_truncate(slot, position);
  };
  for (const SlotPlace& place : places_.of(slot)) {
    state.places.push_back({place.at.position, place.off_grid});
  }
  state.unsaved = core_.unsaved_bytes(held);
  state.last_used = held.run;
  return state;
}

StartChoice StartPlanner::plan_with(const Prompt& prompt, std::span<const SlotId> slots,
                                    Truncation truncation) const {
  StartChoice choice;
  choice.match = core_.memory.tree().match(prompt.space, prompt.keys);
  std::vector<plan::LiveState> states;
  for (const SlotId slot : slots)
    states.push_back(describe(slot, prompt, choice.match, truncation));
  const tree::Match nothing{.space = prompt.space, .length = length_of(prompt.tokens)};
  plan::StartInput input;
  input.prompt_length = length_of(prompt.tokens);
  input.cuts = prompt.cuts;
  if (core_.memory.enabled()) input.match = prompt.reuse ? &choice.match : &nothing;
  input.slots = states;
  input.costs = core_.start_costs();
  input.exact_prompts = core_.options.has_exact_prompts();
  input.end_known = core_.may_begin_at_end(prompt) && core_.ends.holds(prompt.end);
  choice.plan = plan::plan_start(input);
  return choice;
}

ByteCount StartPlanner::bytes_to_begin(const StartChoice& choice) const {
  ByteCount bytes = choice.plan.bytes_in;
  for (const plan::StartAction& action : choice.plan.actions) {
    if (std::holds_alternative<plan::StoreLive>(action)) {
      bytes += core_.unsaved_bytes(core_.slots[SlotId{choice.plan.slot}]);
    }
  }
  return bytes;
}

}  // namespace holdfast::cache
