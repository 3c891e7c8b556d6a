#include "serve/decoding.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace holdfast::serve {

namespace {

Tokens joined(TokenSpan first, TokenSpan second) {
  Tokens both(first.begin(), first.end());
  both.insert(both.end(), second.begin(), second.end());
  return both;
}

TokenPos total_length(const std::vector<Tokens>& all) {
  TokenPos total = 0;
  for (const Tokens& tokens : all) total += length_of(tokens);
  return total;
}

// What the engine takes in one batch: slots with one token each; neighbours with equally
// many, where there are drafts; or each slot alone.
std::vector<std::vector<Slot*>> batches_of(std::span<Slot* const> slots, bool one_by_one) {
  const auto rows = [](const Slot& slot) {
    return slot.job->answer.uncomputed.size() + slot.job->draft.tokens.size();
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

Error not_brought_back() {
  return {ErrorCode::kEngine,
          "The engine could not take a draft back, and going on would not have been deterministic. "
          "Send the request again.",
          ""};
}

bool is_blank(std::string_view bytes) {
  return bytes.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos;
}

}  // namespace

void Decoding::step() {
  std::vector<Slot*> ready;
  for (Slot& slot : core_.slots) {
    if (core_.writes(slot)) ready.push_back(&slot);
  }
  // A draft that only a restored state takes back is not made where restoring is not believed.
  const bool believed = core_.totals.disproved.empty();
  if (believed || core_.engine.can_take_back(1)) speculator_.propose(ready);
  const bool one_by_one = core_.options.is_deterministic() || core_.options.one_by_one;
  for (const auto& batch : batches_of(ready, one_by_one)) step_together(batch);
}

// One batch: the tokens that wait, and the draft after them. Every slot's rows are
// sampled before any state is taken back, because that ends the batch's outputs.
void Decoding::step_together(std::span<Slot* const> slots) {
  std::vector<Tokens> tokens;
  for (const Slot* slot : slots) {
    tokens.push_back(joined(slot->job->answer.uncomputed, slot->job->draft.tokens));
  }
  std::vector<engine::DecodeStep> steps;
  for (std::size_t i = 0; i < slots.size(); ++i) steps.push_back({slots[i]->id, tokens[i]});
  ++core_.totals.decode_steps;
  core_.totals.decoded_slots += slots.size();
  const TokenPos rows = total_length(tokens);
  core_.pulse.begin(Work::kWriting, rows, slots.front()->job->input.id);
  const auto before = core_.clock.now();
  if (auto run = core_.engine.decode(steps); !run) {
    for (Slot* slot : slots) ends_.fail(*slot, run.error());
    return;
  }
  const auto computed = core_.clock.now();
  std::vector<Verdict> verdicts;
  for (Slot* slot : slots) {
    core_.pulse.begin(Work::kWriting, rows, slot->job->input.id);  // a grammar's work is its own
    note_gap(*slot->job, computed);
    const TokenPos waiting = length_of(slot->job->answer.uncomputed);
    verdicts.push_back(sample_rows(*slot, waiting - 1, core_.length(slot->id) + waiting));
  }
  speculator_.note_step(slots, env::ms_between(before, core_.clock.now()));
  for (std::size_t i = 0; i < slots.size(); ++i) keep_accepted(*slots[i], verdicts[i]);
  for (std::size_t i = 0; i < slots.size(); ++i) take_back(*slots[i], verdicts[i]);
  for (std::size_t i = 0; i < slots.size(); ++i) conclude(*slots[i], verdicts[i]);
}

// Told when a step was computed, before its tokens are looked at.
void Decoding::note_gap(Job& job, env::Clock::TimePoint now) {
  const bool worked = core_.writing && core_.pace.gap_ms() > 0.0;
  StepGaps& gaps = worked ? core_.totals.gaps_of_work : core_.totals.gaps_undisturbed;
  gaps.note(env::ms_between(std::exchange(job.times.last_step, now), now) / 1000.0);
}

void Decoding::begin_answer(Slot& slot) {
  Job& job = *slot.job;
  const bool stored = job.answer.stored_logits != nullptr;
  job.receipt.hashes = cache::PromptHashes::of(
      job.input.prompt, stored ? cache::logits_in(*job.answer.stored_logits)
                               : std::span<const float>(core_.engine.logits(slot.id)));
  job.input.sampler->accept_prompt(job.input.prompt);
  Verdict verdict = sample_rows(slot, 0, job.prompt_length());
  conclude(slot, verdict);
  if (!slot.idle()) slot.job->answer.stored_logits = nullptr;
}

// --- sampling --------------------------------------------------------------------------------

// Samples row after row, each as if it were the only one, for as long as the draft says
// the same. `computed` tokens lie before the first row's answer.
Decoding::Verdict Decoding::sample_rows(Slot& slot, TokenPos first_row, TokenPos computed) {
  Job& job = *slot.job;
  const Tokens& draft = job.draft.tokens;
  Verdict verdict;
  for (;;) {
    auto sampled = sample_row(slot, first_row + verdict.accepted);
    const auto rank = static_cast<std::size_t>(verdict.accepted);
    const auto pretended = pretend(job, rank);
    if (sampled && pretended && *pretended) sampled->token = draft[rank];
    auto accepted = sampled ? learn(job, *sampled, pretended.value_or(false)) : sampled.error();
    if (!accepted) {
      verdict.error = accepted.error();
      return verdict;
    }
    verdict.next = sampled->token;
    verdict.ending = take_token(job, *sampled, computed + verdict.accepted);
    const bool as_drafted =
        pretended.value_or(rank < draft.size() && draft[rank] == sampled->token);
    if (verdict.ending || !as_drafted) return verdict;
    ++verdict.accepted;
  }
}

Result<engine::Sampled> Decoding::sample_row(Slot& slot, TokenPos row) {
  const Job& job = *slot.job;
  engine::Sampler& sampler = *job.input.sampler;
  if (job.answer.stored_logits == nullptr) return core_.engine.sample(slot.id, sampler, row);
  return core_.engine.sample_kept(cache::logits_in(*job.answer.stored_logits), sampler);
}

// A grammar knows nothing of a token that the model did not choose.
Result<void> Decoding::learn(Job& job, const engine::Sampled& sampled, bool pretended) {
  if (pretended) return {};
  return job.input.sampler->accept(sampled.token);
}

std::optional<bool> Decoding::pretend(Job& job, std::size_t rank) const {
  const auto& rates = core_.options.synthetic_acceptance;
  const Tokens& draft = job.draft.tokens;
  if (rates.empty() || rank >= draft.size()) return std::nullopt;
  const float rate = rank < rates.size() ? rates[rank] : 0.0F;
  const bool taken = std::uniform_real_distribution<float>()(job.draft.pretence) < rate;
  return taken && !core_.text.ends_generation(draft[rank]);
}

std::optional<Ending> Decoding::take_token(Job& job, const engine::Sampled& sampled,
                                           TokenPos computed) {
  job.timings.predicted_tokens += 1;
  job.timings.predicted_ms = env::ms_between(job.times.first_token, core_.clock.now());

  const bool ends = core_.text.ends_generation(sampled.token) && !job.input.ignore_eos;
  const std::string bytes =
      ends ? std::string() : core_.text.piece(sampled.token, job.input.special_text);
  if (!ends) job.answer.tokens.push_back(sampled.token);
  if (job.input.want_tokens && !ends) job.answer.reports.push_back({sampled, bytes});
  auto step = job.answer.assembler.feed(bytes);
  if (step.stop) {
    send_text(job, std::move(step.text));
    return Ending{FinishReason::kStopString, *step.stop};
  }
  if (ends) {
    send_text(job, step.text + job.answer.assembler.flush());
    return Ending{FinishReason::kStopToken, ""};
  }
  if (stays_blank_after_call(job)) {
    send_text(job, step.text + job.answer.assembler.flush());
    return Ending{FinishReason::kBlankTail, ""};
  }
  const TokenPos most = job.input.max_tokens;
  const bool out_of_tokens = most > 0 && job.timings.predicted_tokens >= most;
  const bool out_of_context = computed + 1 >= core_.engine.context_tokens();
  if (out_of_tokens || out_of_context) {
    send_text(job, step.text + job.answer.assembler.flush());
    return Ending{out_of_tokens ? FinishReason::kMaxTokens : FinishReason::kContextFull, ""};
  }
  send_text(job, std::move(step.text));
  return std::nullopt;
}

// The API reads the whole answer, so it is asked once for each run of blank tokens.
bool Decoding::stays_blank_after_call(const Job& job) const {
  const Tokens& tokens = job.answer.tokens;
  const auto text_of = [&](Token token) { return core_.text.piece(token, job.input.special_text); };
  TokenPos blank = 0;
  for (auto at = tokens.rbegin(); at != tokens.rend() && is_blank(text_of(*at)); ++at) {
    if (++blank > kBlankTokensMax) return false;
  }
  if (blank != kBlankTokensMax) return false;
  std::string text;
  for (const Token token : tokens) text += text_of(token);
  return job.input.sink->ends_in_call(text);
}

void Decoding::send_text(Job& job, std::string text) {
  if (text.empty() && job.answer.reports.empty()) return;
  job.input.sink->on_event(
      TextDelta{std::move(text), std::exchange(job.answer.reports, {}), job.timings});
}

// --- verdicts --------------------------------------------------------------------------------

// The slot's state holds the whole step. What was drafted and not chosen is truncated,
// or, where a state cannot be truncated, left to take_back().
void Decoding::keep_accepted(Slot& slot, Verdict& verdict) {
  Job& job = *slot.job;
  Tokens& draft = job.draft.tokens;
  speculator_.note_verdict(job, verdict.accepted);
  const bool all = static_cast<std::size_t>(verdict.accepted) == draft.size();
  draft.resize(static_cast<std::size_t>(verdict.accepted));
  const Tokens kept = joined(job.answer.uncomputed, draft);
  const TokenPos length = core_.length(slot.id) + length_of(kept);
  const bool truncated =
      all || (!job.draft.rollback_state &&
              core_.engine.truncate(slot.id, length) == engine::TruncateAnswer::kDone);
  if (truncated) {
    core_.cache.growth().decoded(slot.id, kept, job.answer.companion_synced);
    job.answer.uncomputed = {verdict.next};
    job.answer.companion_synced = 0;
    job.draft.rollback_state.reset();
  } else {
    speculator_.note_undone(slot, kept);
    verdict.undone = kept;
  }
  draft.clear();
}

// Goes back to the state before the step. What was right of it is computed again, with
// the next step, or at once where there is none. Where even that fails, everything is
// read again: time, not tokens. Where all is exact that would be other bits than those of
// a cold run, and perhaps other tokens: there the request fails, unless it is at its end.
void Decoding::take_back(Slot& slot, Verdict& verdict) {
  if (verdict.undone.empty()) return;
  Job& job = *slot.job;
  Tokens to_read = verdict.undone;
  const auto before = core_.clock.now();
  if (job.draft.rollback_state && core_.engine.load(slot.id, *job.draft.rollback_state).ok()) {
    speculator_.note_brought_back(env::ms_between(before, core_.clock.now()));
    job.answer.uncomputed = joined(verdict.undone, {&verdict.next, 1});
    if (!verdict.ending) return;
  } else if (core_.options.is_deterministic() && !verdict.ending) {
    core_.engine.clear(slot.id);
    core_.cache.growth().emptied(slot.id);
    verdict.error = not_brought_back();
    return;
  } else {
    to_read = joined(core_.cache.slots()[slot.id].tokens, verdict.undone);
    core_.engine.clear(slot.id);
    core_.cache.growth().emptied(slot.id);
    job.answer.companion_synced = 0;
  }
  job.draft.rollback_state.reset();
  if (auto read = read_again(slot, to_read); !read) verdict.error = read.error();
}

// With logits, though nobody wants them: stored ones are sampled over a batch's own
// (Engine::can_sample_kept).
Result<void> Decoding::read_again(Slot& slot, TokenSpan tokens) {
  const auto most = static_cast<std::size_t>(core_.engine.chunk_tokens_max());
  AnswerState& answer = slot.job->answer;
  while (!tokens.empty()) {
    const TokenSpan chunk = tokens.first(std::min(tokens.size(), most));
    if (auto read = core_.engine.prefill(slot.id, chunk, engine::LogitsOf::kLastToken); !read) {
      return read;
    }
    core_.cache.growth().decoded(slot.id, chunk, std::exchange(answer.companion_synced, 0));
    tokens = tokens.subspan(chunk.size());
  }
  answer.uncomputed.clear();  // conclude() has the next one, if there is one
  return {};
}

void Decoding::conclude(Slot& slot, Verdict& verdict) {
  if (verdict.error) return ends_.fail(slot, *verdict.error);
  if (verdict.ending) return ends_.finish(slot, std::move(*verdict.ending));
  Tokens& uncomputed = slot.job->answer.uncomputed;
  if (uncomputed.empty()) uncomputed = {verdict.next};  // the first token
}

}  // namespace holdfast::serve
