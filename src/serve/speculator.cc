#include "serve/speculator.h"

#include <algorithm>
#include <map>
#include <utility>

namespace holdfast {

Speculator::Speculator(Engine& engine, Companion* companion, int vocabulary, TokenPos fixed,
                       const Clock& clock)
    : engine_(engine),
      companion_(companion),
      vocabulary_(vocabulary),
      fixed_(fixed),
      clock_(clock) {}

// --- before a step ------------------------------------------------------------

void Speculator::propose(std::span<Slot* const> slots) {
  if (companion_ == nullptr) return;
  make_wishes(slots);
  if (wishes_.empty()) return;
  const auto before = clock_.now();
  companion_->draft(wishes_);
  TokenPos drafted = 0;
  bool behind = false;
  for (DraftWish& wish : wishes_) {
    const auto owner = std::ranges::find(slots, wish.slot, &Slot::id);
    Job& job = *(*owner)->job;
    job.draft = std::move(wish.draft);
    drafted += length_of(job.draft);
    behind = behind || wish.behind;
    make_sound(job, wish.most);
  }
  if (!behind) costs_.note_draft(drafted, ms_between(before, clock_.now()));
  if (drafted > 0) join_batches(slots);
  for (Slot* slot : slots) save_before(*slot);
}

// Drafts of different length are different batches, and each batch has a price of its
// own. So those whose length is chosen here are drafted equally long, or not at all.
void Speculator::make_wishes(std::span<Slot* const> slots) {
  wishes_.clear();
  const bool must_measure =
      fixed_ == 0 && costs_.wants_step_of(static_cast<TokenPos>(slots.size()));
  TokenPos all_want = DraftCosts::kRowsMax;
  for (Slot* slot : slots) {
    const TokenPos most = wanted(*slot, slots, must_measure);
    const Job& job = *slot->job;
    if (chosen_here(job)) all_want = std::min(all_want, most);
    if (most > 0) wishes_.push_back({slot->id, job.pending.back(), most, job.request.draft.p_min});
  }
  for (DraftWish& wish : wishes_) {
    const auto owner = std::ranges::find(slots, wish.slot, &Slot::id);
    if (chosen_here(*(*owner)->job)) wish.most = std::min(wish.most, all_want);
  }
  std::erase_if(wishes_, [](const DraftWish& wish) { return wish.most <= 0; });
}

bool Speculator::chosen_here(const Job& job) const {
  return fixed_ == 0 && job.request.draft.adaptive && job.request.draft.max > 0;
}

// Fills shorter drafts up where one batch is cheaper than several.
void Speculator::join_batches(std::span<Slot* const> slots) {
  std::map<TokenPos, TokenPos> slots_by_rows;
  for (const Slot* slot : slots) {
    ++slots_by_rows[length_of(slot->job->pending) + length_of(slot->job->draft)];
  }
  if (slots_by_rows.size() < 2) return;
  const TokenPos longest = slots_by_rows.rbegin()->first;
  double apart_ms = 0.0;
  for (const auto& [rows, count] : slots_by_rows) apart_ms += costs_.ms_for_rows(rows * count);
  const auto all = static_cast<TokenPos>(slots.size());
  if (costs_.ms_for_rows(longest * all) >= apart_ms) return;
  for (const Slot* slot : slots) {
    if (limit(*slot) + length_of(slot->job->pending) < longest) return;
  }
  for (Slot* slot : slots) {
    Job& job = *slot->job;
    const auto wanted_rows = static_cast<std::size_t>(longest) - job.pending.size();
    job.draft.resize(wanted_rows, job.pending.back());
  }
}

// Tokens that a draft may have: what the engine takes in one step, the context still
// holds, the request allows, and the answer may still get.
TokenPos Speculator::limit(const Slot& slot) const {
  const Job& job = *slot.job;
  const TokenPos waiting = length_of(job.pending);
  TokenPos most =
      std::min(engine_.decode_tokens_max(), engine_.context_tokens() - engine_.length(slot.id)) -
      waiting;
  if (fixed_ > 0) return std::clamp(1 + fixed_ - waiting, 0, std::max(most, 0));
  most = std::min(most, job.request.draft.max);
  if (job.request.max_tokens > 0) {
    most = std::min(most, job.request.max_tokens - job.timings.predicted_tokens - 1);
  }
  return std::max(most, 0);
}

TokenPos Speculator::wanted(Slot& slot, std::span<Slot* const> slots, bool must_measure) {
  const TokenPos most = limit(slot);
  Job& job = *slot.job;
  if (most == 0 || !chosen_here(job)) return most;
  if (!job.draft_length) job.draft_length.emplace(acceptance_, costs_);
  BatchOthers others;
  for (const Slot* other : slots) {
    if (other == &slot) continue;
    others.rows += length_of(other->job->pending) + other->job->last_draft;
    others.tokens += other->job->last_yield;
  }
  const TokenPos best = job.draft_length->choose(most, others);
  return must_measure ? 0 : best;
}

// Whatever a companion says, the engine gets tokens of its vocabulary, and not too many.
void Speculator::make_sound(Job& job, TokenPos most) const {
  Tokens& draft = job.draft;
  if (length_of(draft) > most) draft.resize(static_cast<std::size_t>(most));
  const auto known = [&](Token token) { return token >= 0 && token < vocabulary_; };
  draft.erase(std::ranges::find_if_not(draft, known), draft.end());
  if (length_of(draft) < job.request.draft.min) draft.clear();
  job.proposed = length_of(draft);
  if (fixed_ > 0) {
    draft.resize(static_cast<std::size_t>(most), job.pending.back());
  }
}

// A state that cannot be cut is brought back from here. One that was brought back there
// before is still the same.
void Speculator::save_before(Slot& slot) {
  Job& job = *slot.job;
  if (job.draft.empty() || engine_.can_take_back(length_of(job.draft))) {
    job.before.reset();
    return;
  }
  if (job.before && job.before->length == engine_.length(slot.id)) return;
  const auto before = clock_.now();
  auto saved = engine_.save(slot.id, SaveScope::kSnapshot);
  if (!saved) {
    job.before.reset();
    job.draft.clear();
    return;
  }
  job.before = std::move(*saved);
  costs_.note_fixed(ms_between(before, clock_.now()));
}

// --- after it -------------------------------------------------------------------

void Speculator::note_step(std::span<Slot* const> slots, double ms) {
  if (companion_ == nullptr) return;
  TokenPos rows = 0;
  for (const Slot* slot : slots) {
    rows += length_of(slot->job->pending) + length_of(slot->job->draft);
  }
  costs_.note_step(rows, ms);
}

void Speculator::note_verdict(Job& job, TokenPos accepted) {
  const TokenPos proposed = std::exchange(job.proposed, 0);
  const TokenPos right = std::min(accepted, proposed);
  job.last_draft = length_of(job.draft);
  job.last_yield = 1.0 + accepted;
  if (proposed == 0) return;
  job.drafts.note(static_cast<std::size_t>(proposed), static_cast<std::size_t>(right));
  job.timings.drafted_tokens = job.drafts.drafted;
  job.timings.accepted_tokens = job.drafts.accepted;
  if (job.draft_length) job.draft_length->note(proposed, right);
}

void Speculator::note_undone(Slot& slot, TokenSpan undone) {
  if (companion_ == nullptr) return;
  Job& job = *slot.job;
  const auto told = static_cast<std::size_t>(job.told);
  companion_->advance(slot.id, undone.subspan(told), job.told);
  job.told = length_of(undone);
}

void Speculator::note_end(const Job& job) {
  if (job.draft_length) acceptance_.fold(job.draft_length->acceptance());
}

}  // namespace holdfast
