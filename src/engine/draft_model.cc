#include "engine/draft_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace holdfast::engine {

namespace {

// Restoring rows replaces the slot's whole state. If it gains fewer tokens than this, reading them
// is as quick.
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

// The likeliest token, and whether it reaches the least probability.
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

// How much of a point in memory can be restored.
struct Restorable {
  TokenPos length = 0;
  std::size_t rows = 0;  // how many of the point's views
};

Restorable restorable(const Engine& engine, const CompanionPoint& point) {
  const StateShape& parts = engine.shape();
  const TokenPos all = length_of(point.tokens);
  const TokenPos fitting = std::min(all, engine.context_tokens());
  Restorable from;
  for (const RowsView& view : point.rows) {
    if (view.begin != from.length || view.bytes.empty() || from.length >= fitting) break;
    from.length = view.end;
    ++from.rows;
  }
  from.length = std::min(from.length, fitting);
  if (parts.find(PartKind::kExtent) == nullptr) from = {.length = fitting, .rows = 0};
  const bool needs_place = !parts.truncates_anywhere();
  if (needs_place && (point.place.bytes.empty() || from.length < all)) return {};
  return from;
}

RestorePoint restore_point(const Engine& engine, const CompanionPoint& point,
                           const Restorable& from) {
  RestorePoint to{.tokens = point.tokens.first(static_cast<std::size_t>(from.length)),
                  .rows = point.rows.first(from.rows),
                  .snapshot = {}};
  if (!engine.shape().truncates_anywhere()) {
    to.snapshot =
        SavedStateView(SaveScope::kSnapshot, from.length, point.place.checksum, point.place.bytes);
  }
  return to;
}

const char* why_missing(const Engine& engine, const ShadowTokens& mine,
                        const CompanionPoint& point) {
  if (mine.behind() == 0) return nullptr;
  if (length_of(point.tokens) > engine.context_tokens()) return "its context is smaller";
  if (!engine.shape().truncates_anywhere() && point.place.bytes.empty()) {
    return "no state of it was kept at this place";
  }
  return "its rows were not kept as far as this";
}

}  // namespace

DraftModel::DraftModel(Engine& engine, DraftModelOptions options)
    : engine_(engine), options_(options), shape_(companion_shape(engine.shape())) {
  for (int i = 0; i < engine.slot_count(); ++i) shadows_.emplace_back(engine, SlotId{i}, failures_);
}

DraftShadow& DraftModel::shadow(SlotId slot) {
  CHECK(slot.value >= 0 && slot.value < static_cast<int>(shadows_.size()));
  return shadows_[static_cast<std::size_t>(slot.value)];
}

// --- following ---------------------------------------------------------------------

Followed DraftModel::follow(SlotId slot, const CompanionPoint& point) noexcept {
  DraftShadow& mine = shadow(slot);
  try {
    mine.tell_all(point.tokens);
    const Restorable from = restorable(engine_, point);
    const TokenPos gained = from.length - mine.held_after_settling();
    if (gained >= kWorthRestoring || (gained > 0 && !engine_.shape().truncates_anywhere())) {
      mine.wake();
      if (mine.restore(restore_point(engine_, point, from))) {
        return {from.length, from.length, why_missing(engine_, mine.tokens(), point)};
      }
      return {.missing = "what memory held of it was refused"};
    }
    mine.settle();
    mine.wake();  // also when its way back was damaged: it starts over
    return {.held = mine.tokens().held, .missing = why_missing(engine_, mine.tokens(), point)};
  } catch (...) {
    mine.fail();
    return {.missing = "it failed"};
  }
}

// A prompt is read along in whole chunks. An answer is told token by token, and read when the next
// draft is asked for.
void DraftModel::advance(SlotId slot, TokenSpan kept, TokenPos) noexcept {
  DraftShadow& mine = shadow(slot);
  try {
    mine.tell(kept);
    const TokenPos chunk = engine_.chunk_tokens_max();
    if (mine.resting() || mine.tokens().behind() < chunk) return;
    mine.settle();
    const TokenPos chunks = std::min(mine.tokens().behind(), length_of(kept) + chunk - 1) / chunk;
    if (!mine.resting()) mine.read_to(mine.tokens().held + chunks * chunk);
  } catch (...) {
    mine.fail();
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
      shadow(wish.slot).fail();
    }
  }
}

