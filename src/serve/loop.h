// Loop: what the scheduler's thread does, round by round.
//
//   take what others left --> end what was cancelled or is late --> commands for idle slots
//     --> let requests begin --> read chunks --> write one token, or a draft's worth, for each slot
//
// Each round reads at most as many tokens as the longest chunk has, of one prompt or of several,
// and then, unless more is to be read first, runs one decode step. While nobody writes, that is
// all. While somebody does, GapPace says what lies between two steps (serve/paced_work.h). Arrivals
// and cancellations are seen after every chunk.
//
// Invariants, verified by check(), which tests call between rounds:
//   LOOP-1  a request is in exactly one place: the queue, or one slot
//   LOOP-2  the cache's own invariants hold: it knows what each slot holds
//   LOOP-3  a slot with a request has something to do for it: tokens to read, or one to decode
//   LOOP-4  those of GapPace, Inbox, SlotCommands and Prewarmer
//
// The scheduler's thread; Inbox and the commands are how others reach it.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "cache/disk_tier.h"
#include "serve/cache_commands.h"
#include "serve/decoding.h"
#include "serve/idle_work.h"
#include "serve/inbox.h"
#include "serve/loop_core.h"
#include "serve/paced_work.h"
#include "serve/prompt_reader.h"
#include "serve/request_ends.h"
#include "serve/request_queue.h"
#include "serve/slot_commands.h"
#include "serve/speculator.h"

namespace holdfast::serve {

class Loop {
 public:
  Loop(LoopCore& core, Inbox& inbox, const SchedulerParts& parts);

  // Rounds until a stop was requested and all is done.
  void run();
  // One round; false when there was nothing to do.
  bool run_round();

  [[nodiscard]] RequestEnds& ends() { return ends_; }
  [[nodiscard]] const RequestEnds& ends() const { return ends_; }
  [[nodiscard]] SlotCommands& slot_commands() { return slot_commands_; }
  [[nodiscard]] CacheCommands& cache_commands() { return cache_commands_; }
  [[nodiscard]] const CacheCommands& cache_commands() const { return cache_commands_; }
  [[nodiscard]] IdleWork& idle_work() { return idle_work_; }
  [[nodiscard]] std::vector<std::string> check() const;

 private:
  // Returns the requests that were cancelled.
  [[nodiscard]] std::unordered_set<std::string> take_news();
  void end_cancelled_and_late(const std::unordered_set<std::string>& cancelled);
  void end_everything(const Error& error);
  bool step();

  LoopCore& core_;
  Inbox& inbox_;
  cache::DiskTier* const lower_;  // may be null
  Speculator speculator_;
  PacedWork paced_;
  RequestEnds ends_;
  Decoding decoding_;
  PromptReader reader_;
  IdleTasks tasks_;
  RequestQueue queue_;
  SlotCommands slot_commands_;
  CacheCommands cache_commands_;
  IdleWork idle_work_;
};

}  // namespace holdfast::serve
