// IdleWork: what the loop does while nobody waits: it keeps states, goes on with the engine's
// check, and proves what was restored.
//
// The check and the proofs stop at their next piece once `wanted` says that somebody waits.
//
// The scheduler's thread.
#pragma once

#include <functional>

#include "cache/receipt.h"
#include "serve/idle_check.h"
#include "serve/loop_core.h"
#include "serve/prover.h"
#include "serve/request_queue.h"
#include "serve/slot_commands.h"
#include "serve/speculator.h"

namespace holdfast::serve {

class IdleWork {
 public:
  IdleWork(LoopCore& core, RequestQueue& queue, SlotCommands& commands, Speculator& speculator,
           Prover& prover, cache::ReceiptLog& receipts);

  void run(const std::function<bool()>& wanted);

  // Puts what idle slots hold into memory and into the tier below, if there is one.
  void keep_states();
  // Goes on with the engine's check.
  void check_engine(const std::function<bool()>& wanted);
  // Computes restored states again, as far as some were chosen for that.
  void prove(const std::function<bool()>& wanted);

 private:
  [[nodiscard]] bool all_idle() const;
  void act_on(const Proof& proof);

  LoopCore& core_;
  RequestQueue& queue_;
  SlotCommands& commands_;
  Speculator& speculator_;
  Prover& prover_;
  cache::ReceiptLog& receipts_;
  IdleCheck check_;
};

}  // namespace holdfast::serve
