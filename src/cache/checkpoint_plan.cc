#include "cache/checkpoint_plan.h"

#include <algorithm>

#include "plan/cuts.h"
#include "plan/run_cuts.h"

namespace holdfast::cache {

namespace {

// Every checkpoint costs a walk over the prompt. One that consists of hundreds of
// messages of a few tokens is not kept after each of them.
TokenPos least_spacing(const Prompt& prompt) {
  constexpr std::size_t kManyCuts = 64;
  constexpr std::size_t kTinyChunk = 8;
  const bool tiny_chunks =
      prompt.cuts.size() > kManyCuts && prompt.cuts.size() * kTinyChunk > prompt.tokens.size();
  return tiny_chunks ? 32 : 0;
}

// Checkpoints of a model without extents keep this distance when memory is scarce.
constexpr TokenPos kRecurrentSpacing = 1024;

// Checkpoints at every cut may take this part of the room that is left.
constexpr ByteCount kPlenty = 8;
// ... where memory could hold this many snapshots.
constexpr ByteCount kManySnapshots = 1024;
// Otherwise those inside a message keep this many times the distance at which they weigh
// half as much as what they stand in: they are rarely where prompts part.
constexpr TokenPos kSparse = 5;

// What is promised of places near the end, as far as they take no more than a part of the room.
plan::NearEnd near_end_for(const CacheCore& core, const Prompt& prompt) {
  const TokenPos step = std::min(core.options.merged_chunk, core.engine.chunk_tokens_max());
  const TokenPos length = length_of(prompt.tokens);
  return plan::near_end_within(length, step, core.memory.copier.snapshot_bytes(length),
                               {core.memory.budget.free(), core.memory.budget.total()});
}

struct Spacing {
  TokenPos tokens = 0;
  bool keeps_messages = false;
};

// While there is plenty of room, nearly every cut; else so few that they leave room for others.
// Where memory holds few snapshots, because each is large, plenty of room is no reason to fill it:
// inside messages the places near the end are enough.
Spacing spacing_for(const CacheCore& core, const Prompt& prompt, TokenPos from) {
  const TokenPos least = least_spacing(prompt);
  if (core.options.checkpoint_every > 0)
    return {std::max(core.options.checkpoint_every, least), false};
  const ByteCount snapshot = core.memory.copier.snapshot_bytes(length_of(prompt.tokens));
  if (snapshot == 0) return {least, false};
  const auto fresh = static_cast<ByteCount>(length_of(prompt.tokens) - from);
  const auto cuts =
      static_cast<ByteCount>(prompt.cuts.end() - std::ranges::upper_bound(prompt.cuts, from));
  const ByteCount all = cuts * snapshot + fresh * core.memory.copier.bytes_per_token();
  const bool plenty = all <= core.memory.budget.free() / kPlenty;
  if (plenty && core.memory.budget.total() / snapshot >= kManySnapshots) return {least, false};
  if (plenty) return {std::max(sparse_distance(core), least), least == 0};
  const ByteCount share = std::max<ByteCount>(core.memory.budget.total() / 4, 1);
  const auto affordable = static_cast<TokenPos>(
      std::min<ByteCount>(fresh * snapshot / share, static_cast<ByteCount>(fresh)));
  return {std::max({sparse_distance(core), affordable, least}), false};
}

// Whether bringing the state of the whole prompt back takes less time than reading what lies
// behind `last`, the last checkpoint.
bool worth_its_end(const CacheCore& core, TokenPos length, TokenPos last) {
  const auto behind = static_cast<ByteCount>(length - last);
  const plan::StartCosts now = core.start_costs();
  if (behind == 0 || !core.memory.could_hold(length)) return false;
  return behind * now.token + now.any_token > core.memory.copier.snapshot_bytes(length);
}

// A slot's own places are thinned as they are taken, so it is offered every cut.
void add_places_of_slot(CheckpointPlan& plan, plan::PlacementInput input, TokenPos least) {
  const std::vector<plan::Checkpoint> for_memory = plan.due;
  input.spacing_min = least;
  for (const plan::Checkpoint& more : plan::place_checkpoints(input)) {
    if (std::ranges::binary_search(for_memory, more.position, {}, &plan::Checkpoint::position))
      continue;
    plan.due.push_back(more);
    plan.due_in_slot.push_back(more.position);
  }
  std::ranges::sort(plan.due, {}, &plan::Checkpoint::position);
}

// What is read ahead is an answer, and few prompts part inside of one: the next place where they do
// is behind it.
void keep_deepest(CheckpointPlan& plan) {
  if (plan.due.empty()) return;
  const TokenPos deepest = plan.due.back().position;
  std::erase_if(plan.due, [&](const plan::Checkpoint& one) { return one.position < deepest; });
  std::erase_if(plan.due_in_slot, [&](TokenPos position) { return position < deepest; });
}

}  // namespace

TokenPos scarce_distance(const CacheCore& core) {
  return plan::scarce_spacing(core.engine.shape(), kRecurrentSpacing);
}

TokenPos sparse_distance(const CacheCore& core) { return kSparse * scarce_distance(core); }

CheckpointPlan plan_checkpoints(const CacheCore& core, const Prompt& prompt,
                                const CheckpointInput& input) {
  const CacheOptions& options = core.options;
  const bool keeps_states = core.memory.enabled() && options.checkpoints;
  plan::RunCutsInput run;
  run.grid = prompt.cuts;
  run.prompt_length = length_of(prompt.tokens);
  run.begin = input.restored;
  run.chunk_max = core.engine.chunk_tokens_max();
  run.system_end = plan::system_end(prompt.spans);
  if (!options.has_exact_prompts()) run.merged_max = std::min(options.merged_chunk, run.chunk_max);
  if (!options.has_exact_prompts() && keeps_states) {
    run.header_end = prompt.header_end;
    run.junction = input.parts_at;
  }
  CheckpointPlan plan;
  plan.cuts = plan::run_cuts(run);
  if (!keeps_states) return plan;

  plan::PlacementInput placement;
  placement.cuts = plan.cuts;
  placement.spans = prompt.spans;
  placement.from = input.restored;
  placement.junction = input.parts_at;
  if (run.header_end && std::ranges::binary_search(plan.cuts, *run.header_end)) {
    placement.prompt_end = run.header_end;
  }
  const Spacing spacing = spacing_for(core, prompt, input.restored);
  placement.spacing_min = spacing.tokens;
  placement.keeps_messages = spacing.keeps_messages;
  placement.length = length_of(prompt.tokens);
  placement.near = near_end_for(core, prompt);
  plan.due = plan::place_checkpoints(placement);
  if (input.slots_keep_places) add_places_of_slot(plan, placement, least_spacing(prompt));
  if (prompt.ahead) keep_deepest(plan);
  const TokenPos last = plan.due.empty() ? input.restored : plan.due.back().position;
  if (core.keeps_ends(prompt) && worth_its_end(core, placement.length, last)) {
    plan.due.push_back({placement.length, plan::CheckpointKind::kAnswerStart});
  }
  return plan;
}

}  // namespace holdfast::cache