// The wishes that can be answered, ascending by slot, at most one for each slot.
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
    const ShadowTokens& mine = shadow(draft.wish->slot).tokens();
    draft.pass.assign(mine.told.begin() + mine.held, mine.told.end());
    draft.pass.push_back(draft.wish->next);
  }
  return drafts;
}

// Whether the slot is near enough that one pass with `next` computes everything it misses.
bool DraftModel::catch_up(DraftWish& wish) {
  DraftShadow& mine = shadow(wish.slot);
  const ShadowTokens& tokens = mine.tokens();
  if (mine.resting() || length_of(tokens.told) >= engine_.context_tokens()) return false;
  mine.settle();
  if (mine.resting()) return false;
  if (tokens.behind() > options_.catch_up_tokens) {
    mine.read_to(tokens.held + options_.catch_up_tokens);
    wish.behind = true;
    return false;
  }
  const TokenPos in_pass = std::min(tokens.behind(), engine_.chunk_tokens_max() - 1);
  return mine.read_to(length_of(tokens.told) - in_pass);
}

// Slots that have nothing but `next` to compute share one batch. So do neighbouring slots that miss
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
    return shadow(draft.wish->slot).fail();
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
    shadow(draft->wish->slot).fail();
  }
}

// Called after a pass: its tokens are in the engine, and the logits of the last one give the guess.
void DraftModel::take_guess(Drafting& draft, TokenPos row) {
  DraftWish& wish = *draft.wish;
  DraftShadow& mine = shadow(wish.slot);
  mine.note_computed_ahead(draft.pass.back());
  const Guess guess = best_guess(engine_.logits(wish.slot, row), wish.least_probability);
  draft.pass.assign(1, guess.token);
  if (guess.likely) wish.draft.push_back(guess.token);
  draft.done = !guess.likely || length_of(wish.draft) >= wish.most ||
               engine_.length(wish.slot) >= engine_.context_tokens() || !mine.has_way_back();
}

// --- saving --------------------------------------------------------------------------

CompanionSaved DraftModel::save(SlotId slot, std::span<const TokenRange> blocks,
                                TokenPos length) noexcept {
  DraftShadow& mine = shadow(slot);
  const ShadowTokens& tokens = mine.tokens();
  try {
    const bool wants_all = !engine_.shape().truncates_anywhere() ||
                           (!blocks.empty() && blocks.back().end > tokens.held);
    if (wants_all && !mine.resting()) {
      mine.settle();
      if (!mine.resting() && tokens.behind() <= engine_.chunk_tokens_max()) {
        mine.read_to(length_of(tokens.told));
      }
    }
    return {.rows = saved_rows(slot, blocks), .place = saved_place(slot, length)};
  } catch (...) {
    mine.fail();
    return {};
  }
}

std::vector<CheckedBytes> DraftModel::saved_rows(SlotId slot, std::span<const TokenRange> blocks) {
  std::vector<CheckedBytes> all(blocks.size());
  if (engine_.shape().find(PartKind::kExtent) == nullptr) return all;
  const TokenPos held = shadow(slot).tokens().held;
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

// Only if the engine holds exactly the primary's tokens.
CheckedBytes DraftModel::saved_place(SlotId slot, TokenPos length) {
  const ShadowTokens& mine = shadow(slot).tokens();
  const bool exact = mine.held > 0 && mine.held == length && mine.behind() == 0 &&
                     engine_.length(slot) == mine.held;
  if (engine_.shape().truncates_anywhere() || !exact) return {};
  auto saved = engine_.save(slot, SaveScope::kSnapshot);
  if (!saved) {
    ++failures_;
    return {};
  }
  return {std::move(saved->bytes), saved->checksum};
}

std::vector<std::string> DraftModel::check() const {
  std::vector<std::string> violations;
  for (const DraftShadow& one : shadows_) one.check(violations);
  for (const std::string& violation : engine_.check()) violations.push_back(violation);
  return violations;
}

}  // namespace holdfast::engine
