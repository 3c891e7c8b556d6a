#include "cache/start_receipt.h"

#include <algorithm>
#include <utility>

#include "plan/cuts.h"

namespace holdfast::cache {

namespace {

// Tokens quoted on either side of a difference.
constexpr TokenPos kQuoted = 24;
// A foreign state of fewer tokens is not worth a word.
constexpr TokenPos kForeignWorth = 64;

Tokens quote(TokenSpan tokens, TokenPos from) {
  const auto begin = tokens.begin() + std::min(from, length_of(tokens));
  const auto left = std::min<std::ptrdiff_t>(kQuoted, tokens.end() - begin);
  return {begin, begin + left};
}

void name_message(std::span<const MessageSpan> spans, Difference& difference) {
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (spans[i].begin > difference.position) break;
    difference.span = static_cast<int>(i);
    difference.role = spans[i].role;
    difference.message_begin = spans[i].begin;
  }
}

tree::EvictionNote note_of(const tree::NodeFacts& facts) {
  return facts.snapshot_note ? facts.snapshot_note : facts.row_note;
}

}  // namespace

// --- what is known -------------------------------------------------------------------------

void StartReceipt::describe(const StartChoice& choice) {
  const tree::Match match = seen_.match(prompt_, choice);
  const TokenPos length = length_of(prompt_.tokens);
  receipt_.prompt_tokens = length;
  receipt_.matched = match.matched;
  const LiveSlot* nearest = nullptr;  // a slot that knows more than memory does
  for (const SlotId slot : core_.slots.all()) {
    const LiveSlot& held = core_.slots[slot];
    const TokenPos agreed = planner_.common(held, prompt_, choice.match);
    if (agreed <= receipt_.matched) continue;
    receipt_.matched = agreed;
    nearest = &held;
  }
  receipt_.restorable =
      std::max(choice.plan.reused, plan::deepest_in_memory(choice.match, prompt_.cuts, length - 1,
                                                           core_.options.has_exact_prompts()));
  if (receipt_.matched > 0 && receipt_.matched < length) note_difference(match, nearest);
}

void StartReceipt::note_difference(const tree::Match& match, const LiveSlot* nearest) {
  Difference difference;
  difference.position = receipt_.matched;
  difference.sent = quote(prompt_.tokens, receipt_.matched);
  if (nearest != nullptr) {
    difference.known = quote(nearest->tokens, receipt_.matched);
  } else if (match.node) {
    difference.known = seen_.continuation(match, kQuoted);
  }
  if (difference.known.empty()) return;  // the prompt goes on where the other ended
  name_message(prompt_.spans, difference);
  if (const PromptSection* section = section_at(prompt_.sections, difference.position)) {
    difference.section = *section;
  }
  receipt_.difference = std::move(difference);
}

// --- what was done -------------------------------------------------------------------------

void StartReceipt::conclude(const StartChoice& choice, bool planned_around) {
  receipt_.slot = choice.plan.slot;
  receipt_.source = choice.plan.source;
  receipt_.restored = choice.plan.reused;
  receipt_.restorable = std::max(receipt_.restorable, receipt_.restored);
  receipt_.missing = missing(planned_around);
  name_foreign();
  receipt_.saved_ms = core_.costs.ms_per_token() * receipt_.restored;
}

// Why fewer tokens were restored than are known.
Missing StartReceipt::missing(bool planned_around) const {
  const TokenPos known = std::min(receipt_.matched, length_of(prompt_.tokens) - 1);
  if (receipt_.restored >= known) return {};
  Missing missing;
  missing.position = plan::floor_of(prompt_.cuts, known);
  if (!prompt_.reuse) {
    missing.why = MissReason::kReuseOff;
    return missing;
  }
  if (receipt_.restored >= missing.position) {
    missing.why = MissReason::kGrid;
    missing.position = known;
    return missing;
  }
  if (!core_.memory.enabled() && !core_.memory.budget.retired()) {
    missing.why = MissReason::kCacheOff;
    return missing;
  }
  const tree::Match match = core_.memory.tree().match(prompt_.space, prompt_.keys);
  if (const tree::Stop* stop = deepest_evicted(match, known)) return why_evicted(*stop);
  missing.why = planned_around ? MissReason::kDeclined : MissReason::kNeverTaken;
  return missing;
}

// The deepest place on the way that once had what was needed.
const tree::Stop* StartReceipt::deepest_evicted(const tree::Match& match, TokenPos known) const {
  for (auto stop = match.stops.rbegin(); stop != match.stops.rend(); ++stop) {
    if (stop->position <= receipt_.restored) break;
    if (stop->position <= known && note_of(core_.memory.tree().facts(stop->node))) return &*stop;
  }
  return nullptr;
}

Missing StartReceipt::why_evicted(const tree::Stop& stop) const {
  const tree::EvictionNote note = note_of(core_.memory.tree().facts(stop.node));
  const bool damaged =
      note.reason == tree::EvictReason::kCorrupt || note.reason == tree::EvictReason::kDisproved;
  Missing missing;
  missing.why = damaged ? MissReason::kDamaged : MissReason::kEvicted;
  missing.position = stop.position;
  missing.evicted = note;
  missing.evicted_ago_ms = static_cast<double>(core_.now - std::min(note.when, core_.now));
  if (!damaged && note.reason != tree::EvictReason::kCleared)
    missing.kept_with = core_.memory.room.kept_with(note.when);
  return missing;
}

// What this server has seen of a prompt is often no more than the opening that all prompts share.
// Where the folder holds more of it, of another engine's making, that is why it is read, and not
// where it parts from some other prompt. Of two reasons the one for more tokens is named.
void StartReceipt::name_foreign() {
  const bool asked =
      core_.options.names_foreign && core_.lower != nullptr && core_.memory.enabled();
  if (!asked || !prompt_.reuse) return;
  const TokenPos limit = length_of(prompt_.tokens) - 1;
  const TokenPos restored = receipt_.restored;
  const TokenPos known = std::max(restored, std::min(receipt_.matched, limit));
  if (limit - restored < kForeignWorth || known == limit) return;
  ForeignMatch found = core_.lower->foreign({receipt_.tenant, prompt_.tokens, prompt_.cuts});
  const TokenPos agreed = found.made_by.empty() ? 0 : std::min(found.agreed, limit);
  if (agreed - restored < kForeignWorth || agreed - known < known - restored) return;
  receipt_.missing = {.why = MissReason::kForeign,
                      .position = agreed,
                      .made_by = std::move(found.made_by),
                      .flags = std::move(found.flags)};
}

}  // namespace holdfast::cache
