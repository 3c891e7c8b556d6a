#include "engine/draft_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace holdfast::engine {

namespace {

// Bringing rows back replaces the slot's whole state; to gain less than this many
// tokens, reading them is as quick.
constexpr TokenPos kWorthRestoring = kBlockTokens;

CompanionShape companion_shape(const StateShape& state) {
  CompanionShape shape;
  if (const Part* extent = state.find(PartKind::kExtent)) {
    shape.bytes_per_token = extent->bytes_per_token;
  }
  shape.bytes_per_place = state.bytes_per_snapshot();
  if (const Part* window = state.find(PartKind::kWindow)) {
    shape.bytes_per_place += window->bytes_per_token * static_cast<ByteCount>(window->window);
  }
  return shape;
}

struct Guess {
  Token token = 0;
  bool likely = false;
};

// The likeliest token, and whether it is as likely as wished.
Guess best_guess(std::span<const float> logits, float least_probability) {
  if (logits.empty()) return {};
  const auto best = std::ranges::max_element(logits);
  Guess guess{.token = static_cast<Token>(best - logits.begin()), .likely = true};
  if (least_probability <= 0.0F) return guess;
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(logit - *best);
  guess.likely = 1.0 / sum >= static_cast<double>(least_probability);
  return guess;
}

}  // namespace

DraftModel::DraftModel(Engine& engine, DraftModelOptions options)
    : engine_(engine),
      options_(options),
      shape_(companion_shape(engine.shape())),
      shadows_(static_cast<std::size_t>(engine.slot_count())) {}

DraftModel::Shadow& DraftModel::shadow(SlotId slot) {
  CHECK(slot.value >= 0 && slot.value < static_cast<int>(shadows_.size()));
  return shadows_[static_cast<std::size_t>(slot.value)];
}

// --- what is known of a slot -------------------------------------------------------

// What was computed ahead and turned out so is held now.
void DraftModel::Shadow::tell(TokenSpan more) {
  told.insert(told.end(), more.begin(), more.end());
  const TokenPos right = common_prefix(ahead, more);
  held += right;
  if (right == length_of(more)) {
    ahead.erase(ahead.begin(), ahead.begin() + right);
  } else {
    keep_at_most(held);
  }
}

void DraftModel::Shadow::keep_at_most(TokenPos length) {
  held = std::min(held, length);
  ahead.clear();
  if (way_back && way_back->length > held) way_back.reset();
}

void DraftModel::forget(SlotId slot) noexcept {
  Shadow& mine = shadow(slot);
  mine.held = 0;
  mine.ahead.clear();
  mine.way_back.reset();
  try {
    engine_.clear(slot);
  } catch (...) {
    ++failures_;
  }
}

void DraftModel::fail(SlotId slot) noexcept {
  ++failures_;
  forget(slot);
  shadow(slot).resting = true;
}

// --- going back and forth ----------------------------------------------------------

TokenPos DraftModel::held_after_settling(SlotId slot) {
  const Shadow& mine = shadow(slot);
  if (engine_.can_cut(slot, mine.held)) return mine.held;
  return mine.way_back && mine.way_back->length <= mine.held ? mine.way_back->length : 0;
}

// Leaves the engine with nothing but what is held.
void DraftModel::settle(SlotId slot) {
  Shadow& mine = shadow(slot);
  mine.keep_at_most(mine.held);
  if (engine_.length(slot) == mine.held) return;
  if (engine_.cut(slot, mine.held) == CutAnswer::kDone) return;
  if (!mine.way_back) return forget(slot);
  mine.held = mine.way_back->length;
  if (!engine_.load(slot, *mine.way_back)) fail(slot);
}

// Reads tokens that were told, up to `end`. REQUIRES: a settled slot.
bool DraftModel::read_to(SlotId slot, TokenPos end) {
  Shadow& mine = shadow(slot);
  if (end > engine_.context_tokens()) return false;
  while (mine.held < end) {
    const TokenPos count = std::min(end - mine.held, engine_.chunk_tokens_max());
    const TokenSpan chunk = TokenSpan(mine.told).subspan(static_cast<std::size_t>(mine.held),
                                                         static_cast<std::size_t>(count));
    if (!engine_.prefill(slot, chunk, LogitsOf::kNone)) {
      fail(slot);
      return false;
    }
    mine.held += count;
  }
  return true;
}

