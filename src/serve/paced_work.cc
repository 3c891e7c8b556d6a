#include "serve/paced_work.h"

#include <utility>

namespace holdfast::serve {

// --- reading ---------------------------------------------------------------------------------

TokenPos PacedWork::tokens_to_read(const Slot& slot) const {
  const TokenPos wanted = core_.cache.growth().chunk_end(slot.id) - core_.length(slot.id);
  if (!core_.writing) return wanted;
  using Chunks = plan::GapPace::Chunks;
  const auto chunks = core_.options.has_exact_prompts() ? Chunks::kWhole : Chunks::kMayBeSplit;
  return core_.pace.tokens_to_read(wanted, chunks);
}

void PacedWork::begin_reading(TokenPos tokens) {
  if (!reading_since_) reading_since_ = core_.clock.now();
  core_.pace.begin_read(tokens);
}

void PacedWork::settle_reading() {
  if (!reading_since_) return;
  core_.engine.wait();
  core_.pace.note_read(env::ms_between(*reading_since_, core_.clock.now()));
  reading_since_.reset();
}

void PacedWork::leave_off(Slot& slot) {
  if (core_.reading(slot)) settle_reading();
  const cache::SlotGrowth& growth = core_.cache.growth();
  const bool whole = core_.engine.length(slot.id) == core_.length(slot.id);
  if (growth.postponed(slot.id) && whole) copy_postponed(slot, growth.postponed_bytes(slot.id));
}

void PacedWork::keep_chunk(Slot& slot, TokenSpan chunk, engine::LogitsOf logits) {
  cache::Receipt& receipt = slot.job->receipt;
  cache::SlotGrowth& growth = core_.cache.growth();
  const ByteCount due = growth.bytes_due(slot.id, core_.length(slot.id) + length_of(chunk));
  if (due > 0) settle_reading();
  const bool later = due > 0 && core_.writing && !core_.pace.may_copy(due);
  const ByteCount before = receipt.bytes_out;
  const auto began = core_.clock.now();
  growth.prefilled(slot.id, chunk, receipt, logits,
                   later ? cache::Copies::kLater : cache::Copies::kNow);
  const ByteCount copied = receipt.bytes_out - before;
  if (copied > 0) core_.pace.note_copied(copied, env::ms_between(began, core_.clock.now()));
}

// --- copies ----------------------------------------------------------------------------------

// A slot that has read its prompt wants to write, so it does not wait for a rest to end.
bool PacedWork::copy_postponed() {
  bool any = false;
  for (Slot& slot : core_.slots) {
    if (!core_.cache.growth().postponed(slot.id)) continue;
    if (core_.writing && core_.reading(slot) && core_.pace.resting()) continue;
    const ByteCount wanted = core_.cache.growth().postponed_bytes(slot.id);
    const ByteCount bytes = core_.writing ? core_.pace.bytes_to_copy(wanted) : wanted;
    if (bytes == 0 && wanted > 0) continue;
    copy_postponed(slot, bytes);
    any = true;
  }
  return any;
}

void PacedWork::copy_postponed(Slot& slot, ByteCount bytes) {
  settle_reading();
  cache::Receipt& receipt = slot.job->receipt;
  const ByteCount before = receipt.bytes_out;
  const auto began = core_.clock.now();
  core_.cache.growth().copy_postponed(slot.id, bytes, receipt);
  core_.pace.note_copied(receipt.bytes_out - before, env::ms_between(began, core_.clock.now()));
}

// --- beginning -------------------------------------------------------------------------------

bool PacedWork::may_begin(Job& job, const cache::StartChoice& choice) const {
  const ByteCount moved = core_.cache.admission().bytes_to_begin(choice);
  job.queued.held_back = core_.writing && !core_.pace.may_restore(moved);
  return !job.queued.held_back;
}

void PacedWork::begin(Job& job, const cache::StartChoice& choice) {
  const bool moves = core_.cache.admission().bytes_to_begin(choice) > 0;
  if (moves) settle_reading();
  cache::Receipt& receipt = job.receipt;
  const ByteCount before = receipt.bytes_in + receipt.bytes_out;
  const auto began = core_.clock.now();
  job.answer.stored_logits = core_.cache.begin(job.prompt, choice, receipt);
  const ByteCount moved = receipt.bytes_in + receipt.bytes_out - before;
  if (moves) core_.pace.note_restored(moved, env::ms_between(began, core_.clock.now()));
}

}  // namespace holdfast::serve
