// IdleWork: what the loop does while nobody waits: it reads answers ahead, keeps states, goes on
// with the engine's check, and proves what was restored.
//
// Reading, the check and the proofs stop at their next piece once `wanted` says that somebody
// waits.
//
// The scheduler's thread.
#pragma once

#include <functional>

#include "cache/receipt.h"
#include "serve/idle_check.h"
#include "serve/idle_tasks.h"
#include "serve/inbox.h"
#include "serve/loop_core.h"
#include "serve/request_queue.h"
#include "serve/slot_commands.h"
#include "serve/speculator.h"

namespace holdfast::serve {

class IdleWork {
 public:
  IdleWork(LoopCore& core, RequestQueue& queue, SlotCommands& commands, Speculator& speculator,
           IdleTasks& tasks, cache::ReceiptLog& receipts);

  // Nobody waits, not even for the tier below: sleeps, works, and returns when something has come.
  // Or sooner.
  void rest(Inbox& inbox);
  void run(const std::function<bool()>& wanted);

  // Reads answers ahead, which begins sooner than all else.
  void read_ahead(const std::function<bool()>& wanted);
  [[nodiscard]] Prewarmer& prewarmer() { return tasks_.prewarmer; }

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
  IdleTasks& tasks_;
  cache::ReceiptLog& receipts_;
  IdleCheck check_;
};

}  // namespace holdfast::serve
