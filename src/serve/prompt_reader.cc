#include "serve/prompt_reader.h"

namespace holdfast::serve {

namespace {

constexpr std::uint64_t kOldestEvery = 4;

}  // namespace

Slot* PromptReader::choose() {
  Slot* oldest = nullptr;
  Slot* nearest = nullptr;
  const auto run = [&](const Slot& slot) { return core_.cache.slots()[slot.id].run; };
  for (Slot& slot : core_.slots) {
    if (!core_.reading(slot) || core_.cache.growth().postponed(slot.id)) continue;
    if (oldest == nullptr || run(slot) < run(*oldest)) oldest = &slot;
    if (nearest == nullptr || core_.left_to_read(slot) < core_.left_to_read(*nearest)) {
      nearest = &slot;
    }
  }
  return chunks_ % kOldestEvery == 0 ? oldest : nearest;
}

bool PromptReader::read_some() {
  const bool copied = paced_.copy_postponed();
  TokenPos left = core_.grid.rule().step;
  bool any = false;
  while (Slot* slot = choose()) {
    const TokenPos tokens = paced_.tokens_to_read(*slot);
    left -= tokens;
    if (tokens == 0 || (any && left < 0)) break;
    read_chunk(*slot, tokens);
    any = true;
  }
  return any || copied;
}

bool PromptReader::reads_on() {
  if (!core_.writing) return false;
  const Slot* next = choose();
  return next != nullptr && paced_.tokens_to_read(*next) > 0;
}

void PromptReader::begin(Slot& slot) {
  if (core_.left_to_read(slot) > 0) return;
  note_progress(slot);
  finish(slot);
}

void PromptReader::read_chunk(Slot& slot, TokenPos tokens) {
  ++chunks_;
  Job& job = *slot.job;
  const TokenPos begin = core_.length(slot.id);
  const bool last = begin + tokens == job.prompt_length();
  const bool answers = last && job.input.max_tokens != 0;
  const engine::LogitsOf logits = answers ? engine::LogitsOf::kLastToken : engine::LogitsOf::kNone;
  const TokenSpan chunk =
      job.prompt.tokens.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(tokens));
  if (auto ready = core_.cache.growth().before_chunk(slot.id); !ready) {
    return ends_.fail(slot, ready.error());
  }
  core_.pulse.begin(Work::kReading, tokens, job.input.id);
  paced_.begin_reading(tokens);
  const auto before = core_.clock.now();
  if (auto run = core_.engine.prefill(slot.id, chunk, logits); !run) {
    return ends_.fail(slot, run.error());
  }
  job.times.read_ms += env::ms_between(before, core_.clock.now());
  speculator_.note_other_work();
  paced_.keep_chunk(slot, chunk, logits);
  job.timings.prompt_tokens += tokens;
  note_progress(slot);
  if (last) finish(slot);
}

void PromptReader::note_progress(Slot& slot) {
  Job& job = *slot.job;
  job.timings.prompt_ms = env::ms_between(job.times.started, core_.clock.now());
  const PromptProgress progress{job.prompt_length(), job.timings.cached_tokens,
                                core_.length(slot.id), job.timings.prompt_ms};
  core_.observer.on_progress(job.input, progress);
  const bool read = job.timings.prompt_tokens > 0;  // else the first one said it all
  if (read && job.input.want_progress) job.input.sink->on_event(progress);
}

void PromptReader::finish(Slot& slot) {
  paced_.settle_reading();
  Job& job = *slot.job;
  job.times.first_token = job.times.last_step = core_.clock.now();
  job.receipt.prompt_ms = env::ms_between(job.times.started, job.times.first_token);
  core_.cache.growth().note_prefill_speed(job.timings.prompt_tokens, job.times.read_ms);
  if (job.input.max_tokens == 0) return ends_.finish(slot, {FinishReason::kMaxTokens, ""});
  decoding_.begin_answer(slot);
}

}  // namespace holdfast::serve
