// RequestQueue: requests that wait for a slot, and the one that begins next.
//
//   push --> waits --> may start? --> Admission::step --run--> begins on a slot
//              ^                            |
//              '--- for a peer's prefix, or for the tier below ---'
//
// Of those that a slot is free for, the oldest request of the client that has the fewest at work
// begins first. A slot stays free for each request that waits for the tier below: they were here
// first.
//
// The scheduler's thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "plan/one_offs.h"
#include "serve/idle_tasks.h"
#include "serve/inbox.h"
#include "serve/loop_core.h"
#include "serve/paced_work.h"
#include "serve/prompt_reader.h"
#include "serve/request_ends.h"

namespace holdfast::serve {

class RequestQueue {
 public:
  RequestQueue(LoopCore& core, Inbox& inbox, PacedWork& paced, PromptReader& reader,
               RequestEnds& ends, IdleTasks& tasks)
      : core_(core), inbox_(inbox), paced_(paced), reader_(reader), ends_(ends), tasks_(tasks) {}

  void push(std::unique_ptr<Job> job);
  // Lets requests begin, until no slot is free or nobody may.
  void admit();
  // Drops those that the function has a reason for.
  void drop_where(const std::function<std::optional<Error>(const Job&)>& reason_to_end);

  [[nodiscard]] bool empty() const { return jobs_.empty(); }
  [[nodiscard]] const std::deque<std::unique_ptr<Job>>& jobs() const { return jobs_; }
  // Whether a request waits for the tier below.
  [[nodiscard]] bool fetching() const;

 private:
  using Waiting = std::deque<std::unique_ptr<Job>>::iterator;

  [[nodiscard]] Waiting next();
  [[nodiscard]] bool may_start(const Job& job) const;
  [[nodiscard]] std::vector<SlotId> idle_slots_for(const Job& job) const;
  void begin(std::unique_ptr<Job> job, const cache::StartChoice& choice);
  void note_one_off(Job& job, TokenPos known);
  void note_for_proof(const Job& job);

  LoopCore& core_;
  Inbox& inbox_;
  PacedWork& paced_;
  PromptReader& reader_;
  RequestEnds& ends_;
  IdleTasks& tasks_;
  std::deque<std::unique_ptr<Job>> jobs_;
  plan::OneOffs one_offs_;
};

}  // namespace holdfast::serve
