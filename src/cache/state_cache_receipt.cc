// What a receipt says of a beginning (H9): printed from the plan and the tree.
#include <algorithm>

#include "cache/state_cache.h"
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
    difference.message = static_cast<int>(i);
    difference.role = spans[i].role;
    difference.message_begin = spans[i].begin;
  }
}

}  // namespace

void StateCache::describe_match(const Prompt& prompt, const StartChoice& outlook,
                                Receipt& receipt) const {
  const tree::Match match = seen_ ? seen_->match(prompt.space, prompt.tokens) : outlook.match;
  const TokenPos length = length_of(prompt.tokens);
  receipt.prompt_tokens = length;
  receipt.matched = match.matched;
  const LiveSlot* nearest = nullptr;  // a slot that knows more than memory does
  for (const SlotId slot : core_.slots.all()) {
    const LiveSlot& held = core_.slots[slot];
    const TokenPos agreed = common(held, prompt, outlook.match);
    if (agreed <= receipt.matched) continue;
    receipt.matched = agreed;
    nearest = &held;
  }
  const TokenPos limit = length - 1;
  receipt.restorable = std::max(
      outlook.plan.keep,
      plan::deepest_in_memory(outlook.match, prompt.cuts, limit, core_.options.deterministic));
  if (receipt.matched == 0 || receipt.matched == length) return;
  Difference difference;
  difference.position = receipt.matched;
  difference.sent = quote(prompt.tokens, receipt.matched);
  if (nearest != nullptr) {
    difference.known = quote(nearest->tokens, receipt.matched);
  } else if (match.node) {
    difference.known = seen().continuation(match.node, match.matched, kQuoted);
  }
  if (difference.known.empty()) return;  // the prompt goes on where the other ended
  name_message(prompt.spans, difference);
  receipt.difference = std::move(difference);
}

// Why fewer tokens were restored than are known.
Missing StateCache::missing(const Prompt& prompt, const Receipt& receipt, bool refused) const {
  const TokenPos known = std::min(receipt.matched, length_of(prompt.tokens) - 1);
  Missing missing;
  if (receipt.restored >= known) return missing;
  missing.position = plan::floor_of(prompt.cuts, known);
  if (!prompt.reuse) {
    missing.why = MissReason::kReuseOff;
    return missing;
  }
  if (receipt.restored >= missing.position) {
    missing.why = MissReason::kGrid;
    missing.position = known;
    return missing;
  }
  if (!core_.memory.enabled() && !core_.memory.retired()) {
    missing.why = MissReason::kCacheOff;
    return missing;
  }
  // The deepest place on the way that once had what was needed.
  const tree::Match match = core_.memory.match(prompt.space, prompt.keys);
  for (auto stop = match.stops.rbegin(); stop != match.stops.rend(); ++stop) {
    if (stop->position <= receipt.restored) break;
    if (stop->position > known) continue;
    const tree::NodeFacts facts = core_.memory.tree().facts(stop->node);
    const tree::EvictionNote note = facts.snapshot_note ? facts.snapshot_note : facts.row_note;
    if (!note) continue;
    const bool damaged =
        note.reason == tree::EvictReason::kCorrupt || note.reason == tree::EvictReason::kDisproved;
    missing.why = damaged ? MissReason::kDamaged : MissReason::kEvicted;
    missing.position = stop->position;
    missing.evicted = note;
    missing.evicted_ago_ms = static_cast<double>(core_.now - std::min(note.when, core_.now));
    return missing;
  }
  missing.why = refused ? MissReason::kDeclined : MissReason::kNeverTaken;
  return missing;
}

// What this server has seen of a prompt is often no more than the opening that all prompts share.
// Where the folder holds more of it, of another engine's making, that is why it is read, and not
// where it parts from some other prompt. Of two reasons the one for more tokens is named.
void StateCache::name_foreign(const Prompt& prompt, Receipt& receipt) const {
  const bool asked =
      core_.options.names_foreign && core_.lower != nullptr && core_.memory.enabled();
  if (!asked || !prompt.reuse) return;
  const TokenPos limit = length_of(prompt.tokens) - 1;
  const TokenPos known = std::max(receipt.restored, std::min(receipt.matched, limit));
  if (limit - receipt.restored < kForeignWorth || known == limit) return;
  ForeignMatch found = core_.lower->foreign({receipt.tenant, prompt.tokens, prompt.cuts});
  const TokenPos agreed = found.made_by.empty() ? 0 : std::min(found.agreed, limit);
  if (agreed - receipt.restored < kForeignWorth || agreed - known < known - receipt.restored) {
    return;
  }
  receipt.missing = {.why = MissReason::kForeign,
                     .position = agreed,
                     .made_by = std::move(found.made_by),
                     .flags = std::move(found.flags)};
}

}  // namespace holdfast::cache
