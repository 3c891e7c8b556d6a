#include "cache/checkpointer.h"

#include <algorithm>

#include "base/check.h"

namespace holdfast::cache {

namespace {

// Of the time that a prompt takes to be read, checkpoints that are not always kept
// may take this share. On a processor they take less at every cut; a fast GPU reads
// thousands of tokens while one snapshot is copied.
constexpr double kStoreShareMax = 0.03;
constexpr double kStoreFreeMs = 30.0;  // nobody notices

// Where others have to go for them, places near the end count as this part of a place elsewhere:
// the end of the prompt that follows them is wanted more often.
constexpr double kNearEndOdds = 0.5;
Hints marks_of(plan::CheckpointKind kind) {
  switch (kind) {
    case plan::CheckpointKind::kGridStep: return Hint::kGridStep;
    case plan::CheckpointKind::kMessageEnd: return Hint::kMessageEnd;
    case plan::CheckpointKind::kJunction: return Hint::kJunction;
    case plan::CheckpointKind::kPromptEnd: return Hint::kPromptEnd;
    case plan::CheckpointKind::kSystemEnd: return Hint::kSystemEnd;
    case plan::CheckpointKind::kAnswerStart: return Hint::kAnswerStart;
  }
  return {};
}

plan::ReuseOdds odds_of(plan::CheckpointKind kind, const plan::EvictionPolicy& policy) {
  switch (kind) {
    case plan::CheckpointKind::kGridStep:
    case plan::CheckpointKind::kAnswerStart:
    case plan::CheckpointKind::kMessageEnd: return policy.interior;
    case plan::CheckpointKind::kPromptEnd: return policy.tip;
    case plan::CheckpointKind::kJunction:
    case plan::CheckpointKind::kSystemEnd: return policy.proven;
  }
  return policy.interior;
}

}  // namespace

Checkpointer::Checkpointer(CacheCore& core)
    : core_(core),
      places_(core.engine.slot_count(),
              static_cast<std::size_t>(std::max(core.options.slot_snapshots, 0))) {}

// --- placing -------------------------------------------------------------------------------

void Checkpointer::place(SlotId slot, const Prompt& prompt, const Receipt& receipt) {
  CheckpointInput input;
  input.restored = receipt.restored;
  if (receipt.difference) input.parts_at = receipt.difference->position;
  input.slots_keep_places = slot_allowance() > 0;
  CheckpointPlan plan = plan_checkpoints(core_, prompt, input);
  LiveSlot& held = core_.slots[slot];
  held.cuts = std::move(plan.cuts);
  held.due = std::move(plan.due);
  held.due_in_slot = std::move(plan.due_in_slot);
}

void Checkpointer::place_junction(SlotId slot, TokenPos position) {
  LiveSlot& held = core_.slots[slot];
  const auto cut = std::ranges::lower_bound(held.cuts, position);
  if (cut == held.cuts.end() || *cut != position) held.cuts.insert(cut, position);
  const auto place = std::ranges::lower_bound(held.due, position, {}, &plan::Checkpoint::position);
  if (place != held.due.end() && place->position == position) return;
  held.due.insert(place, {position, plan::CheckpointKind::kJunction});
}

// --- taking --------------------------------------------------------------------------------

void Checkpointer::take_due(SlotId slot, TokenPos before, engine::LogitsOf logits, Copies copies,
                            Receipt& receipt) {
  LiveSlot& held = core_.slots[slot];
  const TokenPos after = held.length();
  while (!held.due.empty() && held.due.front().position <= after) {
    const plan::Checkpoint checkpoint = held.due.front();
    held.due.erase(held.due.begin());
    const bool at_end = checkpoint.kind == plan::CheckpointKind::kAnswerStart;
    if (at_end && logits == engine::LogitsOf::kNone) continue;
    const bool exact_here = !core_.options.has_exact_prompts() || held.exact == after ||
                            (at_end && held.exact == before);
    if (checkpoint.position != after || !exact_here) continue;
    // Where copying waits for what is being computed, the time of that is reading.
    if (!core_.engine.saves_later()) core_.engine.wait();
    if (!time_allows(held, checkpoint)) continue;
    if (copies == Copies::kLater) {
      held.postponed = Postponed{checkpoint};
    } else {
      take(slot, checkpoint, receipt);
    }
  }
  const bool whole = after == length_of(held.prompt) && logits == engine::LogitsOf::kLastToken;
  if (whole && held.postponed) {
    held.postponed->logits = end_logits(slot);
  } else if (whole && held.stored_upto == after) {
    keep_end(held, end_logits(slot));
  }
}

// The slot has just read its prompt. Null: it may use nothing that is kept.
LogitsPtr Checkpointer::end_logits(SlotId slot) const {
  const LiveSlot& held = core_.slots[slot];
  if (held.end.length != length_of(held.tokens)) return nullptr;
  return copy_of_logits(core_.engine.logits(slot));
}

// The slot has read its prompt and a state of it is in memory.
void Checkpointer::keep_end(const LiveSlot& held, LogitsPtr logits) {
  if (logits != nullptr) core_.ends.put(held.end, std::move(logits));
}

bool Checkpointer::time_allows(const LiveSlot& held, const plan::Checkpoint& checkpoint) const {
  if (plan::always_kept(checkpoint.kind) || checkpoint.near_end) return true;
  const double reading_ms = env::ms_between(held.began, core_.clock.now()) - held.store_ms;
  return held.store_ms <= kStoreFreeMs + kStoreShareMax * reading_ms;
}

// The first tokens of the slot, up to the checkpoint.
StoreRequest Checkpointer::request_for(SlotId slot, const plan::Checkpoint& checkpoint,
                                       bool off_grid) const {
  const LiveSlot& held = core_.slots[slot];
  StoreRequest request;
  request.slot = slot;
  request.space = held.space;
  request.tokens = core_.slots.keys(held).first(static_cast<std::size_t>(checkpoint.position));
  request.marks = marks_of(checkpoint.kind);
  if (off_grid) request.marks = request.marks | Hint::kOffGrid;
  request.odds = odds_of(checkpoint.kind, core_.options.memory.eviction);
  request.essential = plan::always_kept(checkpoint.kind);
  if (held.one_off) request.keep_as_one_off(core_.options.memory.eviction);
  request.newcomer = held.newcomer;
  request.now = core_.now;
  return request;
}

void Checkpointer::take(SlotId slot, const plan::Checkpoint& checkpoint, Receipt& receipt) {
  LiveSlot& held = core_.slots[slot];
  const bool on_grid = std::ranges::binary_search(held.grid, checkpoint.position);
  StoreRequest request = request_for(slot, checkpoint, !on_grid);
  request.saves = checkpoint.position - held.last_checkpoint;
  if (checkpoint.near_end && !request.essential) request.odds.weight *= kNearEndOdds;
  // Where slots keep their own, memory is for whole states.
  request.rows_stay = slot_allowance() == 0;
  const auto before = core_.clock.now();
  const bool for_slot = std::ranges::binary_search(held.due_in_slot, checkpoint.position);
  const StoreOutcome outcome = for_slot ? StoreOutcome{} : core_.memory.store(request);
  const bool in_slot = keep_in_slot(slot, checkpoint, outcome.snapshot, receipt);
  const double took_ms = env::ms_between(before, core_.clock.now());
  held.store_ms += took_ms;
  core_.totals.store_seconds += took_ms / 1000.0;
  if (!outcome.stored && !in_slot) return;
  ++receipt.checkpoints;
  ++core_.totals.checkpoints;
  if (!outcome.stored) return;
  held.stored_upto = checkpoint.position;
  held.filed = outcome.filed;
  held.last_checkpoint = checkpoint.position;
  receipt.kept = checkpoint.position;
  receipt.bytes_out += outcome.bytes;
}

// --- checkpoints that are taken later ----------------------------------------------------

// Not where slots keep the place for themselves, or memory takes snapshots alone.
bool Checkpointer::goes_to_memory(const LiveSlot& held, const plan::Checkpoint& checkpoint) const {
  return core_.memory.could_hold(checkpoint.position) &&
         !std::ranges::binary_search(held.due_in_slot, checkpoint.position);
}

// With the rows of `rows` tokens copied before.
ByteCount Checkpointer::bytes_of(const LiveSlot& held, const plan::Checkpoint& checkpoint,
                                 TokenPos rows) const {
  const ByteCount snapshot = core_.memory.copier.snapshot_bytes(checkpoint.position);
  if (!goes_to_memory(held, checkpoint)) return snapshot;
  const TokenPos missing = std::max(checkpoint.position - std::max(held.stored_upto, rows), 0);
  return static_cast<ByteCount>(missing) * core_.memory.copier.bytes_per_token() + snapshot;
}

ByteCount Checkpointer::bytes_due(SlotId slot, TokenPos end) const {
  if (core_.engine.saves_later()) return 0;
  const LiveSlot& held = core_.slots[slot];
  const auto due = std::ranges::lower_bound(held.due, end, {}, &plan::Checkpoint::position);
  // Whether time allows it is asked when the chunk has been read.
  return due != held.due.end() && due->position == end ? bytes_of(held, *due, 0) : 0;
}

ByteCount Checkpointer::postponed_bytes(SlotId slot) const {
  const LiveSlot& held = core_.slots[slot];
  return held.postponed ? bytes_of(held, held.postponed->checkpoint, held.postponed->rows) : 0;
}

void Checkpointer::copy_postponed(SlotId slot, ByteCount bytes, Receipt& receipt) {
  LiveSlot& held = core_.slots[slot];
  CHECK(held.postponed && core_.engine.length(slot) == length_of(held.tokens));
  if (postponed_bytes(slot) > bytes && copy_rows_ahead(slot, bytes, receipt)) return;
  Postponed now = std::move(*held.postponed);
  held.postponed.reset();
  take(slot, now.checkpoint, receipt);
  if (held.stored_upto == now.checkpoint.position) keep_end(held, std::move(now.logits));
}

// Rows never change, so those of a checkpoint may be copied piece by piece before its snapshot.
// False: there are none left, or they find no room; then all is up to the checkpoint itself.
bool Checkpointer::copy_rows_ahead(SlotId slot, ByteCount bytes, Receipt& receipt) {
  LiveSlot& held = core_.slots[slot];
  const plan::Checkpoint& checkpoint = held.postponed->checkpoint;
  const ByteCount row = core_.memory.copier.bytes_per_token();
  const TokenPos from = std::max(held.stored_upto, held.postponed->rows);
  if (row == 0 || from >= checkpoint.position || !goes_to_memory(held, checkpoint)) return false;
  const auto left = static_cast<ByteCount>(checkpoint.position - from);
  const auto some = static_cast<TokenPos>(std::clamp<ByteCount>(bytes / row, 1, left));
  // Whole blocks: what lies behind the last one is copied with the next piece.
  const TokenPos blocks = std::max((from + some) / kBlockTokens, from / kBlockTokens + 1);
  const TokenPos to = std::min(blocks * kBlockTokens, checkpoint.position);
  const bool all = to == checkpoint.position && core_.memory.copier.snapshot_bytes(to) == 0;
  if (all) return false;

  StoreRequest request = request_for(slot, {to, checkpoint.kind}, false);
  request.rows_only = true;
  request.saves = checkpoint.position - held.last_checkpoint;
  const auto before = core_.clock.now();
  const StoreOutcome outcome = core_.memory.store(request);
  const double took_ms = env::ms_between(before, core_.clock.now());
  held.store_ms += took_ms;
  core_.totals.store_seconds += took_ms / 1000.0;
  if (!outcome.stored) return false;
  held.postponed->rows = to;
  held.filed = outcome.filed;
  receipt.bytes_out += outcome.bytes;
  return true;
}

// --- places of the slots' own ----------------------------------------------------------------

// A handful of snapshots for each slot, less what the budget holds.
ByteCount Checkpointer::slot_allowance() const {
  if (!core_.memory.enabled() || !core_.memory.tree().needs().snapshot ||
      core_.options.slot_snapshots <= 0) {
    return 0;
  }
  const ByteCount handful = core_.memory.copier.snapshot_bytes(core_.engine.context_tokens()) *
                            static_cast<ByteCount>(core_.options.slot_snapshots) *
                            core_.slots.count();
  return handful > core_.memory.budget.total() ? handful - core_.memory.budget.total() : 0;
}

// Returns whether it is kept there. The logits of a whole prompt are kept with memory's state
// alone, so its end is no place for a slot.
bool Checkpointer::keep_in_slot(SlotId slot, const plan::Checkpoint& checkpoint,
                                const SnapshotPtr& held_by_memory, Receipt& receipt) {
  if (checkpoint.kind == plan::CheckpointKind::kAnswerStart) return false;
  const LiveSlot& held = core_.slots[slot];
  SlotOffer offer;
  offer.at = checkpoint;
  offer.off_grid = !std::ranges::binary_search(held.grid, checkpoint.position);
  offer.path_end = std::max(length_of(held.prompt), length_of(held.tokens));
  offer.bytes = core_.memory.copier.snapshot_bytes(checkpoint.position);
  offer.allowance = slot_allowance();
  if (offer.allowance == 0) return false;
  bool copied = false;
  const ByteCount kept = places_.put(slot, offer, [&]() -> SnapshotPtr {
    if (held_by_memory != nullptr) return held_by_memory;
    copied = true;
    return core_.memory.copier.take_snapshot(slot, length_of(core_.slots.keys(held)));
  });
  if (copied) receipt.bytes_out += kept;
  return kept > 0;
}

ByteCount Checkpointer::put_places_aside(SlotId slot) {
  const LiveSlot& held = core_.slots[slot];
  ByteCount copied = 0;
  bool deepest = true;
  const auto places = places_.of(slot);
  for (auto place = places.rbegin(); place != places.rend(); ++place) {
    const TokenPos position = place->at.position;
    if (position <= held.stored_upto) break;
    if (!core_.memory.could_hold(position)) continue;
    StoreRequest request = request_for(slot, place->at, place->off_grid);
    request.saves = position - held.stored_upto;
    request.essential = deepest && !held.one_off && request.saves >= scarce_distance(core_);
    request.snapshot = place->snapshot;
    const StoreOutcome outcome = core_.memory.store(request);
    copied += outcome.bytes;
    if (outcome.stored) deepest = false;
  }
  return copied;
}

std::vector<std::string> Checkpointer::check() const {
  std::vector<std::string> violations;
  for (std::string& violation : places_.check()) violations.push_back("CKPT-1: " + violation);
  for (const SlotId slot : core_.slots.all()) {
    const auto places = places_.of(slot);
    if (places.empty()) continue;
    const LiveSlot& held = core_.slots[slot];
    const TokenPos limit = core_.options.has_exact_prompts() ? held.exact : held.length();
    if (places.back().at.position > limit) {
      violations.push_back("CKPT-1: a place of slot " + std::to_string(slot.value) +
                           " lies beyond its tokens");
    }
  }
  if (places_.bytes() > slot_allowance()) {
    violations.emplace_back("CKPT-2: slots keep more beside the budget than they may");
  }
  return violations;
}

}  // namespace holdfast::cache
