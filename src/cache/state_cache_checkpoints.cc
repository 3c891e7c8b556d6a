// Where states are kept while a prompt is read, and how far apart.
#include <algorithm>

#include "cache/state_cache.h"
#include "plan/cuts.h"
#include "plan/run_cuts.h"

namespace holdfast {

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

// Of the time that a prompt takes to be read, checkpoints that are not always kept
// may take this share. On a processor they take less at every cut; a fast GPU reads
// thousands of tokens while one snapshot is copied.
constexpr double kStoreShareMax = 0.03;
constexpr double kStoreFreeMs = 30.0;  // nobody notices

// Checkpoints of a model without extents keep this distance when memory is scarce.
constexpr TokenPos kRecurrentSpacing = 1024;

// Checkpoints at every cut may take this part of the room that is left.
constexpr ByteCount kPlenty = 8;
// ... where memory could hold so many snapshots.
constexpr ByteCount kManySnapshots = 1024;
// Where others have to go for them, places near the end count so much of a place elsewhere: the end
// of the prompt that follows them is wanted more often.
constexpr double kNearEndOdds = 0.5;
// Otherwise those inside a message keep this many times the distance at which they weigh
// half as much as what they stand in: they are rarely where prompts part.
constexpr TokenPos kSparse = 5;

Hints marks_of(CheckpointKind kind) {
  switch (kind) {
    case CheckpointKind::kStep: return Hint::kStep;
    case CheckpointKind::kMessageEnd: return Hint::kMessageEnd;
    case CheckpointKind::kJunction: return Hint::kJunction;
    case CheckpointKind::kPromptEnd: return Hint::kPromptEnd;
    case CheckpointKind::kSystemEnd: return Hint::kSystemEnd;
    case CheckpointKind::kAnswerStart: return Hint::kAnswerStart;
  }
  return {};
}

ReuseOdds odds_of(CheckpointKind kind, const EvictionPolicy& policy) {
  switch (kind) {
    case CheckpointKind::kStep:
    case CheckpointKind::kAnswerStart:
    case CheckpointKind::kMessageEnd: return policy.interior;
    case CheckpointKind::kPromptEnd: return policy.tip;
    case CheckpointKind::kJunction:
    case CheckpointKind::kSystemEnd: return policy.proven;
  }
  return policy.interior;
}

}  // namespace

TokenPos StateCache::scarce_distance() const {
  return scarce_spacing(engine_.shape(), kRecurrentSpacing);
}

TokenPos StateCache::sparse_distance() const { return kSparse * scarce_distance(); }

// What is promised of places near the end, as far as they take no more than a part of the room.
NearEnd StateCache::near_end_for(const Prompt& prompt) const {
  const TokenPos step = std::min(options_.merged_chunk, engine_.chunk_tokens_max());
  const TokenPos length = length_of(prompt.tokens);
  return near_end_within(length, step, memory_.snapshot_bytes(length),
                         {memory_.room(), memory_.budget()});
}

// While there is plenty of room, nearly every cut; else so few that they leave room for others.
// Where memory holds few snapshots, because each is large, plenty of room is no reason to fill it:
// inside messages the places near the end are enough.
StateCache::Spacing StateCache::spacing_for(const Prompt& prompt, TokenPos from) const {
  const TokenPos least = least_spacing(prompt);
  if (options_.checkpoint_every > 0) return {std::max(options_.checkpoint_every, least), false};
  const ByteCount snapshot = memory_.snapshot_bytes(length_of(prompt.tokens));
  if (snapshot == 0) return {least, false};
  const auto fresh = static_cast<ByteCount>(length_of(prompt.tokens) - from);
  const auto cuts =
      static_cast<ByteCount>(prompt.cuts.end() - std::ranges::upper_bound(prompt.cuts, from));
  const ByteCount all = cuts * snapshot + fresh * memory_.bytes_per_token();
  const bool plenty = all <= memory_.room() / kPlenty;
  if (plenty && memory_.budget() / snapshot >= kManySnapshots) return {least, false};
  if (plenty) return {std::max(sparse_distance(), least), least == 0};
  const ByteCount share = std::max<ByteCount>(memory_.budget() / 4, 1);
  const auto affordable = static_cast<TokenPos>(
      std::min<ByteCount>(fresh * snapshot / share, static_cast<ByteCount>(fresh)));
  return {std::max({sparse_distance(), affordable, least}), false};
}

