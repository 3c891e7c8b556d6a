#include "serve/request_queue.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace holdfast::serve {

namespace {

// The last token of an answer is not computed, so the context holds one more than it has room for.
cache::RequestNotes notes_of(const Job& job, TokenPos context) {
  cache::RequestNotes notes = job.input.notes;
  const TokenPos possible = context - job.prompt_length();
  notes.answer_asked = job.input.max_tokens;
  notes.answer_limit = notes.answer_asked < 0 ? possible : std::min(notes.answer_asked, possible);
  return notes;
}

}  // namespace

void RequestQueue::push(std::unique_ptr<Job> job) {
  job->prompt.number = core_.next_number();
  jobs_.push_back(std::move(job));
}

void RequestQueue::drop_where(
    const std::function<std::optional<Error>(const Job&)>& reason_to_end) {
  const std::size_t ended = std::erase_if(jobs_, [&](const std::unique_ptr<Job>& job) {
    const auto reason = reason_to_end(*job);
    if (reason) ends_.drop(*job, *reason);
    return reason.has_value();
  });
  if (ended > 0) inbox_.note_left_queue(ended);
}

// --- who is next -----------------------------------------------------------------------------

RequestQueue::Waiting RequestQueue::next() {
  std::map<std::string_view, int> at_work;
  for (const Slot& slot : core_.slots) {
    if (!slot.idle()) ++at_work[slot.job->input.client];
  }
  auto best = jobs_.end();
  for (auto it = jobs_.begin(); it != jobs_.end(); ++it) {
    if (!may_start(**it)) continue;
    if ((*it)->queued.held_back && core_.pace.resting()) continue;
    if (best == jobs_.end() || at_work[(*it)->input.client] < at_work[(*best)->input.client]) {
      best = it;
    }
  }
  return best;
}

bool RequestQueue::may_start(const Job& job) const {
  const cache::Admission& admission = core_.cache.admission();
  if (admission.waiting(job.queued.waits)) return false;
  const auto idle = std::ranges::count_if(core_.slots, &Slot::idle);
  const auto first = std::ranges::count_if(jobs_, [&](const auto& other) {
    return other.get() != &job && admission.fetching(other->queued.waits);
  });
  return idle > first && !idle_slots_for(job).empty();
}

std::vector<SlotId> RequestQueue::idle_slots_for(const Job& job) const {
  std::vector<SlotId> slots;
  for (const Slot& slot : core_.slots) {
    if (slot.idle() && (!job.input.slot || *job.input.slot == slot.id)) slots.push_back(slot.id);
  }
  return slots;
}

bool RequestQueue::fetching() const {
  return std::ranges::any_of(
      jobs_, [&](const auto& job) { return core_.cache.admission().fetching(job->queued.waits); });
}

// --- beginning -------------------------------------------------------------------------------

// Each round lets one request begin, or finds out what it waits for.
void RequestQueue::admit() {
  using Verdict = cache::Admission::Verdict;
  for (auto next = this->next(); next != jobs_.end(); next = this->next()) {
    Job& job = **next;
    const cache::Admission::Step step = core_.cache.admission().step(
        job.queued.waits, job.prompt, idle_slots_for(job), job.receipt);
    if (step.verdict == Verdict::kWaitForPeer) {
      job.receipt.waited_for = core_.slot(step.peer).job->input.id;
    }
    if (step.verdict != Verdict::kRun) continue;
    if (!paced_.may_begin(job, step.choice)) return;
    std::unique_ptr<Job> admitted = std::move(*next);
    jobs_.erase(next);
    inbox_.note_left_queue(1);
    begin(std::move(admitted), step.choice);
  }
}

void RequestQueue::begin(std::unique_ptr<Job> job, const cache::StartChoice& choice) {
  job->times.started = core_.clock.now();
  job->timings.queued_ms = env::ms_between(job->times.submitted, job->times.started);
  cache::Receipt& receipt = job->receipt;
  receipt.id = job->input.id;
  receipt.response = job->input.response;
  receipt.tenant = job->input.tenant;
  receipt.session = job->input.session;
  receipt.history_tokens = job->input.history_tokens;
  receipt.answer_ids = job->input.answer_ids;
  receipt.notes = notes_of(*job, core_.engine.context_tokens());
  receipt.unix_ms = core_.clock.unix_ms();
  receipt.exact = core_.options.exact;
  receipt.queued_ms = job->timings.queued_ms;
  note_one_off(*job, std::max(choice.match.matched, choice.plan.reused));
  paced_.begin(*job, choice);
  job->timings.cached_tokens = receipt.restored;
  receipt.prewarmed =
      tasks_.prewarmer.claim(job->prompt.space, job->prompt.tokens, receipt.restored);
  core_.totals.prewarm = tasks_.prewarmer.counts();
  ++core_.totals.requests;
  note_for_proof(*job);

  Slot& slot = core_.slot(SlotId{receipt.slot});
  slot.job = std::move(job);
  const Started started{slot.id, slot.job->prompt_length(), slot.job->timings.cached_tokens};
  core_.observer.on_started(slot.job->input, started);
  slot.job->input.sink->on_event(started);
  if (slot.job->input.want_progress) {
    slot.job->input.sink->on_event(
        PromptProgress{started.prompt_tokens, started.cached_tokens, started.cached_tokens, 0.0});
  }
  reader_.begin(slot);
}

// The name of a session is its client's choice, so it counts together with the tenant.
void RequestQueue::note_one_off(Job& job, TokenPos known) {
  const GenerateRequest& input = job.input;
  if (!input.agent_session || input.session.empty()) return;
  const std::string session = input.tenant + ' ' + input.session;
  job.prompt.one_off = one_offs_.note(session, {job.prompt_length(), known});
  job.receipt.one_off = job.prompt.one_off;
  if (job.prompt.one_off) ++core_.totals.sessions.one_offs;
}

void RequestQueue::note_for_proof(const Job& job) {
  if (core_.options.proofs.share <= 0.0 || !core_.totals.disproved.empty()) return;
  const cache::Receipt& receipt = job.receipt;
  const bool restored = receipt.source == plan::StartSource::kMemory ||
                        receipt.source == plan::StartSource::kSnapshotInPlace;
  if (!restored) return;
  tasks_.prover.note({receipt.id, receipt.tenant, job.prompt.space, job.prompt.tokens,
                      job.prompt.keys, receipt.restored});
}

}  // namespace holdfast::serve
