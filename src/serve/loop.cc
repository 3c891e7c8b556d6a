#include "serve/loop.h"

#include <chrono>
#include <optional>
#include <utility>

namespace holdfast::serve {

namespace {

// While a request waits for the tier below, its limits are looked at this often.
constexpr auto kFetchGlance = std::chrono::milliseconds(20);

Error late_error(std::chrono::milliseconds limit) {
  return {ErrorCode::kTimeout,
          "The request took longer than its limit of " + std::to_string(limit.count()) + " ms.",
          ""};
}

}  // namespace

Loop::Loop(LoopCore& core, Inbox& inbox, const SchedulerParts& parts)
    : core_(core),
      inbox_(inbox),
      lower_(parts.lower),
      speculator_(core.engine, parts.companion, core.text.card().vocabulary,
                  core.options.is_deterministic() ? core.options.deterministic_draft : 0,
                  core.clock),
      paced_(core),
      ends_(core, paced_, speculator_, parts),
      decoding_(core, ends_, speculator_),
      reader_(core, paced_, ends_, decoding_, speculator_),
      tasks_{Prover(core.engine, core.cache, core.grid, core.options.proofs, core.clock),
             Prewarmer(core, ends_, parts.journal)},
      queue_(core, inbox, paced_, reader_, ends_, tasks_),
      slot_commands_(core, inbox, parts.companion),
      cache_commands_(core, inbox, ends_, parts.lower),
      idle_work_(core, queue_, slot_commands_, speculator_, tasks_, ends_.receipts()) {}

void Loop::run() {
  for (;;) {
    if (run_round()) continue;
    // While a request waits for another a slot is busy, so the loop goes round and sees its
    // deadline.
    const bool fetching = queue_.fetching();
    if (!fetching && inbox_.may_end()) break;
    core_.pulse.rest();
    fetching ? (void)inbox_.wait(kFetchGlance, fetching) : idle_work_.rest(inbox_);
  }
  core_.pulse.begin(Work::kIdle);
  if (lower_ != nullptr) idle_work_.keep_states();
  core_.pulse.rest();
}

bool Loop::run_round() {
  core_.pulse.begin(Work::kRound);
  const auto began = core_.clock.now();
  end_cancelled_and_late(take_news());
  slot_commands_.run();
  core_.pace.note_other(env::ms_between(began, core_.clock.now()));
  core_.writing = core_.anybody_writes();
  if (!core_.writing) core_.pace.nobody_writes();
  queue_.admit();
  if (lower_ != nullptr) lower_->set_busy(!core_.all_slots_idle());
  const bool read = reader_.read_some();
  const bool wrote = !(read && reader_.reads_on()) && step();
  core_.publish();
  return read || wrote;
}

std::unordered_set<std::string> Loop::take_news() {
  Inbox::Delivery news = inbox_.take();
  for (auto& job : news.jobs) queue_.push(std::move(job));
  for (const Inbox::Errand& errand : news.errands) errand();
  inbox_.answer_glances();
  if (news.abort) end_everything(stopping_error());
  return {news.cancelled.begin(), news.cancelled.end()};
}

void Loop::end_cancelled_and_late(const std::unordered_set<std::string>& cancelled) {
  const auto now = core_.clock.now();
  const auto reason_to_end = [&](const Job& job) -> std::optional<Error> {
    if (cancelled.contains(job.input.id)) return cancelled_error();
    const auto limit = job.input.timeout;
    if (limit.count() > 0 && now - job.times.submitted > limit) return late_error(limit);
    return std::nullopt;
  };
  queue_.drop_where(reason_to_end);
  for (Slot& slot : core_.slots) {
    if (slot.idle()) continue;
    if (const auto reason = reason_to_end(*slot.job)) ends_.fail(slot, *reason);
  }
}

void Loop::end_everything(const Error& error) {
  queue_.drop_where([&](const Job&) { return error; });
  for (Slot& slot : core_.slots) {
    if (!slot.idle()) ends_.fail(slot, error);
  }
  slot_commands_.refuse_all(error);
}

// One step for all who write. The gap before it counts for those who waited through it.
bool Loop::step() {
  if (!core_.anybody_writes()) return false;
  paced_.settle_reading();
  const auto began = core_.clock.now();
  int writers = 0;
  int readers = 0;  // and those that wait for a slot which is free
  for (const Slot& slot : core_.slots) {
    if (core_.writes(slot)) {
      ++writers;
    } else if (!slot.idle() || !queue_.empty()) {
      ++readers;
    }
  }
  decoding_.step();
  if (core_.writing) {
    core_.pace.note_step(env::ms_between(began, core_.clock.now()), writers, readers);
  } else {
    core_.pace.nobody_writes();
  }
  return true;
}

std::vector<std::string> Loop::check() const {
  std::vector<std::string> violations;
  const auto add = [&](const std::vector<std::string>& more, const char* number) {
    for (const std::string& one : more) violations.push_back(std::string(number) + ": " + one);
  };
  std::unordered_set<std::string> seen;
  const auto see = [&](const Job& job, const std::string& where) {
    if (!seen.insert(job.input.id).second) {
      violations.push_back("LOOP-1: request " + job.input.id + " again in " + where);
    }
  };
  for (const auto& job : queue_.jobs()) see(*job, "the queue");
  for (const Slot& slot : core_.slots) {
    if (slot.idle()) continue;
    const std::string name = "slot " + std::to_string(slot.id.value);
    see(*slot.job, name);
    if (!core_.reading(slot) && !slot.decoding()) {
      violations.push_back("LOOP-3: " + name + " has a request and nothing to do for it");
    }
  }
  add(core_.cache.check(), "LOOP-2");
  add(core_.pace.check(), "LOOP-4");
  add(inbox_.check(queue_.jobs().size()), "LOOP-4");
  add(slot_commands_.check(), "LOOP-4");
  add(tasks_.prewarmer.check(), "LOOP-4");
  return violations;
}

}  // namespace holdfast::serve