void StateCache::place(Live& held, const Prompt& prompt, const Receipt& receipt) {
  const bool keeps_states = memory_.enabled() && options_.checkpoints;
  RunCutsInput run;
  run.grid = prompt.cuts;
  run.prompt_length = length_of(prompt.tokens);
  run.begin = receipt.restored;
  run.chunk_max = engine_.chunk_tokens_max();
  run.system_end = system_end(prompt.spans);
  if (!options_.deterministic) run.merged_max = std::min(options_.merged_chunk, run.chunk_max);
  if (!options_.deterministic && keeps_states) {
    run.header_end = prompt.header_end;
    if (receipt.difference) run.junction = receipt.difference->position;
  }
  held.cuts = run_cuts(run);
  held.due.clear();
  if (!keeps_states) return;
  PlacementInput input;
  input.cuts = held.cuts;
  input.spans = prompt.spans;
  input.from = receipt.restored;
  if (receipt.difference) input.junction = receipt.difference->position;
  if (run.header_end && std::ranges::binary_search(held.cuts, *run.header_end)) {
    input.prompt_end = run.header_end;
  }
  const Spacing spacing = spacing_for(prompt, receipt.restored);
  input.spacing_min = spacing.tokens;
  input.keeps_messages = spacing.keeps_messages;
  input.length = length_of(prompt.tokens);
  input.near = near_end_for(prompt);
  held.due = place_checkpoints(input);
  held.due_in_slot.clear();
  if (slot_allowance() > 0) place_in_slot(held, input, least_spacing(prompt));
  if (keeps_ends(prompt) && worth_its_end(held)) {
    held.due.push_back({length_of(prompt.tokens), CheckpointKind::kAnswerStart});
  }
}

// A slot's own places are thinned as they are taken, so it is offered every cut.
void StateCache::place_in_slot(Live& held, PlacementInput input, TokenPos least) {
  std::vector<Checkpoint> due = std::move(held.due);
  const std::vector<Checkpoint> for_memory = due;
  input.spacing_min = least;
  for (const Checkpoint& more : place_checkpoints(input)) {
    if (std::ranges::binary_search(for_memory, more.position, {}, &Checkpoint::position)) continue;
    due.push_back(more);
    held.due_in_slot.push_back(more.position);
  }
  std::ranges::sort(due, {}, &Checkpoint::position);
  held.due = std::move(due);
}

// Whether bringing the state of the whole prompt back takes less time than reading what lies
// behind the last checkpoint.
bool StateCache::worth_its_end(const Live& held) const {
  const TokenPos length = length_of(held.prompt);
  const TokenPos last = held.due.empty() ? held.last_checkpoint : held.due.back().position;
  const auto behind = static_cast<ByteCount>(length - last);
  const StartCosts now = costs();
  if (behind == 0 || !memory_.could_hold(length)) return false;
  return behind * now.token + now.any_token > memory_.snapshot_bytes(length);
}

// The slot has just read its prompt. Null: it may use nothing that is kept.
LogitsPtr StateCache::end_logits(SlotId slot) const {
  const Live& held = live(slot);
  if (held.end.length != length_of(held.tokens)) return nullptr;
  return copy_of_logits(engine_.logits(slot));
}

// The slot has read its prompt and a state of it is in memory.
void StateCache::keep_end(SlotId slot, LogitsPtr logits) {
  if (logits != nullptr) ends_.put(live(slot).end, std::move(logits));
}

bool StateCache::time_allows(const Live& held, const Checkpoint& checkpoint) const {
  if (always_kept(checkpoint.kind) || checkpoint.near_end) return true;
  const double reading_ms = ms_between(held.began, clock_.now()) - held.store_ms;
  return held.store_ms <= kStoreFreeMs + kStoreShareMax * reading_ms;
}

// The first tokens of the slot, up to the checkpoint.
StoreRequest StateCache::request_for(SlotId slot, const Checkpoint& checkpoint,
                                     bool off_grid) const {
  const Live& held = live(slot);
  StoreRequest request;
  request.slot = slot;
  request.space = held.space;
  request.tokens = keys_of(held).first(static_cast<std::size_t>(checkpoint.position));
  request.marks = marks_of(checkpoint.kind);
  if (off_grid) request.marks = request.marks | Hint::kOffGrid;
  request.odds = odds_of(checkpoint.kind, memory_.policy());
  request.newcomer = held.newcomer;
  request.now = now();
  return request;
}

