// What the scheduler does between two steps of those who write, and how long that takes. What
// is allowed there, TurnPace says; the contract stands in scheduler.h.
#include <algorithm>
#include <utility>

#include "serve/scheduler.h"

namespace holdfast::serve {

// A slot whose checkpoint is yet to be taken waits for that.
bool Scheduler::writes(const Slot& slot) const {
  return slot.decoding() && !cache_.postponed(slot.id);
}

// --- reading ---------------------------------------------------------------------------

TokenPos Scheduler::tokens_to_read(const Slot& slot) const {
  const TokenPos wanted = cache_.chunk_end(slot.id) - cache_.length(slot.id);
  if (!writing_) return wanted;
  const auto chunks =
      options_.deterministic ? plan::TurnPace::Chunks::kWhole : plan::TurnPace::Chunks::kMayBeCut;
  return pace_.tokens_to_read(wanted, chunks);
}

// Whether the next turn has something to read before those who write go on.
bool Scheduler::reads_on() {
  if (!writing_) return false;
  const Slot* next = choose_prefill();
  return next != nullptr && tokens_to_read(*next) > 0;
}

// The engine need not be done with a chunk when prefill() returns, and nobody waits for it
// without a reason: chunks are measured together, when something else needs their result.
void Scheduler::begin_reading(TokenPos tokens) {
  if (!reading_since_) reading_since_ = clock_.now();
  pace_.begin_read(tokens);
}

void Scheduler::settle_reading() {
  if (!reading_since_) return;
  engine_.wait();
  pace_.note_read(env::ms_between(*reading_since_, clock_.now()));
  reading_since_.reset();
}

// The request ends, wherever it stands. What it has computed is kept, as if it had gone on.
void Scheduler::leave_off_reading(Slot& slot) {
  if (prefilling(slot)) settle_reading();
  const bool whole = engine_.length(slot.id) == cache_.length(slot.id);
  if (cache_.postponed(slot.id) && whole) copy_postponed(slot, cache_.postponed_bytes(slot.id));
}

// --- copies ----------------------------------------------------------------------------

// The chunk was read; the checkpoint behind it is taken, or postponed where those who write
// would wait for too long.
void Scheduler::keep_chunk(Slot& slot, TokenSpan chunk, engine::LogitsOf logits) {
  cache::Receipt& receipt = slot.job->receipt;
  const ByteCount due = cache_.bytes_due(slot.id, cache_.length(slot.id) + length_of(chunk));
  if (due > 0) settle_reading();
  const bool later = due > 0 && writing_ && !pace_.may_copy(due);
  const ByteCount before = receipt.bytes_out;
  const auto began = clock_.now();
  cache_.prefilled(slot.id, chunk, receipt, logits,
                   later ? cache::Copies::kLater : cache::Copies::kNow);
  const ByteCount copied = receipt.bytes_out - before;
  if (copied > 0) pace_.note_copied(copied, env::ms_between(began, clock_.now()));
}

// Goes on with checkpoints that were postponed. A slot that has read its prompt wants to write,
// so it does not wait for a rest to end.
bool Scheduler::copy_postponed() {
  bool any = false;
  for (Slot& slot : slots_) {
    if (!cache_.postponed(slot.id)) continue;
    if (writing_ && prefilling(slot) && pace_.resting()) continue;
    const ByteCount wanted = cache_.postponed_bytes(slot.id);
    const ByteCount bytes = writing_ ? pace_.bytes_to_copy(wanted) : wanted;
    if (bytes == 0 && wanted > 0) continue;
    copy_postponed(slot, bytes);
    any = true;
  }
  return any;
}

void Scheduler::copy_postponed(Slot& slot, ByteCount bytes) {
  settle_reading();
  cache::Receipt& receipt = slot.job->receipt;
  const ByteCount before = receipt.bytes_out;
  const auto began = clock_.now();
  cache_.copy_postponed(slot.id, bytes, receipt);
  pace_.note_copied(receipt.bytes_out - before, env::ms_between(began, clock_.now()));
}

// --- beginning -------------------------------------------------------------------------

bool Scheduler::may_begin(Job& job, const cache::StartChoice& outlook) const {
  job.held_back = writing_ && !pace_.may_restore(cache_.bytes_to_begin(outlook));
  return !job.held_back;
}

cache::LogitsPtr Scheduler::begin_paced(Job& job, const cache::StartChoice& outlook) {
  const bool moves = cache_.bytes_to_begin(outlook) > 0;
  if (moves) settle_reading();
  cache::Receipt& receipt = job.receipt;
  const ByteCount before = receipt.bytes_in + receipt.bytes_out;
  const auto began = clock_.now();
  cache::LogitsPtr logits = cache_.begin(job.prompt(), outlook, receipt);
  const ByteCount moved = receipt.bytes_in + receipt.bytes_out - before;
  if (moves) pace_.note_restored(moved, env::ms_between(began, clock_.now()));
  return logits;
}

// --- writing ---------------------------------------------------------------------------

// One step for all who write. The gap before it counts for those who waited through it.
bool Scheduler::step() {
  if (std::ranges::none_of(slots_, [&](const Slot& slot) { return writes(slot); })) return false;
  settle_reading();
  const auto began = clock_.now();
  int writers = 0;
  int readers = 0;  // and those that wait for a slot which is free
  for (const Slot& slot : slots_) {
    if (writes(slot)) {
      ++writers;
    } else if (!slot.idle() || !queue_.empty()) {
      ++readers;
    }
  }
  decode_all();
  if (writing_) {
    pace_.note_step(env::ms_between(began, clock_.now()), writers, readers);
  } else {
    pace_.nobody_writes();
  }
  return true;
}

// Told when a step was computed, before its tokens are looked at.
void Scheduler::note_gap(Job& job, env::Clock::TimePoint now) {
  const bool worked = writing_ && pace_.gap_ms() > 0.0;
  StepGaps& gaps = worked ? totals_.gaps_of_work : totals_.gaps_undisturbed;
  gaps.note(env::ms_between(std::exchange(job.last_step, now), now) / 1000.0);
}

}  // namespace holdfast::serve