DraftModel::Restorable DraftModel::restorable(const CompanionPoint& point) const {
  const StateShape& parts = engine_.shape();
  const TokenPos all = length_of(point.tokens);
  const TokenPos fitting = std::min(all, engine_.context_tokens());
  Restorable from;
  for (const RowsView& view : point.rows) {
    if (view.begin != from.length || view.bytes.empty() || from.length >= fitting) break;
    from.length = view.end;
    ++from.rows;
  }
  from.length = std::min(from.length, fitting);
  if (parts.find(PartKind::kExtent) == nullptr) from = {.length = fitting, .rows = 0};
  const bool needs_place = !parts.cuts_anywhere();
  if (needs_place && (point.place.bytes.empty() || from.length < all)) return {};
  return from;
}

bool DraftModel::restore(SlotId slot, const CompanionPoint& point, const Restorable& from) {
  forget(slot);
  RestorePoint to{.tokens = point.tokens.first(static_cast<std::size_t>(from.length)),
                  .rows = point.rows.first(from.rows),
                  .snapshot = {}};
  if (!engine_.shape().cuts_anywhere()) {
    to.snapshot =
        SavedStateView(SaveScope::kSnapshot, from.length, point.place.checksum, point.place.bytes);
  }
  if (!engine_.restore(slot, to)) {
    ++failures_;
    forget(slot);
    return false;
  }
  shadow(slot).held = from.length;
  return true;
}

const char* DraftModel::why_missing(SlotId slot, const CompanionPoint& point) const {
  if (shadows_[static_cast<std::size_t>(slot.value)].behind() == 0) return nullptr;
  if (length_of(point.tokens) > engine_.context_tokens()) return "its context is smaller";
  if (!engine_.shape().cuts_anywhere() && point.place.bytes.empty()) {
    return "no state of it was kept at this place";
  }
  return "its rows were not kept as far as this";
}

Followed DraftModel::follow(SlotId slot, const CompanionPoint& point) noexcept {
  Shadow& mine = shadow(slot);
  try {
    const TokenPos common = common_prefix(mine.told, point.tokens);
    if (common < length_of(mine.told)) {
      mine.keep_at_most(common);
      mine.told.resize(static_cast<std::size_t>(common));
    }
    mine.tell(point.tokens.subspan(static_cast<std::size_t>(common)));

    const Restorable from = restorable(point);
    const TokenPos gained = from.length - held_after_settling(slot);
    if (gained >= kWorthRestoring || (gained > 0 && !engine_.shape().cuts_anywhere())) {
      mine.resting = false;
      if (restore(slot, point, from)) {
        return {from.length, from.length, why_missing(slot, point)};
      }
      return {.missing = "what memory held of it was refused"};
    }
    settle(slot);
    mine.resting = false;  // also when its way back was damaged: it starts over
    return {.held = mine.held, .missing = why_missing(slot, point)};
  } catch (...) {
    fail(slot);
    return {.missing = "it failed"};
  }
}

// A prompt is read along in whole chunks; an answer is told token by token, and read
// when the next draft is wished for.
void DraftModel::advance(SlotId slot, TokenSpan kept, TokenPos) noexcept {
  Shadow& mine = shadow(slot);
  try {
    mine.tell(kept);
    const TokenPos chunk = engine_.chunk_tokens_max();
    if (mine.resting || mine.behind() < chunk) return;
    settle(slot);
    const TokenPos chunks = std::min(mine.behind(), length_of(kept) + chunk - 1) / chunk;
    if (!mine.resting) read_to(slot, mine.held + chunks * chunk);
  } catch (...) {
    fail(slot);
  }
}

// --- drafting ------------------------------------------------------------------------