void StateCache::take_checkpoint(SlotId slot, const Checkpoint& checkpoint, Receipt& receipt) {
  Live& held = live(slot);
  const bool on_grid = std::ranges::binary_search(held.grid, checkpoint.position);
  StoreRequest request = request_for(slot, checkpoint, !on_grid);
  request.saves = checkpoint.position - held.last_checkpoint;
  request.essential = always_kept(checkpoint.kind);
  if (checkpoint.near_end && !request.essential) request.odds.weight *= kNearEndOdds;
  // Where slots keep their own, memory is for whole states.
  request.rows_stay = slot_allowance() == 0;
  const auto before = clock_.now();
  const bool for_slot = std::ranges::binary_search(held.due_in_slot, checkpoint.position);
  const StoreOutcome outcome = for_slot ? StoreOutcome{} : memory_.store(request);
  const bool in_slot = keep_in_slot(slot, checkpoint, outcome.snapshot, receipt);
  const double took_ms = ms_between(before, clock_.now());
  held.store_ms += took_ms;
  totals_.store_seconds += took_ms / 1000.0;
  if (!outcome.stored && !in_slot) return;
  ++receipt.checkpoints;
  ++totals_.checkpoints;
  if (!outcome.stored) return;
  held.kept = checkpoint.position;
  held.filed = outcome.filed;
  held.last_checkpoint = checkpoint.position;
  receipt.bytes_out += outcome.bytes;
}

// --- checkpoints that are taken later ----------------------------------------------------

// Not where slots keep the place for themselves, or memory takes snapshots alone.
bool StateCache::goes_to_memory(const Live& held, const Checkpoint& checkpoint) const {
  return memory_.could_hold(checkpoint.position) &&
         !std::ranges::binary_search(held.due_in_slot, checkpoint.position);
}

// With the rows of `rows` tokens copied before.
ByteCount StateCache::bytes_of(const Live& held, const Checkpoint& checkpoint,
                               TokenPos rows) const {
  const ByteCount snapshot = memory_.snapshot_bytes(checkpoint.position);
  if (!goes_to_memory(held, checkpoint)) return snapshot;
  const TokenPos missing = std::max(checkpoint.position - std::max(held.kept, rows), 0);
  return static_cast<ByteCount>(missing) * memory_.bytes_per_token() + snapshot;
}

ByteCount StateCache::bytes_due(SlotId slot, TokenPos end) const {
  const Live& held = live(slot);
  const auto due = std::ranges::lower_bound(held.due, end, {}, &Checkpoint::position);
  // Whether time allows it is asked when the chunk has been read.
  return due != held.due.end() && due->position == end ? bytes_of(held, *due, 0) : 0;
}

ByteCount StateCache::postponed_bytes(SlotId slot) const {
  const Live& held = live(slot);
  return held.postponed ? bytes_of(held, held.postponed->checkpoint, held.postponed->rows) : 0;
}

void StateCache::copy_postponed(SlotId slot, ByteCount bytes, Receipt& receipt) {
  const JournaledCall call(journal_, [&](CacheJournal& to) { to.copy_postponed(slot, bytes); });
  Live& held = live(slot);
  CHECK(held.postponed && engine_.length(slot) == length_of(held.tokens));
  if (postponed_bytes(slot) > bytes && copy_rows_ahead(slot, bytes, receipt)) return;
  Postponed now = std::move(*held.postponed);
  held.postponed.reset();
  take_checkpoint(slot, now.checkpoint, receipt);
  if (held.kept == now.checkpoint.position) keep_end(slot, std::move(now.logits));
}

// Rows never change, so those of a checkpoint may be copied piece by piece before its snapshot.
// False: there are none left, or they find no room; then all is up to the checkpoint itself.
bool StateCache::copy_rows_ahead(SlotId slot, ByteCount bytes, Receipt& receipt) {
  Live& held = live(slot);
  const Checkpoint& checkpoint = held.postponed->checkpoint;
  const ByteCount row = memory_.bytes_per_token();
  const TokenPos from = std::max(held.kept, held.postponed->rows);
  if (row == 0 || from >= checkpoint.position || !goes_to_memory(held, checkpoint)) return false;
  const auto left = static_cast<ByteCount>(checkpoint.position - from);
  const auto some = static_cast<TokenPos>(std::clamp<ByteCount>(bytes / row, 1, left));
  // Whole blocks: what lies behind the last one is copied with the next piece.
  const TokenPos blocks = std::max((from + some) / kBlockTokens, from / kBlockTokens + 1);
  const TokenPos to = std::min(blocks * kBlockTokens, checkpoint.position);
  const bool all = to == checkpoint.position && memory_.snapshot_bytes(to) == 0;
  if (all) return false;

  StoreRequest request = request_for(slot, {to, checkpoint.kind}, false);
  request.rows_only = true;
  request.saves = checkpoint.position - held.last_checkpoint;
  request.essential = always_kept(checkpoint.kind);
  const auto before = clock_.now();
  const StoreOutcome outcome = memory_.store(request);
  const double took_ms = ms_between(before, clock_.now());
  held.store_ms += took_ms;
  totals_.store_seconds += took_ms / 1000.0;
  if (!outcome.stored) return false;
  held.postponed->rows = to;
  held.filed = outcome.filed;
  receipt.bytes_out += outcome.bytes;
  return true;
}

}  // namespace holdfast
