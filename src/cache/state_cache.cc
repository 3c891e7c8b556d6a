#include "cache/state_cache.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "plan/cuts.h"
#include "plan/run_cuts.h"
#include "state/chunk_keys.h"

namespace holdfast {

namespace {

// A state that cannot be brought back is planned around; after so many of them
// the prompt is read from its beginning.
constexpr int kPlansMax = 16;

// What reading a token is taken to cost, in bytes moved: see StartCosts.
constexpr ByteCount kTokenCostMin = 64 << 10;
constexpr ByteCount kTokenCostMax = 64 << 20;
constexpr ByteCount kAnyTokenCost = 4 << 20;

// Of memory's budget, logits of prompts' ends may take this part.
constexpr ByteCount kEndsPart = 32;

}  // namespace

StateCache::StateCache(Engine& engine, CacheOptions options, const Clock& clock,
                       Companion* companion, Below* lower, CacheJournal* journal)
    : StateCache(journal == nullptr ? CacheWorld{&engine, &clock, companion, lower}
                                    : journal->watch({&engine, &clock, companion, lower}, options),
                 options, journal) {}

StateCache::StateCache(const CacheWorld& world, CacheOptions options, CacheJournal* journal)
    : engine_(*world.engine),
      options_(std::move(options)),
      clock_(*world.clock),
      companion_(world.companion),
      lower_(world.lower),
      journal_(journal),
      started_(clock_.now()),
      memory_(engine_, options_.memory, companion_, journal),
      ends_(memory_, options_.memory.budget / kEndsPart),
      live_(static_cast<std::size_t>(engine_.slot_count())),
      places_(engine_.slot_count(),
              static_cast<std::size_t>(std::max(options_.slot_snapshots, 0))) {
  if (options_.deterministic) seen_.emplace(StateNeeds::of(engine_.shape()));
  totals_.deterministic = options_.deterministic;
  totals_.state = engine_.shape().describe();
  totals_.fingerprint = options_.fingerprint;
  if (journal_ != nullptr) journal_->close();
}

// --- before --------------------------------------------------------------------

Tokens StateCache::keys_for(TokenSpan tokens, std::span<const TokenPos> cuts, bool deterministic) {
  return deterministic ? chunk_keys(tokens, cuts) : Tokens();
}

StartCosts StateCache::costs() const {
  StartCosts costs;
  costs.bytes_per_token = memory_.bytes_per_token();
  costs.bytes_per_snapshot = memory_.snapshot_bytes(engine_.context_tokens());
  costs.any_token = kAnyTokenCost;
  if (ms_per_token_ > 0.0) {
    // Clamped first: what was measured may be anything, and a number may not hold it.
    const double token = ms_per_token_ * bytes_per_ms_;
    costs.token = static_cast<ByteCount>(
        std::clamp(token, static_cast<double>(kTokenCostMin), static_cast<double>(kTokenCostMax)));
  }
  return costs;
}

// How much of a live state could be put into memory. Deterministic: what lies on
// the grid, and a snapshot can be taken only where the state stands.
TokenPos StateCache::storable_length(const Live& live) const {
  const TokenPos length = length_of(live.tokens);
  if (!options_.deterministic || live.exact == length) return length;
  return memory_.tree().needs().snapshot ? 0 : live.exact;
}

ByteCount StateCache::unsaved_bytes(const Live& live) const {
  const TokenPos storable = storable_length(live);
  if (!memory_.enabled() || storable <= live.kept) return 0;
  return static_cast<ByteCount>(storable - live.kept) * memory_.bytes_per_token() +
         memory_.snapshot_bytes(storable);
}

// Deterministic: the tree knows keys and not tokens, so all tokens are compared.
TokenPos StateCache::common(const Live& held, const Prompt& prompt, const Match& match) const {
  if (held.space != prompt.space) return 0;
  if (options_.deterministic) return common_prefix(held.tokens, prompt.tokens);
  return memory_.tree().common(match, prompt.tokens, held.filed, held.tokens);
}

LiveState StateCache::describe(SlotId slot, const Prompt& prompt, const Match& match,
                               bool may_cut) const {
  const Live& held = live(slot);
  LiveState state;
  state.slot = slot.value;
  state.length = length_of(held.tokens);
  state.common = prompt.reuse ? common(held, prompt, match) : 0;
  state.exact = held.exact;
  state.can_cut = [this, slot, may_cut](TokenPos position) {
    return (may_cut || position == engine_.length(slot)) && engine_.can_cut(slot, position);
  };
  for (const SlotPlace& place : places_.of(slot)) {
    state.places.push_back({place.at.position, place.off_grid});
  }
  state.unsaved = unsaved_bytes(held);
  state.last_used = held.run;
  return state;
}

Outlook StateCache::plan(const Prompt& prompt, std::span<const SlotId> slots) const {
  const JournaledCall call(journal_, [&](CacheJournal& to) { to.plan(prompt, slots); });
  Outlook outlook = plan_with(prompt, slots, true);
  if (journal_ != nullptr) journal_->planned(outlook.plan);
  return outlook;
}

Outlook StateCache::plan_with(const Prompt& prompt, std::span<const SlotId> slots,
                              bool may_cut) const {
  Outlook outlook;
  outlook.match = memory_.match(prompt.space, prompt.keys);
  std::vector<LiveState> states;
  for (const SlotId slot : slots) {
    states.push_back(describe(slot, prompt, outlook.match, may_cut));
  }
  const Match nothing{.space = prompt.space, .length = length_of(prompt.tokens)};
  StartInput input;
  input.prompt_length = length_of(prompt.tokens);
  input.cuts = prompt.cuts;
  if (memory_.enabled()) input.match = prompt.reuse ? &outlook.match : &nothing;
  input.slots = states;
  input.costs = costs();
  input.deterministic = options_.deterministic;
  input.end_known = may_begin_at_end(prompt) && ends_.holds(prompt.end);
  outlook.plan = plan_start(input);
  return outlook;
}

// Where the layout of a window shows in the last bits, an answer that begins with a restored
// state is not that of a cold run.
bool StateCache::keeps_ends(const Prompt& prompt) const {
  if (!memory_.enabled() || !prompt.reuse) return false;
  return !options_.deterministic || engine_.shape().find(PartKind::kWindow) == nullptr;
}

bool StateCache::may_begin_at_end(const Prompt& prompt) const {
  return keeps_ends(prompt) && engine_.can_sample_kept();
}

std::optional<Awaited> StateCache::worth_waiting_for(const Prompt& prompt, const Outlook& outlook) {
  const JournaledCall call(journal_, [&](CacheJournal& to) { to.worth_waiting_for(prompt); });
  const std::optional<Awaited> awaited = find_awaited(prompt, outlook);
  if (journal_ != nullptr) journal_->waits_for(awaited);
  return awaited;
}

std::optional<Awaited> StateCache::find_awaited(const Prompt& prompt, const Outlook& outlook) {
  if (!memory_.enabled() || !prompt.reuse || !options_.checkpoints) return std::nullopt;
  const TokenPos limit = length_of(prompt.tokens) - 1;
  std::optional<Awaited> best;
  for (std::size_t i = 0; i < live_.size(); ++i) {
    Live& other = live_[i];
    const TokenPos held = length_of(other.tokens);
    if (held >= length_of(other.prompt) || other.space != prompt.space) continue;
    TokenPos common = this->common(other, prompt, outlook.match);
    if (common == held) {
      const auto agreed = static_cast<std::size_t>(held);
      common += common_prefix(other.prompt.subspan(agreed), prompt.tokens.subspan(agreed));
    }
    common = std::min(common, limit);
    TokenPos reach = floor_of(other.cuts, common);
    if (!options_.deterministic && common - std::max(reach, held) >= kJunctionWorth) reach = common;
    // One that is behind what this prompt has already would only hold it up.
    const bool coming = reach > held || (reach == held && other.postponed);
    const bool ahead = held >= outlook.plan.keep && coming;
    if (!ahead || (best && reach <= best->position) || !memory_.could_hold(reach)) continue;
    best = Awaited{SlotId{static_cast<int>(i)}, other.run, reach};
  }
  if (!best) return std::nullopt;
  Live& other = live(best->slot);
  ++totals_.waits;
  if (best->position == length_of(other.tokens)) return best;  // postponed
  const auto cut = std::ranges::lower_bound(other.cuts, best->position);
  if (cut == other.cuts.end() || *cut != best->position) other.cuts.insert(cut, best->position);
  auto& due = other.due;
  const auto place = std::ranges::lower_bound(due, best->position, {}, &Checkpoint::position);
  if (place == due.end() || place->position != best->position) {
    due.insert(place, {best->position, CheckpointKind::kJunction});
  }
  return best;
}

bool StateCache::still_coming(const Awaited& awaited) const {
  const Live& other = live(awaited.slot);
  const TokenPos length = length_of(other.tokens);
  return other.run == awaited.run && !other.prompt.empty() &&
         (length < awaited.position || (length == awaited.position && other.postponed));
}

// --- beginning -------------------------------------------------------------------

LogitsPtr StateCache::begin(const Prompt& prompt, const Outlook& outlook, Receipt& receipt) {
  const SlotId slot{outlook.plan.slot};
  const JournaledCall call(journal_, [&](CacheJournal& to) { to.begin(prompt, slot, receipt); });
  const auto passed = static_cast<Tick>(ms_between(started_, clock_.now()));
  now_ = memory_.begin_request(prompt.reuse ? &outlook.match : nullptr, std::max(now_, passed));
  describe_match(prompt, outlook, receipt);
  LogitsPtr kept_logits;
  const auto with_logits = [&](Outlook planned) {
    kept_logits = nullptr;
    if (planned.plan.keep < length_of(prompt.tokens)) return planned;
    kept_logits = ends_.find(prompt.end);
    return kept_logits != nullptr ? planned : plan_with(prompt, {&slot, 1}, false);
  };
  Outlook next = with_logits(outlook);
  bool planned_around = false;
  for (int plans = 1; carry_out(prompt, next, receipt) != Obstacle::kNone; ++plans) {
    // A refusal is an answer, and so is damage: there is another way.
    planned_around = true;
    const bool give_up = plans == kPlansMax;
    if (give_up) engine_.clear(slot);
    shorten(slot, engine_.length(slot));
    next = with_logits(give_up ? Outlook{{}, {.slot = slot.value}}
                               : plan_with(prompt, {&slot, 1}, false));
  }
  receipt.slot = slot.value;
  receipt.source = next.plan.source;
  receipt.restored = next.plan.keep;
  receipt.restorable = std::max(receipt.restorable, receipt.restored);
  receipt.missing = missing(prompt, receipt, planned_around);
  name_foreign(prompt, receipt);
  receipt.saved_ms = ms_per_token_ * receipt.restored;

  take_over(slot, prompt, next);
  live(slot).newcomer = receipt.restored + scarce_distance() < length_of(prompt.tokens);
  place(live(slot), prompt, receipt);
  bring_companion(slot, prompt, receipt);
  ++totals_.requests;
  totals_.prompt_tokens += prompt.tokens.size();
  totals_.matched_tokens += static_cast<std::uint64_t>(receipt.matched);
  const auto restored = static_cast<std::uint64_t>(receipt.restored);
  totals_.restored_tokens += restored;
  const bool was_live = receipt.source == StartSource::kLive;
  (was_live ? totals_.restored_live_tokens : totals_.restored_memory_tokens) += restored;
  if (!was_live && receipt.fetched > 0) totals_.restored_lower_tokens += restored;
  totals_.saved_seconds += receipt.saved_ms / 1000.0;
  return kept_logits;
}

ByteCount StateCache::bytes_to_begin(const Outlook& outlook) const {
  ByteCount bytes = outlook.plan.bytes_in;
  for (const StartAction& action : outlook.plan.actions) {
    if (std::holds_alternative<StoreLive>(action)) {
      bytes += unsaved_bytes(live(SlotId{outlook.plan.slot}));
    }
  }
  return bytes;
}

// The companion comes along as far as it can, with what memory holds of it.
void StateCache::bring_companion(SlotId slot, const Prompt& prompt, Receipt& receipt) {
  if (companion_ == nullptr) return;
  const TokenSpan tokens = live(slot).tokens;
  CompanionHolding held;
  if (!tokens.empty())
    held = memory_.companion_state(prompt.space, prompt.keys.first(tokens.size()));
  const SnapshotPtr own = places_.find(slot, length_of(tokens));
  if (held.place.bytes.empty() && own != nullptr) held.place = own->companion();
  CompanionPoint point;
  point.tokens = tokens;
  point.rows = held.rows;
  point.place = held.place;
  const Followed followed = companion_->follow(slot, point);
  CompanionReceipt& out = receipt.companion.emplace();
  out.name = companion_->name();
  out.held = std::clamp(followed.held, 0, length_of(tokens));
  out.from_memory = std::clamp(followed.from_memory, 0, out.held);
  if (out.held < length_of(tokens) && followed.missing != nullptr) out.missing = followed.missing;
}

StateCache::Obstacle StateCache::carry_out(const Prompt& prompt, const Outlook& outlook,
                                           Receipt& receipt) {
  const SlotId slot{outlook.plan.slot};
  // What is kept of the slot's last conversation must not push out what is needed,
  // and the plan's nodes must stay what they are until all is done.
  Pin needed = memory_.pin(outlook.match.node);
  for (const StartAction& action : outlook.plan.actions) {
    const Obstacle obstacle =
        std::visit([&](const auto& one) { return act(one, slot, prompt, receipt); }, action);
    if (obstacle == Obstacle::kNone) continue;
    needed.release();
    const auto kept = static_cast<std::size_t>(outlook.plan.keep);
    if (obstacle == Obstacle::kNotRestored) {
      memory_.quarantine(prompt.space, prompt.keys.first(kept), now());
    }
    if (obstacle == Obstacle::kOwnNotRestored) memory_.count_damaged();
    return obstacle;
  }
  needed.release();
  memory_.forget_beyond_limits();
  return Obstacle::kNone;
}

StateCache::Obstacle StateCache::act(const StoreLive&, SlotId slot, const Prompt&,
                                     Receipt& receipt) {
  receipt.bytes_out += put_aside(slot);
  return Obstacle::kNone;
}

// What the slot holds is about to go from there. Returns the bytes copied.
ByteCount StateCache::put_aside(SlotId slot) {
  Live& held = live(slot);
  // A short answer behind a prompt that was kept is worth its tokens: where there is no room,
  // nothing makes way for it.
  const TokenPos unsaved = storable_length(held) - held.kept;
  const bool essential = unsaved >= scarce_distance();
  const bool fits = unsaved_bytes(held) <= memory_.room();
  const StoreOutcome outcome =
      essential || fits ? store_live(held, slot, essential) : StoreOutcome{};
  const ByteCount of_places = outcome.stored ? 0 : put_places_aside(slot);
  if (held.tool_call) memory_.note_tool_call(held.space, keys_of(held));
  if (outcome.stored) {
    keep_below(held.space, keys_of(held).first(static_cast<std::size_t>(outcome.filed.length)));
  }
  return outcome.bytes + of_places;
}

StoreOutcome StateCache::store_live(Live& held, SlotId slot, bool essential) {
  const TokenPos length = storable_length(held);
  if (length == 0) return {};
  StoreRequest request;
  request.slot = slot;
  request.space = held.space;
  request.tokens = keys_of(held).first(static_cast<std::size_t>(length));
  if (length > held.exact) request.marks = request.marks | Hint::kOffGrid;
  if (held.tool_call) request.marks = request.marks | Hint::kToolCall;
  request.odds = held.tool_call ? memory_.policy().tip_after_tool_call : memory_.policy().tip;
  request.saves = length - held.kept;
  request.essential = essential;
  request.newcomer = held.newcomer;
  request.now = now();
  const auto before = clock_.now();
  const StoreOutcome outcome = memory_.store(request);
  totals_.store_seconds += ms_between(before, clock_.now()) / 1000.0;
  return outcome;
}

StateCache::Obstacle StateCache::act(const CutLive& action, SlotId slot, const Prompt&, Receipt&) {
  if (engine_.cut(slot, action.position) == CutAnswer::kRefused) return Obstacle::kCutRefused;
  shorten(slot, action.position);
  return Obstacle::kNone;
}

StateCache::Obstacle StateCache::act(const LoadSnapshot& action, SlotId slot, const Prompt&,
                                     Receipt& receipt) {
  const auto before = clock_.now();
  const SnapshotPtr own = action.node ? nullptr : places_.find(slot, action.position);
  CHECK(action.node || own != nullptr);
  const auto bytes = own != nullptr ? memory_.load_snapshot(slot, *own)
                                    : memory_.load_snapshot(slot, action.node, now());
  if (!bytes) return own != nullptr ? Obstacle::kOwnNotRestored : Obstacle::kNotRestored;
  shorten(slot, action.position);
  note_restored(receipt, *bytes, ms_between(before, clock_.now()));
  return Obstacle::kNone;
}

StateCache::Obstacle StateCache::act(const RestoreState& action, SlotId slot, const Prompt& prompt,
                                     Receipt& receipt) {
  const auto before = clock_.now();
  const TokenSpan tokens = prompt.tokens.first(static_cast<std::size_t>(action.position));
  const auto bytes = memory_.restore(slot, action.node, tokens, now());
  if (!bytes) return Obstacle::kNotRestored;
  note_restored(receipt, *bytes, ms_between(before, clock_.now()));
  return Obstacle::kNone;
}

StateCache::Obstacle StateCache::act(const ClearSlot&, SlotId slot, const Prompt&, Receipt&) {
  engine_.clear(slot);
  shorten(slot, 0);
  return Obstacle::kNone;
}

StateCache::Obstacle StateCache::act(const ReadPrompt&, SlotId, const Prompt&, Receipt&) {
  return Obstacle::kNone;  // the scheduler reads, chunk by chunk
}

void StateCache::note_restored(Receipt& receipt, ByteCount bytes, double ms) {
  receipt.bytes_in += bytes;
  receipt.restore_ms += ms;
  ++totals_.restores;
  totals_.restored_bytes += bytes;
  totals_.restore_seconds += ms / 1000.0;
  constexpr ByteCount kEnoughToMeasure = 1 << 20;
  if (bytes < kEnoughToMeasure || ms <= 0.0) return;
  bytes_per_ms_ += (static_cast<double>(bytes) / ms - bytes_per_ms_) / 8.0;
}

void StateCache::shorten(SlotId slot, TokenPos length) {
  Live& held = live(slot);
  held.tokens.resize(std::min(held.tokens.size(), static_cast<std::size_t>(length)));
  held.keys.resize(std::min(held.keys.size(), held.tokens.size()));
  held.exact = std::min(held.exact, length);
  held.kept = std::min(held.kept, length);
  held.offered = std::min(held.offered, length);
  held.filed.length = std::min(held.filed.length, length);
  if (held.postponed && held.postponed->checkpoint.position > length) held.postponed.reset();
  places_.shorten(slot, length);
}

// The slot holds the first tokens of the prompt now, as many as the plan keeps.
void StateCache::take_over(SlotId slot, const Prompt& prompt, const Outlook& outlook) {
  Live& held = live(slot);
  const StartPlan& plan = outlook.plan;
  const TokenPos restored = plan.keep;
  const bool rows_stayed =
      plan.source == StartSource::kLive || plan.source == StartSource::kSnapshotInPlace;
  if (!rows_stayed) {
    held.tokens.assign(prompt.tokens.begin(), prompt.tokens.begin() + restored);
    held.exact = floor_of(prompt.cuts, restored);
    held.kept = restored;
    held.filed = {outlook.match.node, restored};
    places_.shorten(slot, 0);  // they were those of other tokens
  }
  if (options_.deterministic) {
    held.keys.assign(prompt.keys.begin(), prompt.keys.begin() + restored);
  }
  held.space = prompt.space;
  held.end = prompt.end;
  held.run = ++runs_;
  held.tool_call = false;
  held.offered = 0;
  held.prompt = prompt.tokens;
  held.prompt_keys = prompt.keys;
  held.grid = prompt.cuts;
  held.last_checkpoint = restored;
  held.began = clock_.now();
  held.store_ms = 0.0;
}

// --- during ------------------------------------------------------------------------

Result<void> StateCache::before_chunk(SlotId slot) {
  if (!options_.deterministic) return {};
  const JournaledCall call(journal_, [&](CacheJournal& to) { to.before_chunk(slot); });
  return engine_.normalize(slot);
}

TokenPos StateCache::chunk_end(SlotId slot) const {
  const Live& held = live(slot);
  const auto cut = std::ranges::upper_bound(held.cuts, length_of(held.tokens));
  return cut == held.cuts.end() ? length_of(held.prompt) : *cut;
}

void StateCache::prefilled(SlotId slot, TokenSpan chunk, Receipt& receipt, LogitsOf logits,
                           Copies copies) {
  const JournaledCall call(journal_,
                           [&](CacheJournal& to) { to.prefilled(slot, chunk, logits, copies); });
  if (companion_ != nullptr) companion_->advance(slot, chunk, 0);
  Live& held = live(slot);
  CHECK(!held.postponed);
  const TokenPos before = length_of(held.tokens);
  held.tokens.insert(held.tokens.end(), chunk.begin(), chunk.end());
  if (options_.deterministic) {
    const auto keys = held.prompt_keys.subspan(static_cast<std::size_t>(before), chunk.size());
    held.keys.insert(held.keys.end(), keys.begin(), keys.end());
  }
  const TokenPos after = length_of(held.tokens);
  const bool whole_chunk =
      std::ranges::binary_search(held.grid, after) && floor_of(held.grid, after - 1) == before;
  if (whole_chunk && held.exact == before) held.exact = after;
  receipt.recomputed += length_of(chunk);
  while (!held.due.empty() && held.due.front().position <= after) {
    const Checkpoint checkpoint = held.due.front();
    held.due.erase(held.due.begin());
    const bool at_end = checkpoint.kind == CheckpointKind::kAnswerStart;
    if (at_end && logits == LogitsOf::kNone) continue;
    const bool exact_here =
        !options_.deterministic || held.exact == after || (at_end && held.exact == before);
    if (checkpoint.position != after || !exact_here) continue;
    engine_.wait();
    if (!time_allows(held, checkpoint)) continue;
    if (copies == Copies::kLater) {
      held.postponed = Postponed{checkpoint};
    } else {
      take_checkpoint(slot, checkpoint, receipt);
    }
  }
  const bool whole = after == length_of(held.prompt) && logits == LogitsOf::kLastToken;
  if (whole && held.postponed) {
    held.postponed->logits = end_logits(slot);
  } else if (whole && held.kept == after) {
    keep_end(slot, end_logits(slot));
  }
}

void StateCache::decoded(SlotId slot, TokenSpan kept, TokenPos told) {
  const JournaledCall call(journal_, [&](CacheJournal& to) { to.decoded(slot, kept); });
  Live& held = live(slot);
  CHECK(!held.postponed);
  held.tokens.insert(held.tokens.end(), kept.begin(), kept.end());
  if (options_.deterministic) held.keys.insert(held.keys.end(), kept.begin(), kept.end());
  if (companion_ == nullptr) return;
  companion_->advance(slot, kept.subspan(static_cast<std::size_t>(told)), told);
}

void StateCache::emptied(SlotId slot) {
  const JournaledCall call(journal_, [&](CacheJournal& to) { to.emptied(slot); });
  forget_slot(slot);
}

void StateCache::forget_slot(SlotId slot) {
  shorten(slot, 0);
  if (companion_ != nullptr) (void)companion_->follow(slot, {});
}

void StateCache::note_seen(Live& held) {
  held.filed = memory_.remember(held.space, keys_of(held), now());
  if (!seen_ || held.tokens.empty()) return;
  seen_->commit({.space = held.space, .tokens = held.tokens, .now = now()});
  forget_beyond_limits(*seen_, options_.memory);
}

void StateCache::end(SlotId slot) {
  const JournaledCall call(journal_, [&](CacheJournal& to) { to.end(slot); });
  Live& held = live(slot);
  note_seen(held);
  keep_below(held.space, keys_of(held));
  shorten(slot, engine_.length(slot));
  held.prompt = {};
  held.prompt_keys = {};
  held.grid = {};
  held.cuts.clear();
  held.due.clear();
  held.due_in_slot.clear();
  held.postponed.reset();
}

void StateCache::called_tool(SlotId slot, std::uint64_t run) {
  const JournaledCall call(journal_, [&](CacheJournal& to) { to.called_tool(slot, run); });
  if (live(slot).run == run) live(slot).tool_call = true;
}

void StateCache::note_prefill_speed(TokenPos tokens, double ms) {
  const JournaledCall call(journal_, [&](CacheJournal& to) { to.note_prefill_speed(tokens, ms); });
  constexpr TokenPos kEnoughToMeasure = 64;
  if (tokens < kEnoughToMeasure || ms <= 0.0) return;
  const double measured = ms / tokens;
  ms_per_token_ += ms_per_token_ > 0.0 ? (measured - ms_per_token_) / 8.0 : measured;
}

// --- looking in --------------------------------------------------------------------

CacheStatus StateCache::status() const {
  CacheStatus status = totals_;
  memory_.report(status);
  if (seen_) status.ghost_tokens += seen_->ghost_tokens();
  status.slot_snapshot_count = places_.count();
  status.slot_snapshots = places_.bytes();
  status.slot_snapshots_max = slot_allowance();
  return status;
}

ConversationsStatus StateCache::conversations(std::size_t most, Clock::TimePoint now) const {
  const HeldConversations held = memory_.tree().conversations(most);
  ConversationsStatus status{
      .count = held.count, .own = held.own, .shared = held.shared, .latest = {}};
  for (const HeldConversation& one : held.latest) {
    Tokens keys = memory_.tree().tokens(one.tip);
    keys.resize(static_cast<std::size_t>(one.tokens));
    const double used_ms = static_cast<double>(one.last_use);
    status.latest.push_back({.tokens = one.tokens,
                             .own = one.own,
                             .shared = one.shared,
                             .idle_seconds = (ms_between(started_, now) - used_ms) / 1000.0,
                             .slot = slot_holding(one.space, keys),
                             .space = one.space,
                             .keys = std::move(keys)});
  }
  return status;
}

std::optional<int> StateCache::slot_holding(SpaceKey space, TokenSpan keys) const {
  for (std::size_t i = 0; i < live_.size(); ++i) {
    const TokenSpan held = keys_of(live_[i]);
    if (live_[i].space != space || held.size() < keys.size()) continue;
    if (std::ranges::equal(held.first(keys.size()), keys)) return static_cast<int>(i);
  }
  return std::nullopt;
}

ByteCount StateCache::clear() {
  const JournaledCall call(journal_, [](CacheJournal& to) { to.clear(); });
  const ByteCount places = places_.clear();
  for (std::size_t i = 0; i < live_.size(); ++i) {
    live_[i].kept = 0;
    if (live_[i].postponed) live_[i].postponed->rows = 0;
    const bool idle = live_[i].prompt.empty();
    if (!idle) continue;
    engine_.clear(SlotId{static_cast<int>(i)});
    shorten(SlotId{static_cast<int>(i)}, 0);
  }
  if (lower_ != nullptr) lower_->clear();
  const ByteCount logits = ends_.bytes();
  ends_.clear();
  return places + logits + memory_.clear(now());
}

void StateCache::distrust(SpaceKey space, const std::string& why) {
  const JournaledCall call(journal_, [](CacheJournal& to) { to.distrust(); });
  if (lower_ != nullptr) lower_->distrust(space, why);
  places_.clear();
  ends_.clear();
  for (std::size_t i = 0; i < live_.size(); ++i) {
    const SlotId slot{static_cast<int>(i)};
    CHECK(live_[i].prompt.empty());
    engine_.clear(slot);
    forget_slot(slot);
  }
  memory_.retire(now());
}

bool StateCache::can_spare(SlotId slot) const {
  const Live& held = live(slot);
  if (!held.prompt.empty()) return false;
  if (held.tokens.empty()) return true;
  return memory_.enabled() && storable_length(held) <= held.kept && places_.of(slot).empty();
}

bool StateCache::is_filed(const Live& held) const {
  if (held.filed.length < 0 || held.filed.length > length_of(held.tokens)) return false;
  if (!memory_.tree().alive(held.filed.node)) return true;
  const Tokens above = memory_.tree().tokens(held.filed.node);
  return memory_.tree().facts(held.filed.node).space == held.space &&
         common_prefix(above, keys_of(held)) >= held.filed.length;
}

std::vector<std::string> StateCache::check() const {
  std::vector<std::string> violations = memory_.check();
  for (std::string& violation : ends_.check()) violations.push_back("C6: " + violation);
  check_places(violations);
  if (seen_) {
    for (std::string& violation : seen_->check()) violations.push_back(std::move(violation));
  }
  for (std::size_t i = 0; i < live_.size(); ++i) {
    const Live& held = live_[i];
    const std::string name = "slot " + std::to_string(i);
    const TokenPos length = length_of(held.tokens);
    const TokenPos engine_length = engine_.length(SlotId{static_cast<int>(i)});
    if (length != engine_length) {
      violations.push_back("C1: " + name + " lists " + std::to_string(length) +
                           " tokens, the engine holds " + std::to_string(engine_length));
    }
    if (keys_of(held).size() != held.tokens.size()) violations.push_back("C1: keys of " + name);
    if (held.exact < 0 || held.exact > length) violations.push_back("C2: " + name);
    if (!is_filed(held)) violations.push_back("C5: " + name);
    if (held.postponed && held.postponed->checkpoint.position != length) {
      violations.push_back("C3: postponed in " + name);
    }
    TokenPos last = length;
    for (const Checkpoint& checkpoint : held.due) {
      if (checkpoint.position <= last) violations.push_back("C3: " + name);
      last = checkpoint.position;
    }
  }
  return violations;
}

}  // namespace holdfast
