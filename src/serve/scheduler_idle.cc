// What the scheduler does while nobody waits: it keeps states, goes on with the engine's check, and
// proves what was restored.
#include <algorithm>

#include "serve/scheduler.h"

namespace holdfast::serve {

void Scheduler::keep_idle_states() {
  if (cache_.keep_idle()) publish_status();
}

bool Scheduler::all_idle() const {
  return queue_.empty() && slot_tasks_.empty() && std::ranges::all_of(slots_, &Slot::idle);
}

void Scheduler::check_idle(const std::function<bool()>& wanted) {
  if (!idle_check_.has_work() || !all_idle() || wanted()) return;
  const auto report = idle_check_.run(wanted);
  speculator_.note_other_work();
  publish_status();
  if (report && observer_ != nullptr) observer_->on_checked(*report);
}

void Scheduler::prove_idle(const std::function<bool()>& wanted) {
  while (prover_.has_work()) {
    const bool idle = all_idle() && !wanted();
    std::optional<Proof> proof;
    if (idle) {
      proof = prover_.step();
      speculator_.note_other_work();
    } else {
      prover_.yield();
    }
    totals_.proofs = prover_.counts();
    if (proof) act_on(*proof);
    publish_status();
    if (!idle) return;
  }
}

// One wrong state, and nothing that was restored is believed: it may have come of the same fault.
void Scheduler::act_on(const Proof& proof) {
  if (auto receipt = receipts_.find(proof.request, proof.tenant)) {
    receipt->proof = proof.words();
    receipts_.put(*receipt);
  }
  if (!proof.equal) {
    totals_.disproved = proof.words();
    cache_.distrust(proof.space, proof.words());
    prover_.stop();
  }
  if (observer_ != nullptr) observer_->on_proved(proof);
}

void Scheduler::note_restored(const Slot& slot) {
  const cache::Receipt& receipt = slot.job->receipt;
  const bool restored = receipt.source == plan::StartSource::kMemory ||
                        receipt.source == plan::StartSource::kSnapshotInPlace;
  if (!restored || !totals_.disproved.empty()) return;
  const cache::Prompt prompt = slot.job->prompt();
  prover_.note(
      {receipt.id, receipt.tenant, prompt.space, prompt.tokens, prompt.keys, receipt.restored});
}

}  // namespace holdfast::serve
