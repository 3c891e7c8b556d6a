// ReplayRequests: the requests of a recording that have begun to be known and are not yet over.
//
// The cache keeps references into a prompt, so a request stays at its address until it is
// forgotten.
//
// Invariant, tested by replay_requests_test.cc:
//   REQUESTS-1  the prompts of all requests have at most `tokens_max` tokens together
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "record/replayed_cache.h"

namespace holdfast::record {

// A queue of 256 prompts with 256k tokens each.
inline constexpr std::uint64_t kLiveTokensMax = std::uint64_t{64} << 20U;

struct LiveRequest {
  CacheEvent prompt;
  bool exact_prompts = false;
  Tokens keys;
  cache::EndKey end;
  cache::Receipt receipt;
  std::optional<cache::ColdFetch> fetch;
  bool one_off = false;
  bool ahead = false;
  std::optional<SlotId> slot;  // it has begun there
  bool ended = false;

  // The prompt as the cache takes it.
  [[nodiscard]] cache::Prompt view() const;
};

class ReplayRequests {
 public:
  // REQUIRES: the cache outlives it.
  explicit ReplayRequests(const ReplayedCache& cache, std::uint64_t tokens_max = kLiveTokensMax)
      : cache_(cache), tokens_max_(tokens_max) {}

  // False: there is a request of that number, or there is no room.
  [[nodiscard]] bool add(CacheEvent&& prompt);
  // Null: there is none.
  [[nodiscard]] LiveRequest* find(std::uint64_t number);
  void forget(std::uint64_t number);
  [[nodiscard]] std::uint64_t count() const { return requests_.size(); }

 private:
  const ReplayedCache& cache_;
  const std::uint64_t tokens_max_;
  std::map<std::uint64_t, std::unique_ptr<LiveRequest>> requests_;
  std::uint64_t live_tokens_ = 0;
};

}  // namespace holdfast::record
