#include "cache/state_cache.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "plan/cuts.h"
#include "plan/run_cuts.h"
#include "state/chunk_keys.h"

namespace holdfast::cache {

namespace {

// A state that cannot be brought back is planned around; after this many of them
// the prompt is read from its beginning.
constexpr int kPlansMax = 16;

}  // namespace

StateCache::StateCache(engine::Engine& engine, CacheOptions options, const env::Clock& clock,
                       engine::Companion* companion, ColdTier* lower, CacheJournal* journal)
    : StateCache(journal == nullptr ? CacheWorld{&engine, &clock, companion, lower}
                                    : journal->watch({&engine, &clock, companion, lower}, options),
                 options, journal) {}

StateCache::StateCache(const CacheWorld& world, CacheOptions options, CacheJournal* journal)
    : core_(world, std::move(options), journal),
      checkpointer_(core_),
      cold_(core_),
      started_(core_.clock.now()) {
  if (core_.options.deterministic) seen_.emplace(tree::StateNeeds::of(core_.engine.shape()));
  if (journal != nullptr) journal->close();
}

// --- before --------------------------------------------------------------------

Tokens StateCache::keys_for(TokenSpan tokens, std::span<const TokenPos> cuts, bool deterministic) {
  return deterministic ? chunk_keys(tokens, cuts) : Tokens();
}

// Deterministic: the tree knows keys and not tokens, so all tokens are compared.
TokenPos StateCache::common(const LiveSlot& held, const Prompt& prompt,
                            const tree::Match& match) const {
  if (held.space != prompt.space) return 0;
  if (core_.options.deterministic) return common_prefix(held.tokens, prompt.tokens);
  return core_.memory.tree().common(match, prompt.tokens, held.filed, held.tokens);
}

plan::LiveState StateCache::describe(SlotId slot, const Prompt& prompt, const tree::Match& match,
                                     bool may_cut) const {
  const LiveSlot& held = core_.slots[slot];
  plan::LiveState state;
  state.slot = slot.value;
  state.length = length_of(held.tokens);
  state.common = prompt.reuse ? common(held, prompt, match) : 0;
  state.exact = held.exact;
  state.can_cut = [this, slot, may_cut](TokenPos position) {
    return (may_cut || position == core_.engine.length(slot)) &&
           core_.engine.can_cut(slot, position);
  };
  for (const SlotPlace& place : checkpointer_.places().of(slot)) {
    state.places.push_back({place.at.position, place.off_grid});
  }
  state.unsaved = core_.unsaved_bytes(held);
  state.last_used = held.run;
  return state;
}

StartChoice StateCache::plan(const Prompt& prompt, std::span<const SlotId> slots) const {
  const JournaledCall call(core_.journal, [&](CacheJournal& to) { to.plan(prompt, slots); });
  StartChoice outlook = plan_with(prompt, slots, true);
  if (core_.journal != nullptr) core_.journal->planned(outlook.plan);
  return outlook;
}

StartChoice StateCache::plan_with(const Prompt& prompt, std::span<const SlotId> slots,
                                  bool may_cut) const {
  StartChoice outlook;
  outlook.match = core_.memory.match(prompt.space, prompt.keys);
  std::vector<plan::LiveState> states;
  for (const SlotId slot : slots) {
    states.push_back(describe(slot, prompt, outlook.match, may_cut));
  }
  const tree::Match nothing{.space = prompt.space, .length = length_of(prompt.tokens)};
  plan::StartInput input;
  input.prompt_length = length_of(prompt.tokens);
  input.cuts = prompt.cuts;
  if (core_.memory.enabled()) input.match = prompt.reuse ? &outlook.match : &nothing;
  input.slots = states;
  input.costs = core_.start_costs();
  input.deterministic = core_.options.deterministic;
  input.end_known = core_.may_begin_at_end(prompt) && core_.ends.holds(prompt.end);
  outlook.plan = plan::plan_start(input);
  return outlook;
}

std::optional<Awaited> StateCache::worth_waiting_for(const Prompt& prompt,
                                                     const StartChoice& outlook) {
  const JournaledCall call(core_.journal, [&](CacheJournal& to) { to.worth_waiting_for(prompt); });
  const std::optional<Awaited> awaited = find_awaited(prompt, outlook);
  if (core_.journal != nullptr) core_.journal->waits_for(awaited);
  return awaited;
}

std::optional<Awaited> StateCache::find_awaited(const Prompt& prompt, const StartChoice& outlook) {
  if (!core_.memory.enabled() || !prompt.reuse || !core_.options.checkpoints) return std::nullopt;
  const TokenPos limit = length_of(prompt.tokens) - 1;
  std::optional<Awaited> best;
  for (const SlotId slot : core_.slots.all()) {
    const LiveSlot& other = core_.slots[slot];
    const TokenPos held = length_of(other.tokens);
    if (held >= length_of(other.prompt) || other.space != prompt.space) continue;
    TokenPos common = this->common(other, prompt, outlook.match);
    if (common == held) {
      const auto agreed = static_cast<std::size_t>(held);
      common += common_prefix(other.prompt.subspan(agreed), prompt.tokens.subspan(agreed));
    }
    common = std::min(common, limit);
    TokenPos reach = plan::floor_of(other.cuts, common);
    if (!core_.options.deterministic && common - std::max(reach, held) >= plan::kJunctionWorth)
      reach = common;
    // One that is behind what this prompt has already would only hold it up.
    const bool coming = reach > held || (reach == held && other.postponed);
    const bool ahead = held >= outlook.plan.keep && coming;
    if (!ahead || (best && reach <= best->position) || !core_.memory.could_hold(reach)) continue;
    best = Awaited{slot, other.run, reach};
  }
  if (!best) return std::nullopt;
  LiveSlot& other = core_.slots[best->slot];
  ++core_.totals.waits;
  if (best->position == length_of(other.tokens)) return best;  // postponed
  checkpointer_.place_junction(best->slot, best->position);
  return best;
}

bool StateCache::still_coming(const Awaited& awaited) const {
  const LiveSlot& other = core_.slots[awaited.slot];
  const TokenPos length = length_of(other.tokens);
  return other.run == awaited.run && !other.prompt.empty() &&
         (length < awaited.position || (length == awaited.position && other.postponed));
}

// --- beginning -------------------------------------------------------------------

LogitsPtr StateCache::begin(const Prompt& prompt, const StartChoice& outlook, Receipt& receipt) {
  const SlotId slot{outlook.plan.slot};
  const JournaledCall call(core_.journal,
                           [&](CacheJournal& to) { to.begin(prompt, slot, receipt); });
  const auto passed = static_cast<tree::Tick>(env::ms_between(started_, core_.clock.now()));
  core_.now = core_.memory.begin_request(prompt.reuse ? &outlook.match : nullptr,
                                         std::max(core_.now, passed));
  describe_match(prompt, outlook, receipt);
  LogitsPtr kept_logits;
  const auto with_logits = [&](StartChoice planned) {
    kept_logits = nullptr;
    if (planned.plan.keep < length_of(prompt.tokens)) return planned;
    kept_logits = core_.ends.find(prompt.end);
    return kept_logits != nullptr ? planned : plan_with(prompt, {&slot, 1}, false);
  };
  StartChoice next = with_logits(outlook);
  bool planned_around = false;
  for (int plans = 1; carry_out(prompt, next, receipt) != Obstacle::kNone; ++plans) {
    // A refusal is an answer, and so is damage: there is another way.
    planned_around = true;
    const bool give_up = plans == kPlansMax;
    if (give_up) core_.engine.clear(slot);
    shorten(slot, core_.engine.length(slot));
    next = with_logits(give_up ? StartChoice{{}, {.slot = slot.value}}
                               : plan_with(prompt, {&slot, 1}, false));
  }
  receipt.slot = slot.value;
  receipt.source = next.plan.source;
  receipt.restored = next.plan.keep;
  receipt.restorable = std::max(receipt.restorable, receipt.restored);
  receipt.missing = missing(prompt, receipt, planned_around);
  name_foreign(prompt, receipt);
  receipt.saved_ms = core_.costs.ms_per_token() * receipt.restored;

  take_over(slot, prompt, next);
  core_.slots[slot].newcomer = receipt.restored + scarce_distance(core_) < length_of(prompt.tokens);
  checkpointer_.place(slot, prompt, receipt);
  bring_companion(slot, prompt, receipt);
  ++core_.totals.requests;
  core_.totals.prompt_tokens += prompt.tokens.size();
  core_.totals.matched_tokens += static_cast<std::uint64_t>(receipt.matched);
  const auto restored = static_cast<std::uint64_t>(receipt.restored);
  core_.totals.restored_tokens += restored;
  const bool was_live = receipt.source == plan::StartSource::kLive;
  (was_live ? core_.totals.restored_live_tokens : core_.totals.restored_memory_tokens) += restored;
  if (!was_live && receipt.fetched > 0) core_.totals.restored_lower_tokens += restored;
  core_.totals.saved_seconds += receipt.saved_ms / 1000.0;
  return kept_logits;
}

ByteCount StateCache::bytes_to_begin(const StartChoice& outlook) const {
  ByteCount bytes = outlook.plan.bytes_in;
  for (const plan::StartAction& action : outlook.plan.actions) {
    if (std::holds_alternative<plan::StoreLive>(action)) {
      bytes += core_.unsaved_bytes(core_.slots[SlotId{outlook.plan.slot}]);
    }
  }
  return bytes;
}

// The companion comes along as far as it can, with what memory holds of it.
void StateCache::bring_companion(SlotId slot, const Prompt& prompt, Receipt& receipt) {
  if (core_.companion == nullptr) return;
  const TokenSpan tokens = core_.slots[slot].tokens;
  CompanionHolding held;
  if (!tokens.empty())
    held = core_.memory.companion_state(prompt.space, prompt.keys.first(tokens.size()));
  const SnapshotPtr own = checkpointer_.places().find(slot, length_of(tokens));
  if (held.place.bytes.empty() && own != nullptr) held.place = own->companion();
  engine::CompanionPoint point;
  point.tokens = tokens;
  point.rows = held.rows;
  point.place = held.place;
  const engine::Followed followed = core_.companion->follow(slot, point);
  CompanionReceipt& out = receipt.companion.emplace();
  out.name = core_.companion->name();
  out.held = std::clamp(followed.held, 0, length_of(tokens));
  out.from_memory = std::clamp(followed.from_memory, 0, out.held);
  if (out.held < length_of(tokens) && followed.missing != nullptr) out.missing = followed.missing;
}

StateCache::Obstacle StateCache::carry_out(const Prompt& prompt, const StartChoice& outlook,
                                           Receipt& receipt) {
  const SlotId slot{outlook.plan.slot};
  // What is kept of the slot's last conversation must not push out what is needed,
  // and the plan's nodes must stay what they are until all is done.
  tree::Pin needed = core_.memory.pin(outlook.match.node);
  for (const plan::StartAction& action : outlook.plan.actions) {
    const Obstacle obstacle =
        std::visit([&](const auto& one) { return act(one, slot, prompt, receipt); }, action);
    if (obstacle == Obstacle::kNone) continue;
    needed.release();
    const auto kept = static_cast<std::size_t>(outlook.plan.keep);
    if (obstacle == Obstacle::kNotRestored) {
      core_.memory.quarantine(prompt.space, prompt.keys.first(kept), core_.now);
    }
    if (obstacle == Obstacle::kOwnNotRestored) core_.memory.count_damaged();
    return obstacle;
  }
  needed.release();
  core_.memory.forget_beyond_limits();
  return Obstacle::kNone;
}

StateCache::Obstacle StateCache::act(const plan::StoreLive&, SlotId slot, const Prompt&,
                                     Receipt& receipt) {
  receipt.bytes_out += put_aside(slot);
  return Obstacle::kNone;
}

// What the slot holds is about to go from there. Returns the bytes copied.
ByteCount StateCache::put_aside(SlotId slot) {
  LiveSlot& held = core_.slots[slot];
  // A short answer behind a prompt that was kept is worth its tokens: where there is no room,
  // nothing makes way for it.
  const TokenPos unsaved = core_.storable_length(held) - held.stored_upto;
  const bool essential = unsaved >= scarce_distance(core_);
  const bool fits = core_.unsaved_bytes(held) <= core_.memory.room();
  const StoreOutcome outcome =
      essential || fits ? store_live(held, slot, essential) : StoreOutcome{};
  const ByteCount of_places = outcome.stored ? 0 : checkpointer_.put_places_aside(slot);
  if (held.tool_call) core_.memory.note_tool_call(held.space, core_.slots.keys(held));
  if (outcome.stored) {
    cold_.persist(held.space,
                  core_.slots.keys(held).first(static_cast<std::size_t>(outcome.filed.length)));
  }
  return outcome.bytes + of_places;
}

StoreOutcome StateCache::store_live(LiveSlot& held, SlotId slot, bool essential) {
  const TokenPos length = core_.storable_length(held);
  if (length == 0) return {};
  StoreRequest request;
  request.slot = slot;
  request.space = held.space;
  request.tokens = core_.slots.keys(held).first(static_cast<std::size_t>(length));
  if (length > held.exact) request.marks = request.marks | Hint::kOffGrid;
  if (held.tool_call) request.marks = request.marks | Hint::kToolCall;
  request.odds =
      held.tool_call ? core_.memory.policy().tip_after_tool_call : core_.memory.policy().tip;
  request.saves = length - held.stored_upto;
  request.essential = essential;
  request.newcomer = held.newcomer;
  request.now = core_.now;
  const auto before = core_.clock.now();
  const StoreOutcome outcome = core_.memory.store(request);
  core_.totals.store_seconds += env::ms_between(before, core_.clock.now()) / 1000.0;
  return outcome;
}

StateCache::Obstacle StateCache::act(const plan::CutLive& action, SlotId slot, const Prompt&,
                                     Receipt&) {
  if (core_.engine.cut(slot, action.position) == engine::CutAnswer::kRefused)
    return Obstacle::kCutRefused;
  shorten(slot, action.position);
  return Obstacle::kNone;
}

StateCache::Obstacle StateCache::act(const plan::LoadSnapshot& action, SlotId slot, const Prompt&,
                                     Receipt& receipt) {
  const auto before = core_.clock.now();
  const SnapshotPtr own =
      action.node ? nullptr : checkpointer_.places().find(slot, action.position);
  CHECK(action.node || own != nullptr);
  const auto bytes = own != nullptr ? core_.memory.load_snapshot(slot, *own)
                                    : core_.memory.load_snapshot(slot, action.node, core_.now);
  if (!bytes) return own != nullptr ? Obstacle::kOwnNotRestored : Obstacle::kNotRestored;
  shorten(slot, action.position);
  note_restored(receipt, *bytes, env::ms_between(before, core_.clock.now()));
  return Obstacle::kNone;
}

StateCache::Obstacle StateCache::act(const plan::RestoreState& action, SlotId slot,
                                     const Prompt& prompt, Receipt& receipt) {
  const auto before = core_.clock.now();
  const TokenSpan tokens = prompt.tokens.first(static_cast<std::size_t>(action.position));
  const auto bytes = core_.memory.restore(slot, action.node, tokens, core_.now);
  if (!bytes) return Obstacle::kNotRestored;
  note_restored(receipt, *bytes, env::ms_between(before, core_.clock.now()));
  return Obstacle::kNone;
}

StateCache::Obstacle StateCache::act(const plan::ClearSlot&, SlotId slot, const Prompt&, Receipt&) {
  core_.engine.clear(slot);
  shorten(slot, 0);
  return Obstacle::kNone;
}

StateCache::Obstacle StateCache::act(const plan::ReadPrompt&, SlotId, const Prompt&, Receipt&) {
  return Obstacle::kNone;  // the scheduler reads, chunk by chunk
}

void StateCache::note_restored(Receipt& receipt, ByteCount bytes, double ms) {
  receipt.bytes_in += bytes;
  receipt.restore_ms += ms;
  ++core_.totals.restores;
  core_.totals.restored_bytes += bytes;
  core_.totals.restore_seconds += ms / 1000.0;
  core_.costs.note_moved(bytes, ms);
}

void StateCache::shorten(SlotId slot, TokenPos length) {
  core_.slots.shorten(slot, length);
  checkpointer_.places().shorten(slot, length);
}

// The slot holds the first tokens of the prompt now, as many as the plan keeps.
void StateCache::take_over(SlotId slot, const Prompt& prompt, const StartChoice& outlook) {
  LiveSlot& held = core_.slots[slot];
  const plan::StartPlan& plan = outlook.plan;
  const TokenPos restored = plan.keep;
  const bool rows_stayed =
      plan.source == plan::StartSource::kLive || plan.source == plan::StartSource::kSnapshotInPlace;
  if (!rows_stayed) {
    held.tokens.assign(prompt.tokens.begin(), prompt.tokens.begin() + restored);
    held.exact = plan::floor_of(prompt.cuts, restored);
    held.stored_upto = restored;
    held.filed = {outlook.match.node, restored};
    checkpointer_.places().shorten(slot, 0);  // they were those of other tokens
  }
  if (core_.options.deterministic) {
    held.keys.assign(prompt.keys.begin(), prompt.keys.begin() + restored);
  }
  held.space = prompt.space;
  held.end = prompt.end;
  core_.slots.begin_run(slot);
  held.tool_call = false;
  held.offered = 0;
  held.prompt = prompt.tokens;
  held.prompt_keys = prompt.keys;
  held.grid = prompt.cuts;
  held.last_checkpoint = restored;
  held.began = core_.clock.now();
  held.store_ms = 0.0;
}

// --- during ------------------------------------------------------------------------

Result<void> StateCache::before_chunk(SlotId slot) {
  if (!core_.options.deterministic) return {};
  const JournaledCall call(core_.journal, [&](CacheJournal& to) { to.before_chunk(slot); });
  return core_.engine.normalize(slot);
}

TokenPos StateCache::chunk_end(SlotId slot) const {
  const LiveSlot& held = core_.slots[slot];
  const auto cut = std::ranges::upper_bound(held.cuts, length_of(held.tokens));
  return cut == held.cuts.end() ? length_of(held.prompt) : *cut;
}

void StateCache::prefilled(SlotId slot, TokenSpan chunk, Receipt& receipt, engine::LogitsOf logits,
                           Copies copies) {
  const JournaledCall call(core_.journal,
                           [&](CacheJournal& to) { to.prefilled(slot, chunk, logits, copies); });
  if (core_.companion != nullptr) core_.companion->advance(slot, chunk, 0);
  LiveSlot& held = core_.slots[slot];
  CHECK(!held.postponed);
  const TokenPos before = held.length();
  const auto keys = core_.options.deterministic
                        ? held.prompt_keys.subspan(static_cast<std::size_t>(before), chunk.size())
                        : TokenSpan{};
  core_.slots.append(slot, chunk, keys);
  const TokenPos after = held.length();
  const bool whole_chunk = std::ranges::binary_search(held.grid, after) &&
                           plan::floor_of(held.grid, after - 1) == before;
  if (whole_chunk && held.exact == before) held.exact = after;
  receipt.recomputed += length_of(chunk);
  checkpointer_.take_due(slot, before, logits, copies, receipt);
}

void StateCache::copy_postponed(SlotId slot, ByteCount bytes, Receipt& receipt) {
  const JournaledCall call(core_.journal,
                           [&](CacheJournal& to) { to.copy_postponed(slot, bytes); });
  checkpointer_.copy_postponed(slot, bytes, receipt);
}

void StateCache::decoded(SlotId slot, TokenSpan kept, TokenPos told) {
  const JournaledCall call(core_.journal, [&](CacheJournal& to) { to.decoded(slot, kept); });
  CHECK(!core_.slots[slot].postponed);
  core_.slots.append(slot, kept, kept);
  if (core_.companion == nullptr) return;
  core_.companion->advance(slot, kept.subspan(static_cast<std::size_t>(told)), told);
}

void StateCache::emptied(SlotId slot) {
  const JournaledCall call(core_.journal, [&](CacheJournal& to) { to.emptied(slot); });
  forget_slot(slot);
}

void StateCache::forget_slot(SlotId slot) {
  shorten(slot, 0);
  if (core_.companion != nullptr) (void)core_.companion->follow(slot, {});
}

void StateCache::note_seen(LiveSlot& held) {
  held.filed = core_.memory.remember(held.space, core_.slots.keys(held), core_.now);
  if (!seen_ || held.tokens.empty()) return;
  seen_->commit({.space = held.space, .tokens = held.tokens, .now = core_.now});
  forget_beyond_limits(*seen_, core_.options.memory);
}

void StateCache::end(SlotId slot) {
  const JournaledCall call(core_.journal, [&](CacheJournal& to) { to.end(slot); });
  LiveSlot& held = core_.slots[slot];
  note_seen(held);
  cold_.persist(held.space, core_.slots.keys(held));
  shorten(slot, core_.engine.length(slot));
  core_.slots.end_request(slot);
}

void StateCache::called_tool(SlotId slot, std::uint64_t run) {
  const JournaledCall call(core_.journal, [&](CacheJournal& to) { to.called_tool(slot, run); });
  if (core_.slots[slot].run == run) core_.slots[slot].tool_call = true;
}

void StateCache::note_prefill_speed(TokenPos tokens, double ms) {
  const JournaledCall call(core_.journal,
                           [&](CacheJournal& to) { to.note_prefill_speed(tokens, ms); });
  core_.costs.note_read(tokens, ms);
}

// As store_live(), where the slot goes on holding what is stored.
bool StateCache::keep_live(LiveSlot& held, SlotId slot, bool essential) {
  const StoreOutcome outcome = store_live(held, slot, essential);
  if (!outcome.stored) return false;
  held.stored_upto = core_.storable_length(held);
  held.filed = outcome.filed;
  return true;
}

bool StateCache::keep_idle() {
  bool any = false;
  const JournaledCall call(core_.journal, [](CacheJournal& to) { to.keep_idle(); });
  for (const SlotId slot : core_.slots.all()) {
    LiveSlot& held = core_.slots[slot];
    const TokenPos length = core_.storable_length(held);
    const ByteCount unsaved = core_.unsaved_bytes(held);
    if (!held.idle() || unsaved == 0 || held.offered == length) continue;
    // Nothing makes way for what lies in a slot as well, unless it goes on to the tier below.
    if (core_.lower == nullptr && unsaved > core_.memory.room()) continue;
    held.offered = length;
    any = true;
    if (!keep_live(held, slot, false)) continue;
    cold_.persist(held.space, core_.slots.keys(held).first(static_cast<std::size_t>(length)));
  }
  return any;
}

// --- looking in --------------------------------------------------------------------

CacheStatus StateCache::status() const {
  CacheStatus status = core_.totals;
  core_.memory.report(status);
  if (seen_) status.ghost_tokens += seen_->ghost_tokens();
  status.slot_snapshot_count = checkpointer_.places().count();
  status.slot_snapshots = checkpointer_.places().bytes();
  status.slot_snapshots_max = checkpointer_.slot_allowance();
  return status;
}

ConversationsStatus StateCache::conversations(std::size_t most, env::Clock::TimePoint now) const {
  const tree::HeldConversations held = core_.memory.tree().conversations(most);
  ConversationsStatus status{
      .count = held.count, .own = held.own, .shared = held.shared, .latest = {}};
  for (const tree::HeldConversation& one : held.latest) {
    Tokens keys = core_.memory.tree().tokens(one.tip);
    keys.resize(static_cast<std::size_t>(one.tokens));
    const double used_ms = static_cast<double>(one.last_use);
    status.latest.push_back({.tokens = one.tokens,
                             .own = one.own,
                             .shared = one.shared,
                             .idle_seconds = (env::ms_between(started_, now) - used_ms) / 1000.0,
                             .slot = core_.slots.holding(one.space, keys),
                             .space = one.space,
                             .keys = std::move(keys)});
  }
  return status;
}

ByteCount StateCache::clear() {
  const JournaledCall call(core_.journal, [](CacheJournal& to) { to.clear(); });
  const ByteCount places = checkpointer_.places().clear();
  for (const SlotId slot : core_.slots.all()) {
    LiveSlot& held = core_.slots[slot];
    held.stored_upto = 0;
    if (held.postponed) held.postponed->rows = 0;
    if (!held.idle()) continue;
    core_.engine.clear(slot);
    forget_slot(slot);
  }
  if (core_.lower != nullptr) core_.lower->clear();
  const ByteCount logits = core_.ends.bytes();
  core_.ends.clear();
  if (seen_) seen_->trim_ghost(0);
  return places + logits + core_.memory.clear();
}

void StateCache::distrust(SpaceKey space, const std::string& why) {
  const JournaledCall call(core_.journal, [](CacheJournal& to) { to.distrust(); });
  if (core_.lower != nullptr) core_.lower->distrust(space, why);
  checkpointer_.places().clear();
  core_.ends.clear();
  for (const SlotId slot : core_.slots.all()) {
    CHECK(core_.slots[slot].idle());
    core_.engine.clear(slot);
    forget_slot(slot);
  }
  core_.memory.retire(core_.now);
}

bool StateCache::can_spare(SlotId slot) const {
  const LiveSlot& held = core_.slots[slot];
  if (!held.prompt.empty()) return false;
  if (held.tokens.empty()) return true;
  return core_.memory.enabled() && core_.storable_length(held) <= held.stored_upto &&
         checkpointer_.places().of(slot).empty();
}

bool StateCache::is_filed(const LiveSlot& held) const {
  if (held.filed.length < 0 || held.filed.length > length_of(held.tokens)) return false;
  if (!core_.memory.tree().alive(held.filed.node)) return true;
  const Tokens above = core_.memory.tree().tokens(held.filed.node);
  return core_.memory.tree().facts(held.filed.node).space == held.space &&
         common_prefix(above, core_.slots.keys(held)) >= held.filed.length;
}

std::vector<std::string> StateCache::check() const {
  std::vector<std::string> violations = core_.memory.check();
  const auto add = [&](std::vector<std::string> more, const char* prefix = "") {
    for (std::string& violation : more) violations.push_back(prefix + violation);
  };
  add(core_.ends.check(), "CACHE-3: ");
  add(core_.slots.check());
  add(checkpointer_.check());
  if (seen_) add(seen_->check());
  for (const SlotId slot : core_.slots.all()) {
    if (!is_filed(core_.slots[slot])) {
      violations.push_back("CACHE-2: slot " + std::to_string(slot.value));
    }
  }
  return violations;
}

}  // namespace holdfast::cache
