#include "cache/starter.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/check.h"
#include "cache/start_receipt.h"
#include "plan/cuts.h"

namespace holdfast::cache {

namespace {

// A state that cannot be brought back is planned around; after this many of them the prompt is
// read from its beginning.
constexpr int kPlansMax = 16;

}  // namespace

Starter::Starter(CacheCore& core, const StartPlanner& planner, Checkpointer& checkpointer,
                 LiveStates& live, const SeenTokens& seen)
    : core_(core),
      planner_(planner),
      checkpointer_(checkpointer),
      live_(live),
      seen_(seen),
      started_(core.clock.now()) {}

LogitsPtr Starter::begin(const Prompt& prompt, const StartChoice& choice, Receipt& receipt) {
  const Start start{prompt, SlotId{choice.plan.slot}, receipt};
  const JournaledCall call(core_.journal,
                           [&](CacheJournal& to) { to.begin(prompt, start.slot, receipt); });
  const auto passed = static_cast<tree::Tick>(env::ms_between(started_, core_.clock.now()));
  core_.now = core_.memory.room.begin_request(prompt.reuse ? &choice.match : nullptr,
                                              std::max(core_.now, passed));
  StartReceipt facts(core_, planner_, seen_, prompt, receipt);
  facts.describe(choice);
  Way way = with_logits(start, choice);
  int failures = 0;
  while (carry_out(start, way.choice) != Obstacle::kNone) way = around(start, ++failures);
  facts.conclude(way.choice, failures > 0);
  take_over(start, way.choice);
  checkpointer_.place(start.slot, prompt, receipt);
  bring_companion(start);
  add_up(prompt, receipt);
  return way.logits;
}

// A prompt that begins at its very end needs the logits there.
Starter::Way Starter::with_logits(const Start& start, StartChoice choice) const {
  if (choice.plan.reused < length_of(start.prompt.tokens)) return {std::move(choice), nullptr};
  if (LogitsPtr logits = core_.ends.find(start.prompt.end)) {
    return {std::move(choice), std::move(logits)};
  }
  return {planner_.plan_around(start.prompt, start.slot), nullptr};
}

// A refusal is an answer, and so is damage: there is another way.
Starter::Way Starter::around(const Start& start, int failures) {
  const bool give_up = failures == kPlansMax;
  if (give_up) core_.engine.clear(start.slot);
  live_.shorten(start.slot, core_.engine.length(start.slot));
  return with_logits(start, give_up ? StartChoice{{}, {.slot = start.slot.value}}
                                    : planner_.plan_around(start.prompt, start.slot));
}

// --- actions -------------------------------------------------------------------------------

Starter::Obstacle Starter::carry_out(const Start& start, const StartChoice& choice) {
  // What is kept of the slot's last conversation must not push out what is needed, and the plan's
  // nodes must stay what they are until all is done.
  tree::Pin needed = core_.memory.room.pin(choice.match.node);
  for (const plan::StartAction& action : choice.plan.actions) {
    const Obstacle obstacle = std::visit([&](const auto& one) { return act(one, start); }, action);
    if (obstacle == Obstacle::kNone) continue;
    needed.release();
    const auto kept = static_cast<std::size_t>(choice.plan.reused);
    if (obstacle == Obstacle::kNotRestored) {
      core_.memory.quarantine.remove(start.prompt.space, start.prompt.keys.first(kept), core_.now);
    }
    if (obstacle == Obstacle::kOwnNotRestored) core_.memory.quarantine.count_damaged();
    return obstacle;
  }
  needed.release();
  core_.memory.room.forget_beyond_limits();
  return Obstacle::kNone;
}

Starter::Obstacle Starter::act(const plan::StoreLive&, const Start& start) {
  start.receipt.bytes_out += live_.evacuate(start.slot);
  return Obstacle::kNone;
}

Starter::Obstacle Starter::act(const plan::TruncateLive& action, const Start& start) {
  if (core_.engine.truncate(start.slot, action.position) == engine::TruncateAnswer::kRefused) {
    return Obstacle::kTruncationRefused;
  }
  live_.shorten(start.slot, action.position);
  return Obstacle::kNone;
}

Starter::Obstacle Starter::act(const plan::LoadSnapshot& action, const Start& start) {
  const auto before = core_.clock.now();
  const SnapshotPtr own =
      action.node ? nullptr : checkpointer_.places().find(start.slot, action.position);
  CHECK(action.node || own != nullptr);
  const auto bytes = own != nullptr
                         ? core_.memory.copier.load_snapshot(start.slot, *own)
                         : core_.memory.load_snapshot(start.slot, action.node, core_.now);
  if (!bytes) return own != nullptr ? Obstacle::kOwnNotRestored : Obstacle::kNotRestored;
  live_.shorten(start.slot, action.position);
  note_restored(start.receipt, *bytes, env::ms_between(before, core_.clock.now()));
  return Obstacle::kNone;
}

Starter::Obstacle Starter::act(const plan::RestoreState& action, const Start& start) {
  const auto before = core_.clock.now();
  const TokenSpan tokens = start.prompt.tokens.first(static_cast<std::size_t>(action.position));
  const auto bytes = core_.memory.restore(start.slot, action.node, tokens, core_.now);
  if (!bytes) return Obstacle::kNotRestored;
  note_restored(start.receipt, *bytes, env::ms_between(before, core_.clock.now()));
  return Obstacle::kNone;
}

Starter::Obstacle Starter::act(const plan::ClearSlot&, const Start& start) {
  core_.engine.clear(start.slot);
  live_.shorten(start.slot, 0);
  return Obstacle::kNone;
}

Starter::Obstacle Starter::act(const plan::ReadPrompt&, const Start&) {
  return Obstacle::kNone;  // the scheduler reads, chunk by chunk
}

void Starter::note_restored(Receipt& receipt, ByteCount bytes, double ms) {
  receipt.bytes_in += bytes;
  receipt.restore_ms += ms;
  ++core_.totals.restores;
  core_.totals.restored_bytes += bytes;
  core_.totals.restore_seconds += ms / 1000.0;
  core_.costs.note_moved(bytes, ms);
}

// --- afterwards ----------------------------------------------------------------------------

// The slot holds the first tokens of the prompt now, as many as the plan reuses.
void Starter::take_over(const Start& start, const StartChoice& choice) {
  const Prompt& prompt = start.prompt;
  LiveSlot& held = core_.slots[start.slot];
  const plan::StartPlan& plan = choice.plan;
  const TokenPos restored = plan.reused;
  const bool rows_stayed =
      plan.source == plan::StartSource::kLive || plan.source == plan::StartSource::kSnapshotInPlace;
  if (!rows_stayed) {
    held.tokens.assign(prompt.tokens.begin(), prompt.tokens.begin() + restored);
    held.exact = plan::floor_of(prompt.cuts, restored);
    held.stored_upto = restored;
    held.filed = {choice.match.node, restored};
    checkpointer_.places().shorten(start.slot, 0);  // they were those of other tokens
  }
  if (core_.options.has_exact_prompts()) {
    held.keys.assign(prompt.keys.begin(), prompt.keys.begin() + restored);
  }
  held.space = prompt.space;
  held.end = prompt.end;
  held.own_from = prompt.header_end.value_or(length_of(prompt.tokens));
  core_.slots.begin_run(start.slot);
  held.tool_call = false;
  held.one_off = prompt.one_off;
  held.offered = 0;
  held.prompt = prompt.tokens;
  held.prompt_keys = prompt.keys;
  held.grid = prompt.cuts;
  held.last_checkpoint = restored;
  held.began = core_.clock.now();
  held.store_ms = 0.0;
  held.newcomer = restored + scarce_distance(core_) < length_of(prompt.tokens);
}

// The companion comes along as far as it can, with what memory holds of it.
void Starter::bring_companion(const Start& start) {
  if (core_.companion == nullptr) return;
  const TokenSpan tokens = core_.slots[start.slot].tokens;
  CompanionHolding held;
  if (!tokens.empty()) {
    held = core_.memory.held.companion_state(start.prompt.space,
                                             start.prompt.keys.first(tokens.size()));
  }
  const SnapshotPtr own = checkpointer_.places().find(start.slot, length_of(tokens));
  if (held.place.bytes.empty() && own != nullptr) held.place = own->companion();
  engine::CompanionPoint point;
  point.tokens = tokens;
  point.rows = held.rows;
  point.place = held.place;
  const engine::Followed followed = core_.companion->follow(start.slot, point);
  CompanionReceipt& out = start.receipt.companion.emplace();
  out.name = core_.companion->name();
  out.held = std::clamp(followed.held, 0, length_of(tokens));
  out.from_memory = std::clamp(followed.from_memory, 0, out.held);
  if (out.held < length_of(tokens) && followed.missing != nullptr) out.missing = followed.missing;
}

void Starter::add_up(const Prompt& prompt, const Receipt& receipt) {
  if (prompt.ahead) return;
  CacheStatus& totals = core_.totals;
  const auto restored = static_cast<std::uint64_t>(receipt.restored);
  const bool was_live = receipt.source == plan::StartSource::kLive;
  ++totals.requests;
  totals.prompt_tokens += prompt.tokens.size();
  totals.matched_tokens += static_cast<std::uint64_t>(receipt.matched);
  totals.restored_tokens += restored;
  (was_live ? totals.restored_live_tokens : totals.restored_memory_tokens) += restored;
  if (!was_live && receipt.fetched > 0) totals.restored_lower_tokens += restored;
  totals.saved_seconds += receipt.saved_ms / 1000.0;
}

}  // namespace holdfast::cache
