#include "serve/scheduler.h"

#include <algorithm>
#include <limits>
#include <map>

#include "base/check.h"

namespace holdfast::serve {

namespace {

GridRule grid_rule(const engine::Engine& engine, const engine::TextModel& text, TokenPos step) {
  return {std::min(step, engine.chunk_tokens_max()), text.turn_ends()};
}

cache::CacheOptions cache_options(const SchedulerOptions& options) {
  cache::CacheOptions cache = options.cache;
  cache.deterministic = options.deterministic;
  cache.merged_chunk = options.grid_step;
  return cache;
}

Error cancelled_error() { return {ErrorCode::kCancelled, "The request was cancelled.", ""}; }

Error stopping_error() { return {ErrorCode::kUnavailable, "The server is shutting down.", ""}; }

cache::RequestEnd end_of(FinishReason reason) {
  switch (reason) {
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

// An idle slot's state is put into memory, and below, once nothing has happened for this long:
// then no request has to wait until it is out of its way.
constexpr auto kIdleBeforeKeeping = std::chrono::milliseconds(500);
// While a request waits for the tier below, its limits are looked at so often.
constexpr auto kFetchGlance = std::chrono::milliseconds(20);

// Every fourth chunk goes to the prompt that has waited longest; the others to
// the one that is nearest to its first token.
constexpr std::uint64_t kOldestEvery = 4;

// Generous: twice what the shapes say, and something for headers.
ByteCount slot_file_bytes_max(const engine::Engine& engine, const engine::Companion* companion) {
  constexpr ByteCount kHeaders = 16 << 20;
  constexpr ByteCount kHeadersPerToken = 64;
  const engine::CompanionShape beside =
      companion != nullptr ? companion->shape() : engine::CompanionShape{};
  const ByteCount per_token = engine.shape().bytes_per_token() + beside.bytes_per_token;
  const auto tokens = static_cast<ByteCount>(engine.context_tokens());
  return 2 * (tokens * per_token + engine.shape().bytes_per_snapshot() + beside.bytes_per_place) +
         tokens * kHeadersPerToken + kHeaders;
}

}  // namespace

Scheduler::Scheduler(engine::Engine& engine, const engine::TextModel& text,
                     SchedulerOptions options, const env::Clock& clock, SchedulerParts parts)
    : engine_(engine),
      text_(text),
      options_(options),
      clock_(clock),
      observer_(parts.observer),
      history_(parts.history),
      lower_(parts.lower),
      journal_(parts.journal),
      grid_(grid_rule(engine, text, options.grid_step)),
      state_bytes_max_(slot_file_bytes_max(engine, parts.companion)),
      speculator_(engine, parts.companion, text.card().vocabulary,
                  options.deterministic ? options.deterministic_draft : 0, clock),
      cache_(engine, cache_options(options), clock, parts.companion, parts.lower, parts.journal),
      prover_(engine, cache_, grid_, options.proofs, clock),
      idle_check_(engine, cache_, options.check),
      pace_(options.pace),
      ended_(static_cast<std::size_t>(engine.slot_count())) {
  for (int i = 0; i < engine.slot_count(); ++i) {
    Slot slot;
    slot.id = SlotId{i};
    slots_.push_back(std::move(slot));
  }
  if (observer_ != nullptr) {
    cache_.memory().on_evicted = [this](const plan::Victim& victim) {
      observer_->on_evicted(victim);
    };
  }
  if (parts.companion != nullptr) totals_.companion = parts.companion->name();
  if (lower_ != nullptr) {
    lower_->on_news = [this] {
      {
        const std::lock_guard lock(mutex_);
        lower_news_ = true;
      }
      news_.notify_one();
    };
  }
  publish_status();
}

Scheduler::~Scheduler() {
  stop(StopMode::kCut);
  if (lower_ != nullptr) lower_->stop();  // it calls back
}

// --- called from other threads ---------------------------------------------

Result<void> Scheduler::submit(GenerateRequest request) {
  CHECK(request.sink != nullptr && request.sampler != nullptr);
  if (request.prompt.empty()) return invalid_argument("prompt", "The prompt holds no token.");
  if (length_of(request.prompt) >= engine_.context_tokens()) {
    return Error{ErrorCode::kContextExceeded,
                 "The prompt has " + std::to_string(request.prompt.size()) +
                     " tokens; the context holds " + std::to_string(engine_.context_tokens()) +
                     " and one must be left for the answer. Send less, or start the server with a"
                     " larger --ctx-size.",
                 request.prompt_field};
  }
  if (request.slot && (request.slot->value < 0 || request.slot->value >= engine_.slot_count())) {
    return invalid_argument(
        "id_slot", "'id_slot' is between 0 and " + std::to_string(engine_.slot_count() - 1) + ".");
  }
  auto job = std::make_unique<Job>(std::move(request), clock_.now());
  prepare(*job);
  {
    const std::lock_guard lock(mutex_);
    if (stop_) return stopping_error();
    if (waiting_ >= options_.queue_max) {
      return Error{ErrorCode::kUnavailable,
                   "The queue is full (" + std::to_string(options_.queue_max) +
                       " requests wait). Try again later.",
                   ""};
    }
    ++waiting_;
    arrivals_.push_back(std::move(job));
  }
  news_.notify_one();
  return {};
}

// What follows from the prompt alone. Any thread.
void Scheduler::prepare(Job& job) const {
  job.cuts = grid_.cuts(job.request.prompt);
  job.keys = cache::StateCache::keys_for(job.request.prompt, job.cuts, options_.deterministic);
  if (!job.request.reuse) return;
  const TokenSpan keys = job.prompt().keys;
  job.names = cache_.names_for(job.request.space, keys);
  job.end = cache::EndKey::of(job.request.space, keys);
}

void Scheduler::cancel(const std::string& request_id) {
  {
    const std::lock_guard lock(mutex_);
    cancels_.push_back(request_id);
  }
  news_.notify_one();
}

SchedulerStatus Scheduler::status() const {
  const std::lock_guard lock(mutex_);
  SchedulerStatus now = published_;
  now.queued = waiting_;
  now.stopping = stop_.has_value();
  return now;
}

cache::CacheStatus Scheduler::cache_status() const {
  cache::CacheStatus status;
  {
    const std::lock_guard lock(mutex_);
    status = published_cache_;
  }
  // The tier below goes on while nothing turns here.
  if (lower_ != nullptr) status.lower = lower_->status();
  return status;
}

void Scheduler::clear_cache(SlotAnswer<ByteCount> answer) {
  bool taken = false;
  {
    const std::lock_guard lock(mutex_);
    taken = !stop_;
    if (taken) clears_.push_back(answer);
  }
  if (!taken) return answer(stopping_error());
  news_.notify_one();
}

void Scheduler::list_conversations(std::size_t most,
                                   SlotAnswer<cache::ConversationsStatus> answer) {
  bool taken = false;
  {
    const std::lock_guard lock(mutex_);
    taken = !stop_;
    if (taken) list_asks_.push_back({most, answer});
  }
  if (!taken) return answer(stopping_error());
  news_.notify_one();
}

std::optional<TokenPos> Scheduler::tokens_below(
    const cache::ConversationStatus& conversation) const {
  if (lower_ == nullptr) return std::nullopt;
  tier::PathNamer names(conversation.space);
  names.append(conversation.keys);
  const TokenPos deepest = lower_->deepest(names.anchors());
  if (deepest == std::numeric_limits<TokenPos>::max()) return std::nullopt;
  return std::min(deepest, conversation.tokens);
}

void Scheduler::note_tool_call(const std::string& request_id) {
  {
    const std::lock_guard lock(mutex_);
    tool_calls_.push_back(request_id);
  }
  news_.notify_one();
}

void Scheduler::start() {
  CHECK(!thread_.joinable());
  thread_ = std::thread([this] { run(); });
}

void Scheduler::request_stop(StopMode mode) {
  {
    const std::lock_guard lock(mutex_);
    if (!stop_ || mode == StopMode::kCut) stop_ = mode;
  }
  news_.notify_one();
}

void Scheduler::stop(StopMode mode) {
  request_stop(mode);
  if (thread_.joinable()) thread_.join();
}

// --- the loop --------------------------------------------------------------

void Scheduler::run() {
  for (;;) {
    if (turn()) continue;
    const bool fetches =
        std::ranges::any_of(queue_, [&](const auto& job) { return fetching(*job); });
    std::unique_lock lock(mutex_);
    const bool asked =
        !arrivals_.empty() || !clears_.empty() || !list_asks_.empty() || !new_slot_tasks_.empty();
    if (stop_ && !asked && !fetches) break;
    const auto has_work = [&] {
      return !arrivals_.empty() || !cancels_.empty() || !clears_.empty() || !tool_calls_.empty() ||
             !new_slot_tasks_.empty() || lower_news_ || (stop_ && !fetches);
    };
    // While a request waits for another a slot is busy, so the loop turns and sees its deadline.
    if (fetches) {
      wait_for(lock, kFetchGlance, has_work);
    } else if (!wait_for(lock, kIdleBeforeKeeping, has_work)) {
      lock.unlock();
      keep_idle_states();
      const auto wanted = [&] {
        answer_list_asks();
        const std::lock_guard look(mutex_);
        return has_work();
      };
      check_idle(wanted);
      prove_idle(wanted);
      lock.lock();
      wait_for(lock, std::nullopt, has_work);
    }
  }
  if (lower_ != nullptr) keep_idle_states();
}

// Whoever looks at the cache again and again is answered meanwhile, and is no reason to be less
// idle.
bool Scheduler::wait_for(std::unique_lock<std::mutex>& lock,
                         std::optional<std::chrono::milliseconds> most,
                         const std::function<bool()>& has_work) {
  const auto deadline =
      std::chrono::steady_clock::now() + most.value_or(std::chrono::milliseconds::zero());
  while (!has_work()) {
    if (!list_asks_.empty()) {
      lock.unlock();
      answer_list_asks();
      lock.lock();
    } else if (!most) {
      news_.wait(lock);
    } else if (news_.wait_until(lock, deadline) == std::cv_status::timeout) {
      return has_work();
    }
  }
  return true;
}

bool Scheduler::turn() {
  const auto began = clock_.now();
  take_arrivals();
  end_cancelled_and_late();
  do_slot_tasks();
  pace_.note_other(env::ms_between(began, clock_.now()));
  writing_ = std::ranges::any_of(slots_, [&](const Slot& slot) { return writes(slot); });
  if (!writing_) pace_.nobody_writes();
  admit_waiting();
  if (lower_ != nullptr) lower_->set_busy(!std::ranges::all_of(slots_, &Slot::idle));
  const bool read = prefill_some();
  const bool wrote = !(read && reads_on()) && step();
  publish_status();
  return read || wrote;
}

void Scheduler::take_arrivals() {
  bool cut = false;
  std::vector<std::string> tool_calls;
  std::vector<SlotAnswer<ByteCount>> clears;
  {
    const std::lock_guard lock(mutex_);
    tool_calls.swap(tool_calls_);
    clears.swap(clears_);
    lower_news_ = false;
    for (SlotTask& task : new_slot_tasks_) slot_tasks_.push_back(std::move(task));
    new_slot_tasks_.clear();
    for (auto& job : arrivals_) {
      job->number = ++jobs_;
      queue_.push_back(std::move(job));
    }
    arrivals_.clear();
    cancelled_.insert(cancels_.begin(), cancels_.end());
    cancels_.clear();
    cut = stop_ == StopMode::kCut;
    if (cut) waiting_ = slot_tasks_waiting_ = 0;
  }
  for (const std::string& id : tool_calls) {
    for (std::size_t i = 0; i < ended_.size(); ++i) {
      if (ended_[i].first == id) cache_.called_tool(slots_[i].id, ended_[i].second);
    }
  }
  for (const auto& answer : clears) clear_everything(answer);
  answer_list_asks();
  if (cut) end_everything();
}

// The history first: below, the answers are rewritten as it remembers them.
void Scheduler::clear_everything(const SlotAnswer<ByteCount>& answer) {
  if (history_ != nullptr) history_->clear();
  receipts_.clear();
  const ByteCount freed = cache_.clear();
  publish_status();  // whoever looks next sees it
  if (lower_ == nullptr) return answer(freed);
  lower_->ask([answer, freed] { answer(freed); });
}

void Scheduler::answer_list_asks() {
  std::vector<ListAsk> asks;
  {
    const std::lock_guard lock(mutex_);
    asks.swap(list_asks_);
  }
  if (!asks.empty()) publish_status();  // of the same moment
  for (const ListAsk& ask : asks) ask.answer(cache_.conversations(ask.most, clock_.now()));
}

void Scheduler::end_everything() {
  for (const auto& job : queue_) drop_job(*job, stopping_error());
  queue_.clear();
  for (Slot& slot : slots_) {
    if (!slot.idle()) fail(slot, stopping_error());
  }
  const Error stopping = stopping_error();
  for (const SlotTask& task : std::exchange(slot_tasks_, {})) task.act(&stopping);
}

void Scheduler::end_cancelled_and_late() {
  const auto now = clock_.now();
  const auto reason_to_end = [&](const Job& job) -> std::optional<Error> {
    if (cancelled_.contains(job.request.id)) return cancelled_error();
    const auto limit = job.request.timeout;
    if (limit.count() > 0 && now - job.submitted > limit) {
      return Error{
          ErrorCode::kTimeout,
          "The request took longer than its limit of " + std::to_string(limit.count()) + " ms.",
          ""};
    }
    return std::nullopt;
  };
  std::size_t ended = 0;
  std::erase_if(queue_, [&](const std::unique_ptr<Job>& job) {
    const auto reason = reason_to_end(*job);
    if (!reason) return false;
    drop_job(*job, *reason);
    ++ended;
    return true;
  });
  for (Slot& slot : slots_) {
    if (slot.idle()) continue;
    if (const auto reason = reason_to_end(*slot.job)) fail(slot, *reason);
  }
  cancelled_.clear();
  if (ended == 0) return;
  const std::lock_guard lock(mutex_);
  waiting_ -= ended;
}

// --- admission -------------------------------------------------------------

// Each round lets one request begin, or finds out for whom it waits.
void Scheduler::admit_waiting() {
  for (;;) {
    const auto next = next_in_queue();
    if (next == queue_.end()) return;
    Job& job = **next;
    const cache::StartChoice outlook = cache_.plan(job.prompt(), idle_slots_for(job));
    job.awaited = cache_.worth_waiting_for(job.prompt(), outlook);
    if (job.awaited) {
      const Slot& other = slots_[static_cast<std::size_t>(job.awaited->slot.value)];
      job.receipt.waited_for = other.job->request.id;
      continue;
    }
    if (waits_for_lower(job, outlook)) continue;
    if (!may_begin(job, outlook)) return;
    auto admitted = std::move(*next);
    queue_.erase(next);
    {
      const std::lock_guard lock(mutex_);
      --waiting_;
    }
    start_job(std::move(admitted), outlook);
  }
}

// The oldest request of the client that has the fewest at work, among those
// that a slot is free for.
std::deque<std::unique_ptr<Job>>::iterator Scheduler::next_in_queue() {
  std::map<std::string_view, int> at_work;
  for (const Slot& slot : slots_) {
    if (!slot.idle()) ++at_work[slot.job->request.client];
  }
  auto best = queue_.end();
  for (auto it = queue_.begin(); it != queue_.end(); ++it) {
    if (!may_start(**it)) continue;
    if ((*it)->held_back && pace_.resting()) continue;
    if (best == queue_.end() || at_work[(*it)->request.client] < at_work[(*best)->request.client]) {
      best = it;
    }
  }
  return best;
}

// A slot stays free for each request that waits for the tier below: they were here first.
bool Scheduler::may_start(const Job& job) const {
  if (job.awaited && cache_.still_coming(*job.awaited)) return false;
  if (fetching(job)) return false;
  const auto idle = std::ranges::count_if(slots_, &Slot::idle);
  const auto first = std::ranges::count_if(
      queue_, [&](const auto& other) { return other.get() != &job && fetching(*other); });
  return idle > first && !idle_slots_for(job).empty();
}

bool Scheduler::fetching(const Job& job) const {
  return job.fetch && !job.fetch->over() && !cache_.ready(*job.fetch);
}

// Asks once for each request. True: there will be an answer, or there is one and the outlook
// is no longer true.
bool Scheduler::waits_for_lower(Job& job, const cache::StartChoice& outlook) {
  if (!job.fetch) job.fetch = cache_.ask_below(job.prompt(), outlook);
  if (job.fetch->over()) return false;
  if (!cache_.ready(*job.fetch)) return true;
  const bool more = cache_.go_on(*job.fetch, job.prompt(), outlook, job.receipt);
  return job.fetch->over() ? more : true;
}

std::vector<SlotId> Scheduler::idle_slots_for(const Job& job) const {
  std::vector<SlotId> slots;
  for (const Slot& slot : slots_) {
    if (slot.idle() && (!job.request.slot || *job.request.slot == slot.id)) {
      slots.push_back(slot.id);
    }
  }
  return slots;
}

void Scheduler::start_job(std::unique_ptr<Job> job, const cache::StartChoice& outlook) {
  job->started = clock_.now();
  job->timings.queued_ms = env::ms_between(job->submitted, job->started);
  cache::Receipt& receipt = job->receipt;
  receipt.id = job->request.id;
  receipt.response = job->request.response;
  receipt.tenant = job->request.tenant;
  receipt.history_tokens = job->request.history_tokens;
  receipt.unix_ms = clock_.unix_ms();
  receipt.queued_ms = job->timings.queued_ms;
  job->kept_logits = begin_paced(*job, outlook);
  job->timings.cached_tokens = receipt.restored;
  Slot& slot = slots_[static_cast<std::size_t>(receipt.slot)];
  slot.job = std::move(job);
  ++totals_.requests;
  if (options_.proofs.share > 0.0) note_restored(slot);

  const Started started{slot.id, slot.job->prompt_length(), slot.job->timings.cached_tokens};
  if (observer_ != nullptr) observer_->on_started(slot.job->request, started);
  slot.job->request.sink->on_event(started);
  if (prefill_left(slot) > 0) return;
  note_progress(slot);
  finish_prefill(slot);
}

// --- reading the prompt ----------------------------------------------------

bool Scheduler::prefilling(const Slot& slot) const {
  return !slot.idle() && prefill_left(slot) > 0;
}

TokenPos Scheduler::prefill_left(const Slot& slot) const {
  return slot.job->prompt_length() - cache_.length(slot.id);
}

Slot* Scheduler::choose_prefill() {
  Slot* oldest = nullptr;
  Slot* nearest = nullptr;
  for (Slot& slot : slots_) {
    if (!prefilling(slot) || cache_.postponed(slot.id)) continue;
    if (oldest == nullptr || cache_.run(slot.id) < cache_.run(oldest->id)) oldest = &slot;
    if (nearest == nullptr || prefill_left(slot) < prefill_left(*nearest)) nearest = &slot;
  }
  return chunks_ % kOldestEvery == 0 ? oldest : nearest;
}

// As many chunks as together have no more tokens than the longest. Short prompts that came
// together then begin to write together: a step for one of them takes nearly as long as one
// for all.
bool Scheduler::prefill_some() {
  const bool copied = copy_postponed();
  TokenPos left = grid_.rule().step;
  bool any = false;
  while (Slot* slot = choose_prefill()) {
    const TokenPos tokens = tokens_to_read(*slot);
    left -= tokens;
    if (tokens == 0 || (any && left < 0)) break;
    prefill_chunk(*slot, tokens);
    any = true;
  }
  return any || copied;
}

void Scheduler::prefill_chunk(Slot& slot, TokenPos tokens) {
  ++chunks_;
  Job& job = *slot.job;
  const TokenPos begin = cache_.length(slot.id);
  const TokenPos end = begin + tokens;
  const bool last = end == job.prompt_length();
  const bool answers = last && job.request.max_tokens != 0;
  const engine::LogitsOf logits = answers ? engine::LogitsOf::kLastToken : engine::LogitsOf::kNone;

  const TokenSpan chunk =
      TokenSpan(job.request.prompt)
          .subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  if (auto ready = cache_.before_chunk(slot.id); !ready) {
    fail(slot, ready.error());
    return;
  }
  begin_reading(tokens);
  const auto before = clock_.now();
  if (auto run = engine_.prefill(slot.id, chunk, logits); !run) {
    fail(slot, run.error());
    return;
  }
  job.read_ms += env::ms_between(before, clock_.now());
  speculator_.note_other_work();
  keep_chunk(slot, chunk, logits);
  job.timings.prompt_tokens += length_of(chunk);
  note_progress(slot);
  if (last) finish_prefill(slot);
}

void Scheduler::note_progress(Slot& slot) {
  Job& job = *slot.job;
  job.timings.prompt_ms = env::ms_between(job.started, clock_.now());
  const PromptProgress progress{job.prompt_length(), job.timings.cached_tokens,
                                cache_.length(slot.id), job.timings.prompt_ms};
  if (observer_ != nullptr) observer_->on_progress(job.request, progress);
  if (job.request.want_progress) job.request.sink->on_event(progress);
}

void Scheduler::finish_prefill(Slot& slot) {
  settle_reading();
  Job& job = *slot.job;
  job.first_token = job.last_step = clock_.now();
  job.receipt.prompt_ms = env::ms_between(job.started, job.first_token);
  cache_.note_prefill_speed(job.timings.prompt_tokens, job.read_ms);
  if (job.request.max_tokens == 0) {
    finish(slot, FinishReason::kMaxTokens, "");
    return;
  }
  job.request.sampler->accept_prompt(job.request.prompt);
  conclude(slot, sample_rows(slot, 0, job.prompt_length()));
  if (!slot.idle()) slot.job->kept_logits = nullptr;
}

// --- ends ------------------------------------------------------------------

void Scheduler::finish(Slot& slot, FinishReason reason, std::string stop_string) {
  const std::unique_ptr<Job> job = end_job(slot);
  if (history_ != nullptr && job->request.answer_place) {
    history_->remember(*job->request.answer_place, text_, job->answer);
  }
  const Finished finished{reason,       std::move(stop_string),
                          slot.id,      job->prompt_length(),
                          job->timings, std::make_shared<const cache::Receipt>(job->receipt)};
  note_in_journal(*job, end_of(reason));
  publish_status();  // whoever has the answer finds it counted
  if (observer_ != nullptr) observer_->on_finished(job->request, finished);
  job->request.sink->on_event(finished);
}

// What the slot holds stays there: it was computed, and may be continued.
std::unique_ptr<Job> Scheduler::end_job(Slot& slot) {
  leave_off_reading(slot);
  std::unique_ptr<Job> job = std::move(slot.job);
  note_timings(job->timings);
  speculator_.note_end(*job);
  ended_[static_cast<std::size_t>(slot.id.value)] = {job->request.id, cache_.run(slot.id)};
  cache_.end(slot.id);
  if (job->receipt.companion) job->receipt.companion->drafts = job->drafts;
  totals_.drafts += job->drafts;
  job->receipt.complete = true;
  receipts_.put(job->receipt);
  return job;
}

void Scheduler::fail(Slot& slot, const Error& error) {
  const std::unique_ptr<Job> job = end_job(slot);
  note_in_journal(*job, end_of(error));
  publish_status();
  fail_job(*job, error);
}

void Scheduler::drop_job(const Job& job, const Error& error) {
  if (journal_ != nullptr) journal_->dropped(job.number, end_of(error));
  fail_job(job, error);
}

void Scheduler::note_in_journal(const Job& job, cache::RequestEnd end) {
  if (journal_ == nullptr) return;
  cache::FinishedRequest over;
  over.number = job.number;
  over.end = end;
  over.receipt = &job.receipt;
  over.answer_tokens = length_of(job.answer);
  over.answer_ms = job.timings.predicted_ms;
  if (const auto& difference = job.receipt.difference; difference && journal_->wants_text()) {
    for (const Token token : difference->known) over.known_text += text_.piece(token, true);
    for (const Token token : difference->sent) over.sent_text += text_.piece(token, true);
  }
  journal_->finished(over, cache_.status());
}

void Scheduler::fail_job(const Job& job, const Error& error) {
  if (observer_ != nullptr) observer_->on_failed(job.request, error);
  job.request.sink->on_event(Failed{error});
}

void Scheduler::note_timings(const Timings& timings) {
  totals_.prompt_tokens += static_cast<std::uint64_t>(timings.prompt_tokens);
  totals_.prompt_tokens_cached += static_cast<std::uint64_t>(timings.cached_tokens);
  totals_.predicted_tokens += static_cast<std::uint64_t>(timings.predicted_tokens);
  totals_.prompt_seconds += timings.prompt_ms / 1000.0;
  totals_.predicted_seconds += timings.predicted_ms / 1000.0;
}

// --- looking in ------------------------------------------------------------

void Scheduler::publish_status() {
  totals_.slots.resize(slots_.size());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    SlotStatus& out = totals_.slots[i];
    out = SlotStatus{};
    out.id = slot.id;
    out.busy = !slot.idle();
    out.tokens_held = cache_.length(slot.id);
    if (slot.idle()) continue;
    out.prefilling = prefilling(slot);
    out.request_id = slot.job->request.id;
    out.prompt_tokens = slot.job->prompt_length();
    out.prompt_processed = std::min(cache_.length(slot.id), slot.job->prompt_length());
    out.predicted = slot.job->timings.predicted_tokens;
  }
  const std::lock_guard lock(mutex_);
  published_ = totals_;
  published_cache_ = cache_.status();
}

std::vector<std::string> Scheduler::check() const {
  std::vector<std::string> violations;
  std::unordered_set<const GenerateRequest*> seen;
  const auto see = [&](const Job& job, const char* where) {
    if (!seen.insert(&job.request).second) {
      violations.push_back("S1: request " + job.request.id + " again in " + where);
    }
  };
  for (const auto& job : queue_) see(*job, "the queue");
  for (const Slot& slot : slots_) {
    const std::string name = "slot " + std::to_string(slot.id.value);
    if (!slot.idle()) see(*slot.job, name.c_str());
    if (!slot.idle() && !prefilling(slot) && !slot.decoding()) {
      violations.push_back("S4: " + name + " has a request and nothing to do for it");
    }
  }
  for (const std::string& violation : cache_.check()) violations.push_back("S2: " + violation);
  for (const std::string& violation : pace_.check()) violations.push_back("S5: " + violation);
  const std::lock_guard lock(mutex_);
  if (waiting_ > options_.queue_max) violations.push_back("S3: the queue is too long");
  if (waiting_ != arrivals_.size() + queue_.size()) {
    violations.push_back("S3: the queue's length is miscounted");
  }
  if (slot_tasks_waiting_ != new_slot_tasks_.size() + slot_tasks_.size()) {
    violations.push_back("S3: what is asked of slots is miscounted");
  }
  return violations;
}

}  // namespace holdfast::serve
