// RecordedWorld: what stands between a cache and its world while it is recorded.
//
// Engine, clock, companion and tier below are each wrapped. A wrapper forwards every call and notes
// the answer, where a replay needs it.
#pragma once

#include <memory>

#include "cache/cache_journal.h"
#include "record/call_notes.h"

namespace holdfast::record {

class RecordedWorld {
 public:
  // REQUIRES: what `inner` points to and the notes outlive it.
  RecordedWorld(const cache::CacheWorld& inner, CallNotes& notes);

  // The world as the cache is to see it. Valid as long as this lives, also if it moves.
  [[nodiscard]] cache::CacheWorld world() const;

 private:
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<env::Clock> clock_;
  std::unique_ptr<engine::Companion> companion_;  // null: there is none
  std::unique_ptr<cache::ColdTier> below_;        // null: there is none
};

}  // namespace holdfast::record
