#include "serve/speculator.h"

#include <algorithm>
#include <utility>

namespace holdfast::serve {

Speculator::Speculator(engine::Engine& engine, engine::Companion* companion, int vocabulary,
                       TokenPos fixed, const env::Clock& clock)
    : engine_(engine), companion_(companion), room_(engine, vocabulary, fixed), clock_(clock) {}

// --- before a step ------------------------------------------------------------

void Speculator::propose(std::span<Slot* const> slots) {
  if (companion_ == nullptr) return;
  make_wishes(slots);
  if (wishes_.empty()) return;
  const auto before = clock_.now();
  companion_->draft(wishes_);
  const double ms = env::ms_between(before, clock_.now());
  const bool behind = std::ranges::any_of(wishes_, &engine::DraftWish::behind);
  const plan::DraftCosts::Call call = take_drafts(slots);
  if (!behind) pace_.costs().note_call(call, ms);
  if (room_.fixed() == 0) fill_up(slots);
  for (Slot* slot : slots) save_rollback_state(*slot);
}

// One length for all slots whose drafts are as long as suits (DraftPace); others draft as
// many as they may.
void Speculator::make_wishes(std::span<Slot* const> slots) {
  wishes_.clear();
  const TokenPos chosen = pace(slots);
  for (Slot* slot : slots) {
    Job& job = *slot->job;
    const bool here = chosen_here(job);
    const TokenPos most = here ? std::min(room_.limit(*slot), chosen) : room_.limit(*slot);
    job.draft.budget = here ? most : 0;
    if (here && chosen == 0) job.draft.acceptance.forget(plan::AcceptanceByPosition::kUntried);
    if (most > 0)
      wishes_.push_back({slot->id, job.answer.uncomputed.back(), most, job.input.draft.p_min});
  }
}

TokenPos Speculator::pace(std::span<Slot* const> slots) {
  paced_.clear();
  plan::BatchOthers others;
  for (const Slot* slot : slots) {
    const Job& job = *slot->job;
    const TokenPos most = room_.limit(*slot);
    const TokenPos waiting = length_of(job.answer.uncomputed);
    if (chosen_here(job)) {
      paced_.push_back({&job.draft.acceptance, waiting, most, room_.taken_back_freely(most)});
    } else {
      others.rows += waiting + most;
      others.tokens += job.draft.last_yield;
    }
  }
  return paced_.empty() ? 0 : pace_.choose(paced_, others, acceptance_);
}

bool Speculator::chosen_here(const Job& job) const {
  return room_.fixed() == 0 && job.input.draft.adaptive && job.input.draft.max > 0;
}

plan::DraftCosts::Call Speculator::take_drafts(std::span<Slot* const> slots) {
  plan::DraftCosts::Call call{.slots = static_cast<int>(wishes_.size())};
  for (engine::DraftWish& wish : wishes_) {
    const auto owner = std::ranges::find(slots, wish.slot, &Slot::id);
    Job& job = *(*owner)->job;
    job.draft.tokens = std::move(wish.draft);
    room_.make_sound(job, wish.most);
    call.drafted += job.draft.proposed;
    call.longest = std::max(call.longest, job.draft.proposed);
    call.stopped += job.draft.proposed < wish.most ? 1 : 0;
    if (wish.behind) job.draft.budget = 0;  // that it has no idea says nothing about the text
  }
  return call;
}

// Fills drafts up where one batch is cheaper than several, or steps that are all alike
// than steps that change. What fills up is rejected, so only where that is taken back at
// no cost: elsewhere a state is brought back, and what was right computed again.
void Speculator::fill_up(std::span<Slot* const> slots) {
  std::vector<TokenPos> rows;
  TokenPos asked = 0;
  for (const Slot* slot : slots) {
    rows.push_back(length_of(slot->job->answer.uncomputed) + length_of(slot->job->draft.tokens));
  }
  for (const engine::DraftWish& wish : wishes_) {
    const auto owner = std::ranges::find(slots, wish.slot, &Slot::id);
    asked = std::max(asked, length_of((*owner)->job->answer.uncomputed) + wish.most);
  }
  const TokenPos common = pace_.costs().fill_up_to(rows, asked);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const TokenPos draft = common - length_of(slots[i]->job->answer.uncomputed);
    if (rows[i] == common) continue;
    if (common == 0 || draft > room_.room(*slots[i]) || !engine_.can_take_back(draft)) return;
  }
  for (Slot* slot : slots) {
    Job& job = *slot->job;
    job.draft.tokens.resize(static_cast<std::size_t>(common) - job.answer.uncomputed.size(),
                            job.answer.uncomputed.back());
  }
}

// A state that cannot be truncated is brought back from here. One that was brought back there
// before is still the same.
void Speculator::save_rollback_state(Slot& slot) {
  Job& job = *slot.job;
  if (job.draft.tokens.empty() || engine_.can_take_back(length_of(job.draft.tokens))) {
    job.draft.rollback_state.reset();
    return;
  }
  if (job.draft.rollback_state && job.draft.rollback_state->length == engine_.length(slot.id))
    return;
  const auto before = clock_.now();
  auto saved = engine_.save(slot.id, engine::SaveScope::kSnapshot);
  if (!saved) {
    job.draft.rollback_state.reset();
    job.draft.tokens.clear();
    return;
  }
  job.draft.rollback_state = std::move(*saved);
  pace_.costs().note_fixed(env::ms_between(before, clock_.now()));
}

// --- after it -------------------------------------------------------------------

void Speculator::note_step(std::span<Slot* const> slots, double ms) {
  if (companion_ == nullptr) return;
  TokenPos rows = 0;
  for (const Slot* slot : slots) {
    rows += length_of(slot->job->answer.uncomputed) + length_of(slot->job->draft.tokens);
  }
  pace_.costs().note_step(rows, ms);
}

void Speculator::note_verdict(Job& job, TokenPos accepted) {
  const TokenPos proposed = std::exchange(job.draft.proposed, 0);
  const TokenPos asked = std::exchange(job.draft.budget, 0);
  const TokenPos right = std::min(accepted, proposed);
  job.draft.last_yield = 1.0 + accepted;
  if (asked > 0) {
    pace_.note_accepted(right);
    if (proposed > 0) job.draft.acceptance.note(proposed, right);
    if (right == proposed && proposed < asked) job.draft.acceptance.note_missing(proposed);
  }
  if (proposed == 0) return;
  job.draft.counts.note(static_cast<std::size_t>(proposed), static_cast<std::size_t>(right));
  job.timings.drafted_tokens = job.draft.counts.drafted;
  job.timings.accepted_tokens = job.draft.counts.accepted;
}

void Speculator::note_undone(Slot& slot, TokenSpan undone) {
  if (companion_ == nullptr) return;
  Job& job = *slot.job;
  if (chosen_here(job)) pace_.note_undone(length_of(undone));
  TokenPos& synced = job.answer.companion_synced;
  companion_->advance(slot.id, undone.subspan(static_cast<std::size_t>(synced)), synced);
  synced = length_of(undone);
}

void Speculator::note_end(const Job& job) { acceptance_.fold(job.draft.acceptance); }

}  // namespace holdfast::serve
