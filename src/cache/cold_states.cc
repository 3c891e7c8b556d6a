#include "cache/cold_states.h"

#include <algorithm>

#include "cache/checkpoint_plan.h"

namespace holdfast::cache {

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

std::vector<tier::PathName> ColdStates::names_for(SpaceKey space, TokenSpan keys) const {
  if (core_.lower == nullptr || !core_.memory.enabled()) return {};
  tier::PathNamer names(space);
  names.append(keys);
  return names.anchors();
}

ColdFetch ColdStates::look_up(const Prompt& prompt, const StartChoice& outlook) {
  ColdFetch fetch;
  if (core_.lower == nullptr || !core_.memory.enabled() || !prompt.reuse) return fetch;
  const JournaledCall call(core_.journal, [&](CacheJournal& to) { to.ask_below(prompt); });
  const TokenPos limit = length_of(prompt.tokens) - 1;
  const TokenPos known = std::min(core_.lower->deepest(prompt.names), limit);
  if (known < outlook.plan.reused + kWorthAsking) return fetch;
  fetch.stage = ColdFetch::Stage::kLooking;
  fetch.look = core_.lower->look(prompt.space, prompt.keys);
  fetch.began = core_.clock.now();
  const double reading_ms = core_.costs.ms_per_token() * (known - outlook.plan.reused);
  fetch.patience_ms = reading_ms > 0.0 ? std::max(reading_ms, kPatienceLeastMs) : kPatienceMs;
  return fetch;
}

bool ColdStates::ready(const ColdFetch& fetch) const {
  using Stage = ColdFetch::Stage;
  if (fetch.stage == Stage::kLooking && fetch.look->ready()) return true;
  if (fetch.stage == Stage::kBringing && fetch.bring->ready()) return true;
  return fetch.over() || env::ms_between(fetch.began, core_.clock.now()) > fetch.patience_ms;
}

bool ColdStates::advance(ColdFetch& fetch, const Prompt& prompt, const StartChoice& outlook,
                         Receipt& receipt) {
  using Stage = ColdFetch::Stage;
  // Asked once: another thread may be about to answer.
  const bool found = fetch.stage == Stage::kLooking && fetch.look->ready();
  const bool came = fetch.stage == Stage::kBringing && fetch.bring->ready();
  const JournaledCall call(core_.journal, [&](CacheJournal& to) {
    to.go_on(prompt, found ? &fetch.look->value() : nullptr,
             came ? &fetch.bring->value() : nullptr);
  });
  bool more = false;
  if (found) {
    if (choose(fetch, prompt, outlook)) return false;
  } else if (came) {
    more = take_in(fetch, prompt, receipt);
    if (!fetch.bring->value().all && ++fetch.tries < kTriesMax) {
      fetch.stage = Stage::kLooking;
      fetch.look = core_.lower->look(prompt.space, prompt.keys);
      return more;
    }
  }
  if (fetch.look) fetch.look->give_up();
  if (fetch.bring) fetch.bring->give_up();
  receipt.fetch_ms = env::ms_between(fetch.began, core_.clock.now());
  if (receipt.fetched > 0) {
    ++core_.totals.fetches;
    core_.totals.fetch_seconds += receipt.fetch_ms / 1000.0;
  }
  fetch = ColdFetch{};
  return more;
}

// Chooses from what was found, and asks for it.
bool ColdStates::choose(ColdFetch& fetch, const Prompt& prompt, const StartChoice& outlook) {
  ColdInput input;
  input.needs = core_.memory.tree().needs();
  input.prompt_length = length_of(prompt.tokens);
  input.cuts = prompt.cuts;
  input.exact_prompts = core_.options.has_exact_prompts();
  input.may_begin_at_end = core_.may_begin_at_end(prompt);
  input.reused = outlook.plan.reused;
  input.rows_held = outlook.match.covered;
  input.ms_per_token = core_.costs.ms_per_token();
  input.bytes_per_ms = core_.lower->bytes_per_ms();
  input.bytes_max = core_.memory.budget.total();
  auto choice = choose_cold(fetch.look->value(), input);
  if (!choice || !core_.memory.could_hold(choice->position)) return false;
  auto room = core_.memory.room.hold_room(choice->bytes, outlook.match.node, core_.now);
  if (!room) return false;
  fetch.room = std::move(*room);
  fetch.choice = *choice;
  fetch.bring = core_.lower->bring(std::move(fetch.look->value()), std::move(*choice));
  fetch.stage = ColdFetch::Stage::kBringing;
  return true;
}

bool ColdStates::take_in(ColdFetch& fetch, const Prompt& prompt, Receipt& receipt) {
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
  request.now = core_.now;
  if (!core_.memory.admit(request)) return false;
  const bool at_end = whole && length == length_of(prompt.tokens) && !brought.logits.empty();
  if (at_end && brought.logits.bytes.size() == core_.engine.logits_count() * sizeof(float)) {
    core_.ends.put(prompt.end, std::make_shared<const CheckedBytes>(std::move(brought.logits)));
  }
  receipt.fetched = std::max(receipt.fetched, length);
  receipt.fetched_bytes += brought.bytes;
  return true;
}

// --- down ------------------------------------------------------------------------------

// Where the conversation goes on: at the deepest place, at the last prompt's end where the
// client does not repeat the answer as it was, or where the answer began, if that is asked for
// again. Where others begin: at ends of system prompts and junctions. And waypoints between them:
// near the end as memory has them (plan/placement.h, PLACE-4), each twice as far from it as the
// last, and else so far apart that together they weigh less than the rows.
std::vector<KeptPlace> ColdStates::places_worth_keeping(const tree::Match& match,
                                                        TokenSpan keys) const {
  std::vector<const tree::Stop*> places;
  const tree::Stop* last_prompt = nullptr;
  const tree::Stop* last_end = nullptr;
  for (const tree::Stop& stop : match.stops) {
    if (!stop.restorable) continue;
    if (stop.has_snapshot) places.push_back(&stop);
    if (stop.marks.has(Hint::kPromptEnd)) last_prompt = &stop;
    if (stop.marks.has(Hint::kAnswerStart)) last_end = &stop;
  }
  LogitsPtr logits;
  if (last_end != nullptr) {
    const TokenSpan prompt = keys.first(static_cast<std::size_t>(last_end->position));
    logits = core_.ends.peek(EndKey::of(match.space, prompt));
  }
  if (logits != nullptr && !last_end->has_snapshot) places = {last_end};  // there are no others
  const TokenPos end = places.empty() ? 0 : places.back()->position;
  const TokenPos sparse = sparse_distance(core_);
  std::vector<KeptPlace> kept;
  TokenPos above = 0;  // the last kept, counted from the end
  for (auto at = places.rbegin(); at != places.rend(); ++at) {
    const tree::Stop* stop = *at;
    const bool asked_again = stop == last_end && logits != nullptr;
    const bool goes_on = stop == places.back() || stop == last_prompt || asked_again;
    const bool shared = stop->marks.has(Hint::kSystemEnd) || stop->marks.has(Hint::kJunction);
    const TokenPos distance = end - stop->position;
    const bool is_grid_step =
        distance >= std::min(std::max(2 * above, core_.options.merged_chunk), above + sparse);
    if (!goes_on && !shared && !is_grid_step) continue;
    KeptPlace place;
    place.position = stop->position;
    place.snapshot = core_.memory.tree().snapshot(stop->node);
    place.marks = stop->marks;
    place.role = goes_on ? PlaceRole::kGoesOn : shared ? PlaceRole::kShared : PlaceRole::kWaypoint;
    if (stop->has_snapshot) place.bytes = core_.memory.copier.snapshot_bytes(stop->position);
    if (asked_again) place.logits = logits;
    if (asked_again) place.bytes += logits->bytes.size();
    place.needs_snapshot = stop->has_snapshot;
    kept.push_back(std::move(place));
    above = distance;
  }
  std::ranges::reverse(kept);
  return kept;
}

void ColdStates::persist(SpaceKey space, TokenSpan keys) {
  if (core_.lower == nullptr || !core_.memory.enabled() || keys.empty()) return;
  const tree::Match match = core_.memory.tree().match(space, keys);
  const tree::StateNeeds& needs = core_.memory.tree().needs();
  KeptPath path;
  path.space = space;
  path.places = places_worth_keeping(match, keys);
  const TokenPos deepest = path.places.empty() ? 0 : path.places.back().position;
  const TokenPos length = needs.snapshot ? deepest : match.covered;
  if (length == 0) return;
  path.keys.assign(keys.begin(), keys.begin() + length);
  if (needs.blocks) {
    for (const BlockUse& use : core_.memory.tree().path(match.node).rows(length)) {
      path.rows.push_back({use.block, use.range});
    }
  }
  path.bytes_per_token = needs.blocks ? core_.memory.copier.bytes_per_token() : 0;
  path.needs_places = needs.snapshot;
  core_.lower->persist(std::move(path));
}

}  // namespace holdfast::cache
