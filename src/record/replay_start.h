// ReplayStart: how a prompt begins, in a replay: planned, waiting for others, asking the tier
// below, and then on a slot.
//
// A plan is good until something else happens to a slot or to the cache. So there is one plan at a
// time, and expire() is called for every event that ends it.
//
// Each function replays one event, and returns false where no server writes that event there: the
// event then has not reached the cache.
//
// Invariant, tested by HostileRecording.IsRefusedOrReplayedButNeverMore in
// src/serve/recording_safety_test.cc:
//   RSTART-1  a prompt begins only with a plan of its own that has not expired
#pragma once

#include <optional>

#include "record/replay_differences.h"
#include "record/replay_requests.h"
#include "record/replay_slots.h"
#include "record/replayed_cache.h"

namespace holdfast::record {

class ReplayStart {
 public:
  // REQUIRES: all of them outlive it.
  ReplayStart(ReplayedCache& cache, const ReplaySlots& slots, ReplayDifferences& differences)
      : cache_(cache), slots_(slots), differences_(differences) {}

  // `request` is the event's; null: there is none.
  [[nodiscard]] bool plan(const CacheEvent& event, LiveRequest* request);
  [[nodiscard]] bool wait(const CacheEvent& event);
  [[nodiscard]] bool ask_below();
  [[nodiscard]] bool go_on(CacheEvent& event);
  // The request that has begun on the event's slot; null as false.
  [[nodiscard]] LiveRequest* begin(const CacheEvent& event);

  void expire() { choice_.reset(); }
  // The request is gone; its plan with it.
  void forget(const LiveRequest& request);

 private:
  [[nodiscard]] bool could_come(const BroughtOutline& came, const cache::ColdFetch& fetch) const;

  ReplayedCache& cache_;
  const ReplaySlots& slots_;
  ReplayDifferences& differences_;
  LiveRequest* planned_ = nullptr;            // whose plan the latest one is
  std::optional<cache::StartChoice> choice_;  // none: the plan has expired
};

}  // namespace holdfast::record
