#include "serve/idle_work.h"

#include <chrono>
#include <optional>

namespace holdfast::serve {

namespace {

// An idle slot's state is put into memory, and below, once nothing has happened for this long:
// then no request has to wait until it is out of its way.
constexpr auto kIdleBeforeKeeping = std::chrono::milliseconds(500);
// An answer is read ahead sooner, because its client may be back in a second; not at once, because
// a program without a pause would find the engine busy.
constexpr auto kIdleBeforeReadingAhead = std::chrono::milliseconds(50);

}  // namespace

IdleWork::IdleWork(LoopCore& core, RequestQueue& queue, SlotCommands& commands,
                   Speculator& speculator, IdleTasks& tasks, cache::ReceiptLog& receipts)
    : core_(core),
      queue_(queue),
      commands_(commands),
      speculator_(speculator),
      tasks_(tasks),
      receipts_(receipts),
      check_(core.engine, core.cache, core.options.check) {}

void IdleWork::rest(Inbox& inbox) {
  const auto wanted = [&] {
    core_.pulse.begin(Work::kIdle);
    return inbox.wait(std::chrono::milliseconds::zero(), false);
  };
  const bool reads_ahead = tasks_.prewarmer.has_work();
  if (inbox.wait(reads_ahead ? kIdleBeforeReadingAhead : kIdleBeforeKeeping, false)) return;
  core_.pulse.begin(Work::kIdle);
  reads_ahead ? read_ahead(wanted) : run(wanted);
  core_.pulse.rest();
  if (!reads_ahead) inbox.wait(std::nullopt, false);
}

void IdleWork::run(const std::function<bool()>& wanted) {
  keep_states();
  check_engine(wanted);
  prove(wanted);
}

void IdleWork::read_ahead(const std::function<bool()>& wanted) {
  while (tasks_.prewarmer.has_work() && all_idle() && !wanted()) {
    tasks_.prewarmer.step();
    speculator_.note_other_work();
  }
  tasks_.prewarmer.yield();
  core_.totals.prewarm = tasks_.prewarmer.counts();
  core_.publish();
}

void IdleWork::keep_states() {
  if (core_.cache.live().keep_idle()) core_.publish();
}

bool IdleWork::all_idle() const {
  return queue_.empty() && commands_.empty() && core_.all_slots_idle();
}

void IdleWork::check_engine(const std::function<bool()>& wanted) {
  if (!check_.has_work() || !all_idle() || wanted()) return;
  const auto report = check_.run(wanted);
  speculator_.note_other_work();
  core_.publish();
  if (report) core_.observer.on_checked(*report);
}

void IdleWork::prove(const std::function<bool()>& wanted) {
  while (tasks_.prover.has_work()) {
    const bool idle = all_idle() && !wanted();
    std::optional<Proof> proof;
    if (idle) {
      proof = tasks_.prover.step();
      speculator_.note_other_work();
    } else {
      tasks_.prover.yield();
    }
    core_.totals.proofs = tasks_.prover.counts();
    if (proof) act_on(*proof);
    core_.publish();
    if (!idle) return;
  }
}

// One wrong state, and nothing that was restored is believed: it may have come of the same fault.
void IdleWork::act_on(const Proof& proof) {
  if (auto receipt = receipts_.find(proof.request, proof.tenant)) {
    receipt->proof = proof.words();
    receipts_.put(*receipt);
  }
  if (!proof.equal) {
    core_.totals.disproved = proof.words();
    core_.cache.distrust(proof.space, proof.words());
    tasks_.prover.stop();
  }
  core_.observer.on_proved(proof);
}

}  // namespace holdfast::serve
