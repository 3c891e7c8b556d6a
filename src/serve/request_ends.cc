#include "serve/request_ends.h"

#include <utility>

namespace holdfast::serve {

namespace {

cache::RequestEnd end_of(FinishReason reason) {
  switch (reason) {
    case FinishReason::kBlankTail:
    case FinishReason::kStopToken: return cache::RequestEnd::kStopToken;
    case FinishReason::kStopString: return cache::RequestEnd::kStopString;
    case FinishReason::kMaxTokens: return cache::RequestEnd::kMaxTokens;
    case FinishReason::kContextFull: return cache::RequestEnd::kContextFull;
  }
  return cache::RequestEnd::kFailed;
}

cache::RequestEnd end_of(const Error& error) {
  if (error.code == ErrorCode::kCancelled) return cache::RequestEnd::kCancelled;
  return error.code == ErrorCode::kTimeout ? cache::RequestEnd::kTimeout
                                           : cache::RequestEnd::kFailed;
}

}  // namespace

RequestEnds::RequestEnds(LoopCore& core, PacedWork& paced, Speculator& speculator,
                         const SchedulerParts& parts)
    : core_(core),
      paced_(paced),
      speculator_(speculator),
      history_(parts.history),
      journal_(parts.journal),
      last_(core.slots.size()) {}

void RequestEnds::finish(Slot& slot, Ending ending) {
  const std::unique_ptr<Job> job = take_job(slot);
  if (history_ != nullptr && job->input.answer_context) {
    history_->remember(*job->input.answer_context, core_.text, job->answer.tokens);
  }
  Finished finished;
  finished.reason = ending.reason;
  finished.stop_string = std::move(ending.stop_string);
  finished.slot = slot.id;
  finished.prompt_tokens = job->prompt_length();
  finished.timings = job->timings;
  finished.receipt = std::make_shared<const cache::Receipt>(job->receipt);
  note_in_journal(*job, end_of(ending.reason));
  core_.publish();  // a client that has its answer finds it counted
  core_.observer.on_finished(job->input, finished);
  job->input.sink->on_event(finished);
}

void RequestEnds::fail(Slot& slot, const Error& error) {
  const std::unique_ptr<Job> job = take_job(slot);
  note_in_journal(*job, end_of(error));
  core_.publish();
  tell_failure(*job, error);
}

void RequestEnds::drop(const Job& job, const Error& error) {
  if (journal_ != nullptr) journal_->dropped(job.prompt.number, end_of(error));
  tell_failure(job, error);
}

void RequestEnds::tell_failure(const Job& job, const Error& error) {
  core_.observer.on_failed(job.input, error);
  job.input.sink->on_event(Failed{error});
}

std::unique_ptr<Job> RequestEnds::take_job(Slot& slot) {
  paced_.leave_off(slot);
  std::unique_ptr<Job> job = std::move(slot.job);
  speculator_.note_end(*job);
  last_[static_cast<std::size_t>(slot.id.value)] = {job->input.id,
                                                    core_.cache.slots()[slot.id].run};
  core_.cache.end(slot.id);
  if (job->receipt.companion) job->receipt.companion->drafts = job->draft.counts;
  add_up(*job);
  job->receipt.complete = true;
  receipts_.put(job->receipt);
  return job;
}

void RequestEnds::add_up(const Job& job) {
  const Timings& timings = job.timings;
  SchedulerStatus& totals = core_.totals;
  totals.prompt_tokens += static_cast<std::uint64_t>(timings.prompt_tokens);
  totals.prompt_tokens_cached += static_cast<std::uint64_t>(timings.cached_tokens);
  totals.predicted_tokens += static_cast<std::uint64_t>(timings.predicted_tokens);
  totals.prompt_seconds += timings.prompt_ms / 1000.0;
  totals.predicted_seconds += timings.predicted_ms / 1000.0;
  totals.drafts += job.draft.counts;
  const TokenPos held = timings.cached_tokens + timings.prompt_tokens + timings.predicted_tokens;
  totals.tokens_max = std::max(totals.tokens_max, static_cast<std::uint64_t>(held));
  if (!job.input.session.empty()) add_up_session(job);
}

void RequestEnds::add_up_session(const Job& job) {
  SessionTotals& totals = core_.totals.sessions;
  const bool again = receipts_.has_session_of(job.receipt);
  ++(again ? totals.again : totals.first);
  if (!again) return;
  totals.again_reused += static_cast<std::uint64_t>(job.timings.cached_tokens);
  totals.again_read += static_cast<std::uint64_t>(job.timings.prompt_tokens);
}

void RequestEnds::note_in_journal(const Job& job, cache::RequestEnd end) {
  if (journal_ == nullptr) return;
  cache::FinishedRequest over;
  over.number = job.prompt.number;
  over.end = end;
  over.receipt = &job.receipt;
  over.answer_tokens = length_of(job.answer.tokens);
  over.answer_ms = job.timings.predicted_ms;
  if (const auto& difference = job.receipt.difference; difference && journal_->wants_text()) {
    for (const Token token : difference->known) over.known_text += core_.text.piece(token, true);
    for (const Token token : difference->sent) over.sent_text += core_.text.piece(token, true);
  }
  journal_->finished(over, core_.cache.status());
}

std::optional<SlotId> RequestEnds::last_on(const std::string& request_id) const {
  for (std::size_t i = 0; i < last_.size(); ++i) {
    const SlotId slot = core_.slots[i].id;
    if (last_[i].id == request_id && core_.cache.slots()[slot].run == last_[i].run) return slot;
  }
  return std::nullopt;
}

void RequestEnds::note_tool_call(const std::string& request_id) {
  for (std::size_t i = 0; i < last_.size(); ++i) {
    if (last_[i].id == request_id) core_.cache.live().called_tool(core_.slots[i].id, last_[i].run);
  }
}

void RequestEnds::forget_all() {
  if (history_ != nullptr) history_->clear();
  receipts_.clear();
}

void RequestEnds::forget(SpaceKey space, const std::string& tenant) {
  if (history_ != nullptr) history_->clear(space);
  receipts_.clear(tenant);
}

}  // namespace holdfast::serve