void DraftModel::draft(std::span<DraftWish> wishes) noexcept {
  try {
    auto drafts = begin_drafts(wishes);
    first_passes(drafts);
    for (;;) {
      std::vector<Drafting*> going;
      for (Drafting& draft : drafts) {
        if (!draft.done) going.push_back(&draft);
      }
      if (going.empty()) return;
      decode_pass(going);
    }
  } catch (...) {
    for (DraftWish& wish : wishes) {
      wish.draft.clear();
      fail(wish.slot);
    }
  }
}

// Those wishes that can be granted, by slot. A slot has one.
std::vector<DraftModel::Drafting> DraftModel::begin_drafts(std::span<DraftWish> wishes) {
  std::vector<Drafting> drafts;
  for (DraftWish& wish : wishes) {
    wish.draft.clear();
    if (wish.most >= 1 && catch_up(wish)) drafts.push_back({.wish = &wish});
  }
  const auto slot_of = [](const Drafting& draft) { return draft.wish->slot; };
  std::ranges::sort(drafts, {}, slot_of);
  const auto again = std::ranges::unique(drafts, {}, slot_of);
  drafts.erase(again.begin(), again.end());
  for (Drafting& draft : drafts) {
    const Shadow& mine = shadow(draft.wish->slot);
    draft.pass.assign(mine.told.begin() + mine.held, mine.told.end());
    draft.pass.push_back(draft.wish->next);
  }
  return drafts;
}

// Whether the slot is so near that one pass with `next` brings it up.
bool DraftModel::catch_up(DraftWish& wish) {
  Shadow& mine = shadow(wish.slot);
  if (mine.resting || length_of(mine.told) >= engine_.context_tokens()) return false;
  settle(wish.slot);
  if (mine.resting) return false;
  if (mine.behind() > options_.catch_up_tokens) {
    read_to(wish.slot, mine.held + options_.catch_up_tokens);
    wish.behind = true;
    return false;
  }
  const TokenPos in_pass = std::min(mine.behind(), engine_.chunk_tokens_max() - 1);
  return read_to(wish.slot, length_of(mine.told) - in_pass);
}

// Slots with nothing but `next` to compute share one batch; so do neighbours that miss
// equally many tokens.
void DraftModel::first_passes(std::span<Drafting> drafts) {
  std::vector<Drafting*> single;
  for (auto it = drafts.begin(); it != drafts.end();) {
    if (it->pass.size() == 1) {
      single.push_back(&*it++);
      continue;
    }
    std::vector<Drafting*> group{&*it++};
    const auto joins = [&](const Drafting& next) {
      return next.pass.size() == group.front()->pass.size() &&
             next.wish->slot.value == group.back()->wish->slot.value + 1 &&
             length_of(next.pass) <= engine_.decode_tokens_max();
    };
    while (it != drafts.end() && joins(*it)) group.push_back(&*it++);
    if (group.size() == 1) {
      prefill_pass(*group.front());
    } else {
      decode_pass(group);
    }
  }
  if (!single.empty()) decode_pass(single);
}

void DraftModel::prefill_pass(Drafting& draft) {
  if (!engine_.prefill(draft.wish->slot, draft.pass, LogitsOf::kLastToken)) {
    draft.wish->draft.clear();
    draft.done = true;
    return fail(draft.wish->slot);
  }
  take_guess(draft, 0);
}

void DraftModel::decode_pass(std::span<Drafting* const> drafts) {
  std::vector<DecodeStep> steps;
  for (const Drafting* draft : drafts) steps.push_back({draft->wish->slot, draft->pass});
  const bool computed = engine_.decode(steps).ok();
  for (Drafting* draft : drafts) {
    if (computed) {
      take_guess(*draft, length_of(draft->pass) - 1);
      continue;
    }
    draft->wish->draft.clear();
    draft->done = true;
    fail(draft->wish->slot);
  }
}

// After a pass: its tokens are in the engine, and the last one's logits say what may
// follow.
void DraftModel::take_guess(Drafting& draft, TokenPos row) {
  DraftWish& wish = *draft.wish;
  Shadow& mine = shadow(wish.slot);
  mine.ahead.push_back(draft.pass.back());
  mine.held = length_of(mine.told);
  const Guess guess = best_guess(engine_.logits(wish.slot, row), wish.least_probability);
  draft.pass.assign(1, guess.token);
  if (guess.likely) wish.draft.push_back(guess.token);
  draft.done = !guess.likely || length_of(wish.draft) >= wish.most ||
               engine_.length(wish.slot) >= engine_.context_tokens() || !has_way_back(wish.slot);
}

