// How the scheduler writes answers: one step for all slots that are at it, the verdict on
// each draft, and what follows from it.
#include <algorithm>
#include <map>
#include <utility>

#include "serve/scheduler.h"

namespace holdfast::serve {

namespace {

Tokens joined(TokenSpan first, TokenSpan second) {
  Tokens both(first.begin(), first.end());
  both.insert(both.end(), second.begin(), second.end());
  return both;
}

// What the engine takes in one batch: slots with one token each; neighbours with equally
// many, where there are drafts; or each slot alone.
std::vector<std::vector<Slot*>> batches_of(std::span<Slot* const> slots, bool one_by_one) {
  const auto rows = [](const Slot& slot) {
    return slot.job->pending.size() + slot.job->draft.size();
  };
  std::map<std::size_t, std::vector<Slot*>> by_rows;
  for (Slot* slot : slots) by_rows[rows(*slot)].push_back(slot);
  std::vector<std::vector<Slot*>> batches;
  for (auto& [count, alike] : by_rows) {
    for (Slot* slot : alike) {
      const bool joins = !one_by_one && slot != alike.front() &&
                         (count == 1 || batches.back().back()->id.value + 1 == slot->id.value);
      if (!joins) batches.emplace_back();
      batches.back().push_back(slot);
    }
  }
  return batches;
}

}  // namespace

bool Scheduler::decode_all() {
  std::vector<Slot*> ready;
  for (Slot& slot : slots_) {
    if (writes(slot)) ready.push_back(&slot);
  }
  if (ready.empty()) return false;
  // A draft that only a restored state takes back is not made where restoring is not believed.
  if (totals_.disproved.empty() || engine_.can_take_back(1)) speculator_.propose(ready);
  const bool one_by_one = options_.deterministic || options_.one_by_one;
  for (const auto& batch : batches_of(ready, one_by_one)) decode_together(batch);
  return true;
}

// One batch: the tokens that wait, and the draft after them. Every slot's rows are
// sampled before any state is taken back, because that ends the batch's outputs.
void Scheduler::decode_together(std::span<Slot* const> slots) {
  std::vector<Tokens> tokens;
  for (const Slot* slot : slots) tokens.push_back(joined(slot->job->pending, slot->job->draft));
  std::vector<engine::DecodeStep> steps;
  for (std::size_t i = 0; i < slots.size(); ++i) steps.push_back({slots[i]->id, tokens[i]});
  ++totals_.decode_steps;
  const auto before = clock_.now();
  if (auto run = engine_.decode(steps); !run) {
    for (Slot* slot : slots) fail(*slot, run.error());
    return;
  }
  const auto computed = clock_.now();
  std::vector<Verdict> verdicts;
  for (Slot* slot : slots) {
    note_gap(*slot->job, computed);
    const TokenPos waiting = length_of(slot->job->pending);
    verdicts.push_back(sample_rows(*slot, waiting - 1, cache_.length(slot->id) + waiting));
  }
  speculator_.note_step(slots, env::ms_between(before, clock_.now()));
  for (std::size_t i = 0; i < slots.size(); ++i) keep_accepted(*slots[i], verdicts[i]);
  for (std::size_t i = 0; i < slots.size(); ++i) bring_back(*slots[i], verdicts[i]);
  for (std::size_t i = 0; i < slots.size(); ++i) conclude(*slots[i], verdicts[i]);
}

// Samples row after row, each as if it were the only one, for as long as the draft says
// the same. `computed` tokens lie before the first row's answer.
Scheduler::Verdict Scheduler::sample_rows(Slot& slot, TokenPos first_row, TokenPos computed) {
  Job& job = *slot.job;
  Verdict verdict;
  for (;;) {
    auto sampled = sample_row(slot, first_row + verdict.accepted);
    const auto place = static_cast<std::size_t>(verdict.accepted);
    if (sampled && !options_.synthetic_acceptance.empty()) pretend(*sampled, job.draft, place);
    auto accepted = sampled ? job.request.sampler->accept(sampled->token) : sampled.error();
    if (!accepted) {
      verdict.error = accepted.error();
      return verdict;
    }
    verdict.next = sampled->token;
    verdict.ending = take_token(slot, *sampled, computed + verdict.accepted);
    const bool as_drafted = place < job.draft.size() && job.draft[place] == sampled->token;
    if (verdict.ending || !as_drafted) return verdict;
    ++verdict.accepted;
  }
}

Result<engine::Sampled> Scheduler::sample_row(Slot& slot, TokenPos row) {
  const Job& job = *slot.job;
  engine::Sampler& sampler = *job.request.sampler;
  if (job.kept_logits == nullptr) return engine_.sample(slot.id, sampler, row);
  return engine_.sample_kept(cache::logits_in(*job.kept_logits), sampler);
}

void Scheduler::pretend(engine::Sampled& sampled, const Tokens& draft, std::size_t place) {
  const auto& rates = options_.synthetic_acceptance;
  if (place >= draft.size() || place >= rates.size()) return;
  if (std::uniform_real_distribution<float>()(pretence_) < rates[place]) {
    sampled.token = draft[place];
  } else if (sampled.token == draft[place]) {
    sampled.token = sampled.token == 0 ? 1 : sampled.token - 1;
  }
}

std::optional<Scheduler::Ending> Scheduler::take_token(Slot& slot, const engine::Sampled& sampled,
                                                       TokenPos computed) {
  Job& job = *slot.job;
  job.timings.predicted_tokens += 1;
  job.timings.predicted_ms = env::ms_between(job.first_token, clock_.now());

  const bool ends = text_.ends_generation(sampled.token) && !job.request.ignore_eos;
  const std::string bytes =
      ends ? std::string() : text_.piece(sampled.token, job.request.special_text);
  if (!ends) job.answer.push_back(sampled.token);
  if (job.request.want_tokens && !ends) job.reports.push_back({sampled, bytes});
  auto step = job.assembler.feed(bytes);
  if (step.stop) {
    send_text(slot, std::move(step.text));
    return Ending{FinishReason::kStopString, *step.stop};
  }
  if (ends) {
    send_text(slot, step.text + job.assembler.flush());
    return Ending{FinishReason::kStopToken, ""};
  }
  const bool out_of_tokens =
      job.request.max_tokens > 0 && job.timings.predicted_tokens >= job.request.max_tokens;
  const bool out_of_context = computed + 1 > engine_.context_tokens();
  if (out_of_tokens || out_of_context) {
    send_text(slot, step.text + job.assembler.flush());
    return Ending{out_of_tokens ? FinishReason::kMaxTokens : FinishReason::kContextFull, ""};
  }
  send_text(slot, std::move(step.text));
  return std::nullopt;
}

// The slot's state holds the whole step. What was drafted and not chosen is cut off,
// or, where a state cannot be cut, left to bring_back().
void Scheduler::keep_accepted(Slot& slot, Verdict& verdict) {
  Job& job = *slot.job;
  speculator_.note_verdict(job, verdict.accepted);
  const bool all = static_cast<std::size_t>(verdict.accepted) == job.draft.size();
  job.draft.resize(static_cast<std::size_t>(verdict.accepted));
  const Tokens kept = joined(job.pending, job.draft);
  const TokenPos length = cache_.length(slot.id) + length_of(kept);
  const bool cut = all || (!job.before && engine_.cut(slot.id, length) == engine::CutAnswer::kDone);
  if (cut) {
    cache_.decoded(slot.id, kept, job.told);
    job.pending = {verdict.next};
    job.told = 0;
    job.before.reset();
  } else {
    speculator_.note_undone(slot, kept);
    verdict.undone = kept;
  }
  job.draft.clear();
}

// Goes back to the state before the step. What was right of it is computed again, with
// the next step, or at once where there is none. Where even that fails, everything is
// read again: time, not tokens.
void Scheduler::bring_back(Slot& slot, Verdict& verdict) {
  if (verdict.undone.empty()) return;
  Job& job = *slot.job;
  Tokens to_read = verdict.undone;
  const auto before = clock_.now();
  if (job.before && engine_.load(slot.id, *job.before).ok()) {
    speculator_.note_brought_back(env::ms_between(before, clock_.now()));
    job.pending = joined(verdict.undone, {&verdict.next, 1});
    if (!verdict.ending) return;
  } else {
    to_read = joined(cache_.tokens(slot.id), verdict.undone);
    engine_.clear(slot.id);
    cache_.emptied(slot.id);
    job.told = 0;
  }
  job.before.reset();
  if (auto read = read_again(slot, to_read); !read) verdict.error = read.error();
}

// With logits, though nobody wants them: kept ones are sampled over a batch's own
// (Engine::can_sample_kept).
Result<void> Scheduler::read_again(Slot& slot, TokenSpan tokens) {
  const auto most = static_cast<std::size_t>(engine_.chunk_tokens_max());
  while (!tokens.empty()) {
    const TokenSpan chunk = tokens.first(std::min(tokens.size(), most));
    if (auto read = engine_.prefill(slot.id, chunk, engine::LogitsOf::kLastToken); !read)
      return read;
    cache_.decoded(slot.id, chunk, std::exchange(slot.job->told, 0));
    tokens = tokens.subspan(chunk.size());
  }
  slot.job->pending.clear();  // conclude() has the next one, if there is one
  return {};
}

void Scheduler::conclude(Slot& slot, const Verdict& verdict) {
  if (verdict.error) return fail(slot, *verdict.error);
  if (verdict.ending) return finish(slot, verdict.ending->reason, verdict.ending->stop_string);
  if (slot.job->pending.empty()) slot.job->pending = {verdict.next};  // the first token
}

void Scheduler::send_text(Slot& slot, std::string text) {
  Job& job = *slot.job;
  if (text.empty() && job.reports.empty()) return;
  job.request.sink->on_event(
      TextDelta{std::move(text), std::exchange(job.reports, {}), job.timings});
}

}  // namespace holdfast::serve
