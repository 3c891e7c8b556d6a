// What a Scheduler says of itself, and the board where any thread reads it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/thread_annotations.h"
#include "cache/cache_status.h"
#include "serve/prewarm.h"
#include "serve/proof_counts.h"
#include "serve/step_gaps.h"
#include "state/drafts.h"
#include "state/slot_id.h"
#include "state/tokens.h"

namespace holdfast::serve {

struct SlotStatus {
  SlotId id;
  bool busy = false;
  bool prefilling = false;
  std::string request_id;
  std::string client;  // GenerateRequest::client
  TokenPos tokens_held = 0;
  TokenPos prompt_tokens = 0;
  TokenPos prompt_processed = 0;
  TokenPos predicted = 0;
  TokenPos remaining = -1;  // that it may still write; -1: as many as the context holds
  bool drafts = false;      // a companion may propose tokens for it
};

// Requests that name a session, by whether another one of that session is remembered.
struct SessionTotals {
  std::uint64_t first = 0;
  std::uint64_t again = 0;
  std::uint64_t again_reused = 0;  // their prompt tokens: not computed again,
  std::uint64_t again_read = 0;    // and computed
  std::uint64_t one_offs = 0;      // plan/one_offs.h
};

struct SchedulerStatus {
  std::vector<SlotStatus> slots;
  std::size_t queued = 0;
  bool stopping = false;
  // Totals since start.
  std::uint64_t requests = 0;
  std::uint64_t prompt_tokens = 0;         // computed
  std::uint64_t prompt_tokens_cached = 0;  // not computed again
  SessionTotals sessions;
  std::uint64_t predicted_tokens = 0;
  double prompt_seconds = 0.0;
  double predicted_seconds = 0.0;
  std::uint64_t decode_steps = 0;
  std::uint64_t decoded_slots = 0;  // of all steps together
  std::uint64_t tokens_max = 0;     // of a prompt with its answer
  StepGaps gaps_undisturbed;        // between two steps of a slot, where only steps were run,
  StepGaps gaps_of_work;            // and where others read, or states were moved
  std::string companion;            // its name; empty: there is none
  DraftCounts drafts;
  PrewarmCounts prewarm;
  ProofCounts proofs;
  std::string disproved;  // what a proof found; empty: nothing. Nothing is restored since
};

// Written by the scheduler's thread, read by any.
class StatusBoard {
 public:
  void publish(const SchedulerStatus& status, cache::CacheStatus cache) {
    const MutexLock lock(mutex_);
    status_ = status;
    cache_ = std::move(cache);
  }
  [[nodiscard]] SchedulerStatus status() const {
    const MutexLock lock(mutex_);
    return status_;
  }
  [[nodiscard]] cache::CacheStatus cache() const {
    const MutexLock lock(mutex_);
    return cache_;
  }

 private:
  mutable Mutex mutex_;
  SchedulerStatus status_ GUARDED_BY(mutex_);
  cache::CacheStatus cache_ GUARDED_BY(mutex_);
};

}  // namespace holdfast::serve
