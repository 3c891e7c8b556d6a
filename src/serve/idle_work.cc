#include "serve/idle_work.h"

#include <optional>

namespace holdfast::serve {

IdleWork::IdleWork(LoopCore& core, RequestQueue& queue, SlotCommands& commands,
                   Speculator& speculator, Prover& prover, cache::ReceiptLog& receipts)
    : core_(core),
      queue_(queue),
      commands_(commands),
      speculator_(speculator),
      prover_(prover),
      receipts_(receipts),
      check_(core.engine, core.cache, core.options.check) {}

void IdleWork::run(const std::function<bool()>& wanted) {
  keep_states();
  check_engine(wanted);
  prove(wanted);
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
  while (prover_.has_work()) {
    const bool idle = all_idle() && !wanted();
    std::optional<Proof> proof;
    if (idle) {
      proof = prover_.step();
      speculator_.note_other_work();
    } else {
      prover_.yield();
    }
    core_.totals.proofs = prover_.counts();
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
    prover_.stop();
  }
  core_.observer.on_proved(proof);
}

}  // namespace holdfast::serve
