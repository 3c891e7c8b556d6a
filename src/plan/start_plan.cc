#include "plan/start_plan.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"
#include "plan/cuts.h"

namespace holdfast::plan {

const char* start_source_name(StartSource source) {
  switch (source) {
    case StartSource::kNothing: return "nothing";
    case StartSource::kLive: return "live";
    case StartSource::kSnapshotInPlace: return "snapshot in place";
    case StartSource::kMemory: return "memory";
  }
  return "?";
}

namespace {

using Cuts = std::span<const TokenPos>;

// A state that refuses to be truncated refuses the ones before it, as a rule: a recurrent
// one gives back its last few tokens at most. So the search below it is short.
constexpr int kCutsTried = 64;

bool on_grid(Cuts cuts, TokenPos position) { return std::ranges::binary_search(cuts, position); }

TokenPos limit_of(const StartInput& input) {
  return input.end_known ? input.prompt_length : input.prompt_length - 1;
}

// The stop at exactly this position, or null.
const tree::Stop* stop_at(const tree::Match& match, TokenPos position) {
  const auto stop = std::ranges::lower_bound(match.stops, position, {}, &tree::Stop::position);
  return stop == match.stops.end() || stop->position != position ? nullptr : &*stop;
}

// The deepest stop that is not beyond `limit` and fits, or null.
const tree::Stop* deepest_stop(const tree::Match& match, TokenPos limit, const auto& fits) {
  for (auto stop = match.stops.rbegin(); stop != match.stops.rend(); ++stop) {
    if (stop->position <= limit && fits(*stop)) return &*stop;
  }
  return nullptr;
}

// The node whose edge holds the token before `position`.
tree::NodeId node_holding(const tree::Match& match, TokenPos position) {
  const auto stop = std::ranges::lower_bound(match.stops, position, {}, &tree::Stop::position);
  return stop == match.stops.end() ? match.node : stop->node;
}

// START-2 for a state of memory. One that ends where the match does is that of a whole prompt.
bool may_keep(const tree::Match& match, const tree::Stop& stop, Cuts cuts, bool exact_prompts) {
  return on_grid(cuts, stop.position) || stop.position == match.length ||
         (!exact_prompts && stop.marks.has(Hint::kOffGrid));
}

bool can_truncate(const LiveState& slot, TokenPos position) {
  return slot.can_truncate && slot.can_truncate(position);
}

// --- ways to begin -------------------------------------------------------------

struct Way {
  const LiveState* slot = nullptr;
  StartSource source = StartSource::kNothing;
  TokenPos reused = 0;
  tree::NodeId node;  // of memory
  ByteCount bytes_in = 0;
  ByteCount cost = 0;
};

// How deep the slot's own state can be kept; 0: not at all.
TokenPos reused_of_live(const StartInput& input, const LiveState& slot) {
  const TokenPos agreed = std::min(slot.common, limit_of(input));
  if (!input.exact_prompts && agreed > slot.exact && can_truncate(slot, agreed)) return agreed;
  auto cut = std::ranges::upper_bound(input.cuts, std::min(agreed, slot.exact));
  for (int tries = kCutsTried; cut != input.cuts.begin() && tries > 0; --tries) {
    if (can_truncate(slot, *--cut)) return *cut;
  }
  return 0;
}

// The slot's rows that agree with the prompt and may be kept. Where prompts are exact those of
// whole chunks: where the prompt ends inside a chunk that the slot has read to its end, the tokens
// agree and the bits do not.
TokenPos rows_of(const StartInput& input, const LiveState& slot) {
  if (!input.exact_prompts) return slot.common;
  return floor_of(input.cuts, std::min(slot.common, slot.exact));
}

// START-2 for a place of the slot's own.
bool may_keep(const StartInput& input, const PlaceInSlot& place) {
  return on_grid(input.cuts, place.position) || (!input.exact_prompts && place.off_grid);
}

// A snapshot that the slot's own rows can be joined with.
struct InPlace {
  tree::NodeId node;  // of memory; none: the slot's own
  TokenPos position = 0;
};

// The deepest one; of equals the slot's own.
std::optional<InPlace> snapshot_in_place(const StartInput& input, const LiveState& slot) {
  if (!input.match || input.match->truncates_anywhere) return std::nullopt;
  const TokenPos limit = std::min(rows_of(input, slot), limit_of(input));
  std::optional<InPlace> best;
  for (const PlaceInSlot& place : slot.places) {
    if (place.position <= limit && may_keep(input, place)) best = InPlace{{}, place.position};
  }
  const tree::Stop* stop = deepest_stop(*input.match, limit, [&](const tree::Stop& at) {
    return at.has_snapshot && may_keep(*input.match, at, input.cuts, input.exact_prompts);
  });
  if (stop && (!best || stop->position > best->position))
    best = InPlace{stop->node, stop->position};
  return best;
}

// Tokens of the slot's state that this way to begin takes from its conversation.
TokenPos lost_tokens(const LiveState& slot, StartSource source, TokenPos reused) {
  const bool rows_stay = source == StartSource::kLive || source == StartSource::kSnapshotInPlace;
  return rows_stay ? slot.length - reused : slot.length;
}

// What bringing the lost conversation back would cost: from memory if there is
// one, and by reading it again otherwise.
ByteCount displaced(const StartInput& input, TokenPos lost) {
  if (lost == 0) return 0;
  const auto tokens = static_cast<ByteCount>(lost);
  if (!input.match) return tokens * input.costs.token;
  // Halved: the conversation may never come back.
  return (tokens * input.costs.bytes_per_token + input.costs.bytes_per_snapshot) / 2;
}

Way priced(const StartInput& input, Way way) {
  const TokenPos lost = lost_tokens(*way.slot, way.source, way.reused);
  const auto read = static_cast<ByteCount>(input.prompt_length - way.reused);
  way.cost = input.costs.token * read + way.bytes_in;
  if (read > 0) way.cost += input.costs.any_token;
  if (lost > 0) way.cost += way.slot->unsaved;
  way.cost += displaced(input, lost);
  return way;
}

// One way from each source that has one. The deepest place of a source is enough:
// costs are linear in `reused`, so where a shallower place were cheaper, nothing
// kept at all would be cheaper still.
std::vector<Way> ways_on(const StartInput& input, const LiveState& slot) {
  const StartCosts& costs = input.costs;
  std::vector<Way> ways;
  if (const TokenPos reused = reused_of_live(input, slot)) {
    ways.push_back({.slot = &slot, .source = StartSource::kLive, .reused = reused});
  }
  if (const auto snapshot = snapshot_in_place(input, slot)) {
    ways.push_back({&slot, StartSource::kSnapshotInPlace, snapshot->position, snapshot->node,
                    costs.bytes_per_snapshot});
  }
  const TokenPos deepest = input.match ? deepest_in_memory(*input.match, input.cuts,
                                                           limit_of(input), input.exact_prompts)
                                       : 0;
  if (deepest > 0) {
    const ByteCount bytes =
        static_cast<ByteCount>(deepest) * costs.bytes_per_token + costs.bytes_per_snapshot;
    ways.push_back(
        {&slot, StartSource::kMemory, deepest, node_holding(*input.match, deepest), bytes});
  }
  ways.push_back({.slot = &slot});
  for (Way& way : ways) way = priced(input, way);
  return ways;
}

bool better(const Way& a, const Way& b) {
  const auto rank = [](const Way& way) {
    return std::tuple(way.cost, -way.reused, way.slot->last_used, way.slot->slot);
  };
  return rank(a) < rank(b);
}

std::vector<StartAction> actions_of(const StartInput& input, const Way& way) {
  const LiveState& slot = *way.slot;
  std::vector<StartAction> actions;
  if (lost_tokens(slot, way.source, way.reused) > 0 && slot.unsaved > 0) {
    actions.emplace_back(StoreLive{});
  }
  switch (way.source) {
    case StartSource::kNothing:
      if (slot.length > 0) actions.emplace_back(ClearSlot{});
      break;
    case StartSource::kLive:
      if (way.reused < slot.length) actions.emplace_back(TruncateLive{way.reused});
      break;
    case StartSource::kSnapshotInPlace:
      actions.emplace_back(LoadSnapshot{way.node, way.reused});
      break;
    case StartSource::kMemory: actions.emplace_back(RestoreState{way.node, way.reused}); break;
  }
  actions.emplace_back(ReadPrompt{{way.reused, input.prompt_length}});
  return actions;
}

}  // namespace

StartPlan plan_start(const StartInput& input) {
  CHECK(input.prompt_length > 0 && !input.slots.empty());
  std::optional<Way> best;
  for (const LiveState& slot : input.slots) {
    for (const Way& way : ways_on(input, slot)) {
      if (!best || better(way, *best)) best = way;
    }
  }
  return {best->slot->slot, best->source, best->reused,
          best->bytes_in,   best->cost,   actions_of(input, *best)};
}

TokenPos deepest_in_memory(const tree::Match& match, std::span<const TokenPos> cuts, TokenPos limit,
                           bool exact_prompts) {
  if (match.truncates_anywhere) limit = std::min(limit, match.covered);
  const tree::Stop* stop = deepest_stop(match, limit, [&](const tree::Stop& at) {
    return at.restorable && may_keep(match, at, cuts, exact_prompts);
  });
  const TokenPos at_stop = stop ? stop->position : 0;
  return match.truncates_anywhere ? std::max(at_stop, floor_of(cuts, limit)) : at_stop;
}

// --- check_start_plan ------------------------------------------------------------

namespace {

const PlaceInSlot* place_at(const LiveState& slot, TokenPos position) {
  const auto place = std::ranges::find(slot.places, position, &PlaceInSlot::position);
  return place == slot.places.end() ? nullptr : &*place;
}

bool is_decoded(const StartInput& input, const LiveState& slot, const StartPlan& plan) {
  if (plan.source == StartSource::kLive) return plan.reused > slot.exact;
  const PlaceInSlot* place = place_at(slot, plan.reused);
  if (plan.source == StartSource::kSnapshotInPlace && place && place->off_grid) return true;
  const tree::Stop* stop = input.match ? stop_at(*input.match, plan.reused) : nullptr;
  return stop && stop->marks.has(Hint::kOffGrid);
}

bool is_there(const StartInput& input, const LiveState& slot, const StartPlan& plan) {
  const TokenPos rows = rows_of(input, slot);
  const tree::Stop* stop = input.match ? stop_at(*input.match, plan.reused) : nullptr;
  const bool snapshot = (stop && stop->has_snapshot) || place_at(slot, plan.reused);
  switch (plan.source) {
    case StartSource::kNothing: return true;
    case StartSource::kLive: return plan.reused <= rows && can_truncate(slot, plan.reused);
    case StartSource::kSnapshotInPlace: return snapshot && plan.reused <= rows;
    case StartSource::kMemory:
      if (!input.match) return false;
      return input.match->truncates_anywhere ? plan.reused <= input.match->covered
                                             : stop && stop->restorable;
  }
  return false;
}

// The one action between keeping what would be lost and reading; none: the slot
// is as it should be.
std::optional<StartAction> change_of(const StartInput& input, const LiveState& slot,
                                     const StartPlan& plan) {
  switch (plan.source) {
    case StartSource::kNothing: break;
    case StartSource::kLive:
      return plan.reused == slot.length ? std::nullopt : std::optional(TruncateLive{plan.reused});
    case StartSource::kSnapshotInPlace: {
      const PlaceInSlot* own = place_at(slot, plan.reused);
      const bool its_own = own && may_keep(input, *own);
      return LoadSnapshot{its_own ? tree::NodeId{} : node_holding(*input.match, plan.reused),
                          plan.reused};
    }
    case StartSource::kMemory:
      return RestoreState{node_holding(*input.match, plan.reused), plan.reused};
  }
  return slot.length == 0 ? std::nullopt : std::optional<StartAction>(ClearSlot{});
}

std::string check_actions(const StartInput& input, const LiveState& slot, const StartPlan& plan) {
  std::span<const StartAction> rest = plan.actions;
  const bool stores = !rest.empty() && rest.front() == StartAction(StoreLive{});
  const bool should_store = slot.unsaved > 0 && lost_tokens(slot, plan.source, plan.reused) > 0;
  if (stores != should_store) return "START-4: what would be lost is not kept, or kept for nothing";
  if (stores) rest = rest.subspan(1);
  if (const auto change = change_of(input, slot, plan)) {
    if (rest.empty() || rest.front() != *change)
      return "START-4: the slot does not get what is kept";
    rest = rest.subspan(1);
  }
  const StartAction read = ReadPrompt{{plan.reused, input.prompt_length}};
  if (rest.size() != 1 || rest.front() != read)
    return "START-4: it does not end with reading the rest";
  return {};
}

}  // namespace

std::vector<std::string> check_start_plan(const StartInput& input, const StartPlan& plan) {
  const std::string at = std::to_string(plan.reused);
  if (plan.reused < 0 || plan.reused > limit_of(input)) {
    return {"START-1: " + at + " is more than may be kept"};
  }
  const bool nothing = plan.source == StartSource::kNothing;
  if ((plan.reused == 0) != nothing) return {"START-1: " + at + " and its source do not agree"};
  const auto slot = std::ranges::find(input.slots, plan.slot, &LiveState::slot);
  if (slot == input.slots.end()) return {"START-3: there is no such slot"};

  std::vector<std::string> violations;
  const bool decoded = !input.exact_prompts && is_decoded(input, *slot, plan);
  const bool whole = plan.reused == input.prompt_length;
  if (!nothing && !whole && !on_grid(input.cuts, plan.reused) && !decoded) {
    violations.push_back("START-2: " + at + " is off the grid");
  }
  if (!is_there(input, *slot, plan)) {
    violations.push_back("START-3: there is no " + std::string(start_source_name(plan.source)) +
                         " state at " + at);
    return violations;
  }
  const std::string wrong = check_actions(input, *slot, plan);
  if (!wrong.empty()) violations.push_back(wrong);
  return violations;
}

}  // namespace holdfast::plan
