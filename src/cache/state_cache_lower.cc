// What comes up from the tier below, and what goes down to it.
#include <algorithm>
#include <ranges>

#include "cache/state_cache.h"

namespace holdfast {

namespace {

// A few tokens are sooner read than brought up.
constexpr TokenPos kWorthAsking = 32;
// What was promised may turn out to be damaged; then there is a shallower place.
constexpr int kTriesMax = 3;
// A store that does not answer costs no more than reading would, or, where that is not known,
// this.
constexpr double kPatienceMs = 3000.0;
constexpr double kPatienceLeastMs = 100.0;

}  // namespace

// --- up ------------------------------------------------------------------------------

std::vector<PathName> StateCache::names_for(SpaceKey space, TokenSpan keys) const {
  if (lower_ == nullptr || !memory_.enabled()) return {};
  PathNamer names(space);
  names.append(keys);
  return names.anchors();
}

LowerFetch StateCache::ask_below(const Prompt& prompt, const Outlook& outlook) {
  LowerFetch fetch;
  if (lower_ == nullptr || !memory_.enabled() || !prompt.reuse) return fetch;
  const JournaledCall call(journal_, [&](CacheJournal& to) { to.ask_below(prompt); });
  const TokenPos limit = length_of(prompt.tokens) - 1;
  const TokenPos known = std::min(lower_->deepest(prompt.names), limit);
  if (known < outlook.plan.keep + kWorthAsking) return fetch;
  fetch.stage = LowerFetch::Stage::kLooking;
  fetch.look = lower_->look(prompt.space, prompt.keys);
  fetch.began = clock_.now();
  const double reading_ms = ms_per_token_ * (known - outlook.plan.keep);
  fetch.patience_ms = reading_ms > 0.0 ? std::max(reading_ms, kPatienceLeastMs) : kPatienceMs;
  return fetch;
}

bool StateCache::ready(const LowerFetch& fetch) const {
  using Stage = LowerFetch::Stage;
  if (fetch.stage == Stage::kLooking && fetch.look->ready()) return true;
  if (fetch.stage == Stage::kBringing && fetch.bring->ready()) return true;
  return fetch.over() || ms_between(fetch.began, clock_.now()) > fetch.patience_ms;
}

bool StateCache::go_on(LowerFetch& fetch, const Prompt& prompt, const Outlook& outlook,
                       Receipt& receipt) {
  using Stage = LowerFetch::Stage;
  // Asked once: another thread may be about to answer.
  const bool found = fetch.stage == Stage::kLooking && fetch.look->ready();
  const bool came = fetch.stage == Stage::kBringing && fetch.bring->ready();
  const JournaledCall call(journal_, [&](CacheJournal& to) {
    to.go_on(prompt, found ? &fetch.look->value() : nullptr,
             came ? &fetch.bring->value() : nullptr);
  });
  bool more = false;
  if (found) {
    if (look_over(fetch, prompt, outlook)) return false;
  } else if (came) {
    more = take_in(fetch, prompt, receipt);
    if (!fetch.bring->value().all && ++fetch.tries < kTriesMax) {
      fetch.stage = Stage::kLooking;
      fetch.look = lower_->look(prompt.space, prompt.keys);
      return more;
    }
  }
  if (fetch.look) fetch.look->give_up();
  if (fetch.bring) fetch.bring->give_up();
  receipt.fetch_ms = ms_between(fetch.began, clock_.now());
  if (receipt.fetched > 0) {
    ++totals_.fetches;
    totals_.fetch_seconds += receipt.fetch_ms / 1000.0;
  }
  fetch = LowerFetch{};
  return more;
}

// Chooses from what was found, and asks for it.
bool StateCache::look_over(LowerFetch& fetch, const Prompt& prompt, const Outlook& outlook) {
  LowerInput input;
  input.needs = memory_.tree().needs();
  input.prompt_length = length_of(prompt.tokens);
  input.cuts = prompt.cuts;
  input.deterministic = options_.deterministic;
  input.may_begin_at_end = may_begin_at_end(prompt);
  input.keep = outlook.plan.keep;
  input.rows_held = outlook.match.covered;
  input.ms_per_token = ms_per_token_;
  input.bytes_per_ms = lower_->bytes_per_ms();
  input.bytes_max = memory_.budget();
  auto choice = choose_below(fetch.look->value(), input);
  if (!choice || !memory_.could_hold(choice->position)) return false;
  auto room = memory_.hold_room(choice->bytes, outlook.match.node, now());
  if (!room) return false;
  fetch.room = std::move(*room);
  fetch.choice = *choice;
  fetch.bring = lower_->bring(std::move(fetch.look->value()), std::move(*choice));
  fetch.stage = LowerFetch::Stage::kBringing;
  return true;
}

bool StateCache::take_in(LowerFetch& fetch, const Prompt& prompt, Receipt& receipt) {
  Brought& brought = fetch.bring->value();
  fetch.room.release();
  if (brought.rows.empty() && brought.snapshot == nullptr) return false;
  // A place whose rows did not all come stands on nothing.
  const bool whole = brought.all;
  const TokenPos reached = brought.rows.empty() ? 0 : brought.rows.back().range.end;
  const TokenPos length = whole ? fetch.choice.position : reached;
  if (length == 0) return false;
  AdmitRequest request;
  request.space = prompt.space;
  request.tokens = prompt.keys.first(static_cast<std::size_t>(length));
  request.rows = brought.rows;
  if (whole) request.snapshot = brought.snapshot;
  if (whole) request.marks = brought.marks;
  request.now = now();
  if (!memory_.admit(request)) return false;
  const bool at_end = whole && length == length_of(prompt.tokens) && !brought.logits.empty();
  if (at_end && brought.logits.bytes.size() == engine_.logits_count() * sizeof(float)) {
    ends_.put(prompt.end, std::make_shared<const CheckedBytes>(std::move(brought.logits)));
  }
  receipt.fetched = std::max(receipt.fetched, length);
  receipt.fetched_bytes += brought.bytes;
  return true;
}

// --- down ------------------------------------------------------------------------------

// Where the conversation goes on: at the deepest place, at the last prompt's end where the
// client does not repeat the answer as it was, or where the answer began, if that is asked for
// again. Where others begin: at ends of system prompts and junctions. And steps between them: near
// the end as memory has them (plan/placement.h, P4), each twice as far from it as the last, and
// else so far apart that together they weigh less than the rows.
std::vector<KeptPlace> StateCache::places_worth_keeping(const Match& match, TokenSpan keys) const {
  std::vector<const Stop*> places;
  const Stop* last_prompt = nullptr;
  const Stop* last_end = nullptr;
  for (const Stop& stop : match.stops) {
    if (!stop.restorable) continue;
    if (stop.has_snapshot) places.push_back(&stop);
    if (stop.marks.has(Hint::kPromptEnd)) last_prompt = &stop;
    if (stop.marks.has(Hint::kAnswerStart)) last_end = &stop;
  }
  LogitsPtr logits;
  if (last_end != nullptr) {
    const TokenSpan prompt = keys.first(static_cast<std::size_t>(last_end->position));
    logits = ends_.peek(EndKey::of(match.space, prompt));
  }
  if (logits != nullptr && !last_end->has_snapshot) places = {last_end};  // there are no others
  const TokenPos end = places.empty() ? 0 : places.back()->position;
  const TokenPos sparse = sparse_distance();
  std::vector<KeptPlace> kept;
  TokenPos above = 0;  // the last kept, counted from the end
  for (const Stop* stop : std::views::reverse(places)) {
    const bool asked_again = stop == last_end && logits != nullptr;
    const bool goes_on = stop == places.back() || stop == last_prompt || asked_again;
    const bool shared = stop->marks.has(Hint::kSystemEnd) || stop->marks.has(Hint::kJunction);
    const TokenPos distance = end - stop->position;
    const bool is_step =
        distance >= std::min(std::max(2 * above, options_.merged_chunk), above + sparse);
    if (!goes_on && !shared && !is_step) continue;
    KeptPlace place;
    place.position = stop->position;
    place.snapshot = memory_.tree().snapshot(stop->node);
    place.marks = stop->marks;
    place.role = goes_on ? PlaceRole::kGoesOn : shared ? PlaceRole::kShared : PlaceRole::kStep;
    if (stop->has_snapshot) place.bytes = memory_.snapshot_bytes(stop->position);
    if (asked_again) place.logits = logits;
    if (asked_again) place.bytes += logits->bytes.size();
    place.needs_snapshot = stop->has_snapshot;
    kept.push_back(std::move(place));
    above = distance;
  }
  std::ranges::reverse(kept);
  return kept;
}

void StateCache::keep_below(SpaceKey space, TokenSpan keys) {
  if (lower_ == nullptr || !memory_.enabled() || keys.empty()) return;
  const Match match = memory_.match(space, keys);
  const StateNeeds& needs = memory_.tree().needs();
  KeptPath path;
  path.space = space;
  path.places = places_worth_keeping(match, keys);
  const TokenPos deepest = path.places.empty() ? 0 : path.places.back().position;
  const TokenPos length = needs.snapshot ? deepest : match.covered;
  if (length == 0) return;
  path.keys.assign(keys.begin(), keys.begin() + length);
  if (needs.blocks) {
    for (const BlockUse& use : memory_.tree().rows(match.node, length)) {
      path.rows.push_back({use.block, use.range});
    }
  }
  path.bytes_per_token = needs.blocks ? memory_.bytes_per_token() : 0;
  path.needs_places = needs.snapshot;
  lower_->keep(std::move(path));
}

// As store_live(), where the slot goes on holding what is stored.
bool StateCache::keep_live(Live& held, SlotId slot, bool essential) {
  const StoreOutcome outcome = store_live(held, slot, essential);
  if (!outcome.stored) return false;
  held.kept = storable_length(held);
  held.filed = outcome.filed;
  return true;
}

bool StateCache::keep_idle() {
  bool any = false;
  const JournaledCall call(journal_, [](CacheJournal& to) { to.keep_idle(); });
  for (std::size_t i = 0; i < live_.size(); ++i) {
    Live& held = live_[i];
    const bool idle = held.prompt.empty();
    const TokenPos length = storable_length(held);
    if (!idle || unsaved_bytes(held) == 0 || held.offered == length) continue;
    // Nothing makes way for what lies in a slot as well, unless it goes on to the tier below.
    if (lower_ == nullptr && unsaved_bytes(held) > memory_.room()) continue;
    held.offered = length;
    any = true;
    if (!keep_live(held, SlotId{static_cast<int>(i)}, false)) continue;
    keep_below(held.space, keys_of(held).first(static_cast<std::size_t>(length)));
  }
  return any;
}

}  // namespace holdfast
