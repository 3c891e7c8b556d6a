// ReplayedCache: a real StateCache in a world that answers as the recorded one did.
#pragma once

#include <optional>

#include "cache/state_cache.h"
#include "record/recording_events.h"
#include "record/replay_world.h"

namespace holdfast::record {

class ReplayedCache {
 public:
  explicit ReplayedCache(const RecordingHeader& header)
      : header_(header),
        clock_(script_),
        engine_(header_, script_),
        companion_(header_, script_),
        below_(script_),
        journal_(script_) {}

  // Makes the cache. False: there is one already.
  [[nodiscard]] bool open() {
    if (cache_) return false;
    const cache::CacheWorld world{
        .engine = &engine_,
        .clock = &clock_,
        .companion = header_.companion.empty() ? nullptr : &companion_,
        .lower = header_.lower ? &below_ : nullptr,
    };
    cache_.emplace(world, header_.options, &journal_);
    return true;
  }
  [[nodiscard]] bool is_open() const { return cache_.has_value(); }

  // REQUIRES: is_open().
  [[nodiscard]] cache::StateCache& operator*() { return *cache_; }
  [[nodiscard]] cache::StateCache* operator->() { return &*cache_; }

  [[nodiscard]] const RecordingHeader& header() const { return header_; }
  [[nodiscard]] ReplayScript& script() { return script_; }
  [[nodiscard]] ReplayEngine& engine() { return engine_; }

  // What states are filed under (state/chunk_keys.h).
  [[nodiscard]] Tokens keys_for(const Tokens& tokens, const std::vector<TokenPos>& cuts) const {
    return cache::filing_keys(tokens, cuts, header_.options.has_exact_prompts());
  }

 private:
  const RecordingHeader header_;
  ReplayScript script_;
  ReplayClock clock_;
  ReplayEngine engine_;
  ReplayCompanion companion_;
  ReplayBelow below_;
  ReplayJournal journal_;
  std::optional<cache::StateCache> cache_;
};

}  // namespace holdfast::record