// Before the first guess is computed. That the primary keeps `next` is as good as
// certain, so the way back leads to the place after it.
bool DraftModel::has_way_back(SlotId slot) {
  Shadow& mine = shadow(slot);
  const StateShape& parts = engine_.shape();
  const bool cuts = parts.cuts_anywhere() ||
                    (parts.find(PartKind::kSnapshot) == nullptr && engine_.can_take_back(1));
  if (cuts || mine.ahead.size() > 1) return true;
  auto saved = engine_.save(slot, SaveScope::kSnapshot);
  if (!saved) {
    ++failures_;
    return false;
  }
  mine.way_back = std::move(*saved);
  return true;
}

// --- saving --------------------------------------------------------------------------

CompanionSaved DraftModel::save(SlotId slot, std::span<const TokenRange> blocks,
                                TokenPos length) noexcept {
  Shadow& mine = shadow(slot);
  try {
    const bool wants_all =
        !engine_.shape().cuts_anywhere() || (!blocks.empty() && blocks.back().end > mine.held);
    if (wants_all && !mine.resting) {
      settle(slot);
      if (!mine.resting && mine.behind() <= engine_.chunk_tokens_max()) {
        read_to(slot, length_of(mine.told));
      }
    }
    return {.rows = saved_rows(slot, blocks), .place = saved_place(slot, length)};
  } catch (...) {
    fail(slot);
    return {};
  }
}

std::vector<CheckedBytes> DraftModel::saved_rows(SlotId slot, std::span<const TokenRange> blocks) {
  std::vector<CheckedBytes> all(blocks.size());
  if (engine_.shape().find(PartKind::kExtent) == nullptr) return all;
  const TokenPos held = shadow(slot).held;
  const auto beyond = std::ranges::find_if(blocks, [&](TokenRange b) { return b.end > held; });
  const auto within = blocks.first(static_cast<std::size_t>(beyond - blocks.begin()));
  if (within.empty()) return all;
  auto rows = engine_.save_rows(slot, within);
  if (!rows) {
    ++failures_;
    return all;
  }
  for (std::size_t i = 0; i < std::min(rows->size(), all.size()); ++i) {
    all[i] = {std::move((*rows)[i].bytes), (*rows)[i].checksum};
  }
  return all;
}

// Only where the engine stands exactly where the primary does.
CheckedBytes DraftModel::saved_place(SlotId slot, TokenPos length) {
  const Shadow& mine = shadow(slot);
  const bool exact = mine.held > 0 && mine.held == length && mine.behind() == 0 &&
                     engine_.length(slot) == mine.held;
  if (engine_.shape().cuts_anywhere() || !exact) return {};
  auto saved = engine_.save(slot, SaveScope::kSnapshot);
  if (!saved) {
    ++failures_;
    return {};
  }
  return {std::move(saved->bytes), saved->checksum};
}

std::vector<std::string> DraftModel::check() const {
  std::vector<std::string> violations;
  for (std::size_t i = 0; i < shadows_.size(); ++i) {
    const Shadow& mine = shadows_[i];
    const TokenPos length = engine_.length(SlotId{static_cast<int>(i)});
    const TokenPos ahead = length_of(mine.ahead);
    const std::string name = "slot " + std::to_string(i);
    if (mine.held < 0 || mine.behind() < 0 || mine.held > length) {
      violations.push_back("M1: " + name + " holds another number of tokens");
    }
    if (ahead > 0 && (mine.behind() != 0 || length != mine.held + ahead)) {
      violations.push_back("M2: " + name + " is not ahead");
    }
    if (mine.way_back && mine.way_back->length > mine.held + ahead) {
      violations.push_back("M3: " + name + " has a way back to nowhere");
    }
  }
  for (const std::string& violation : engine_.check()) violations.push_back("M4: " + violation);
  return violations;
}

}  // namespace holdfast::engine
