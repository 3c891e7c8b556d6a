// Scheduler runs every request on the engine that it owns: a loop on a thread of its own, and the
// doors through which other threads reach it.
//
//   submit --> Inbox --> Loop: queue --> begin on a slot --> read chunk by chunk
//                               ^         (StateCache)  `--> write, batched with other slots
//                               |-- waits while another request computes the prefix it needs
//                               `-- or while the tier below memory brings up what it can use
//
// Any thread, except where a function says otherwise.
#pragma once

#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "cache/receipt.h"
#include "engine/engine.h"
#include "engine/text.h"
#include "env/clock.h"
#include "serve/inbox.h"
#include "serve/loop.h"
#include "serve/loop_core.h"
#include "serve/prepared_prompt.h"
#include "serve/prewarm.h"
#include "serve/request.h"
#include "serve/scheduler_options.h"
#include "serve/scheduler_status.h"

namespace holdfast::serve {

class Scheduler {
 public:
  Scheduler(engine::Engine& engine, const engine::TextModel& text, SchedulerOptions options,
            const env::Clock& clock, SchedulerParts parts = {});
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Does what follows from the prompt alone, before submit(), where that has time.
  void prepare(GenerateRequest& request) const;
  // Takes a request, or says why not: kContextExceeded when the prompt leaves no room for one
  // token, kUnavailable when the queue is full or the server stops. After success the request's
  // sink receives its events.
  [[nodiscard]] Result<void> submit(GenerateRequest request);
  // Ends a request at its next step; its sink receives Failed(kCancelled).
  void cancel(const std::string& request_id);
  // The answer to this request called a tool: its client will soon be back.
  void note_tool_call(const std::string& request_id);
  // An answer has ended, and its conversation will probably go on. Its `prepare` asks for the next
  // prompt, which is handed to prewarm().
  void offer_prewarm(PrewarmOffer offer);
  void prewarm(PrewarmPrompt prompt);
  [[nodiscard]] bool prewarms() const { return core_.options.may_prewarm != nullptr; }
  // What follows from a prompt alone (PromptPreparer).
  [[nodiscard]] PreparedPrompt prepare(const Tokens& prompt, SpaceKey space, bool reuse) const {
    return preparer_.prepare(prompt, space, reuse);
  }

  [[nodiscard]] SchedulerStatus status() const;
  // What the loop is doing, and whether it is stuck.
  [[nodiscard]] PulseReading pulse() const { return core_.pulse.read(); }
  [[nodiscard]] const cache::ReceiptLog& receipts() const { return loop_.ends().receipts(); }
  [[nodiscard]] CacheCommands& cache_commands() { return loop_.cache_commands(); }
  [[nodiscard]] const CacheCommands& cache_commands() const { return loop_.cache_commands(); }
  [[nodiscard]] SlotCommands& slot_commands() { return loop_.slot_commands(); }

  // Runs the loop on a thread of its own until stop().
  void start();
  // Returns once the loop has ended. A second call may turn kFinish into kAbort.
  void stop(StopMode mode);
  void request_stop(StopMode mode) { inbox_.request_stop(mode); }

  // -- instead of start(), for tests ------------------------------------------------------------
  bool run_round() { return loop_.run_round(); }
  [[nodiscard]] IdleWork& idle_work() { return loop_.idle_work(); }
  [[nodiscard]] std::vector<std::string> check() const { return loop_.check(); }

 private:
  LoopCore core_;
  Inbox inbox_;
  Loop loop_;
  const PromptPreparer preparer_;
  cache::DiskTier* const lower_;  // may be null
  std::thread thread_;
};

}  // namespace holdfast::serve
