// PathQueue: paths that wait to be written.
//
// A path rests before it is written: often the next turn takes its place, and a snapshot less is
// written. One that goes on and on does not rest for ever.
//
// Invariants, verified by check():
//   QUEUE-1  at most `paths_max` paths wait
//   QUEUE-2  no later one begins with an earlier one
//
// Its owner locks.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "cache/cold_tier.h"
#include "cache/disk_tier_options.h"
#include "env/clock.h"

namespace holdfast::cache {

// Whether the longer path goes on from the shorter one, or is the same.
[[nodiscard]] bool begins_with(const KeptPath& longer, const KeptPath& shorter);

class PathQueue {
 public:
  using TimePoint = env::Clock::TimePoint;

  explicit PathQueue(const DiskTierOptions& options)
      : rest_(options.rest), paths_max_(options.paths_max) {}

  // A path that only goes on takes the place of the one that it goes on from. True: the one that
  // has waited for longest had to go for it.
  bool add(KeptPath path, TimePoint now);
  [[nodiscard]] bool has_rested(TimePoint now) const;
  enum class Take { kRested, kAny };
  // The first that has rested; where that is asked for and none has, the first.
  [[nodiscard]] std::optional<KeptPath> take(TimePoint now, Take which);
  // Of all spaces, or of one.
  void clear(const std::optional<SpaceKey>& only) {
    std::erase_if(paths_, [&](const KeptPath& path) { return !only || path.space == *only; });
  }
  // Those of one conversation.
  void forget(const PathEnd& end) {
    std::erase_if(paths_, [&](const KeptPath& path) { return end.holds(path.space, path.keys); });
  }

  [[nodiscard]] std::size_t size() const { return paths_.size(); }
  [[nodiscard]] ByteCount bytes() const;
  [[nodiscard]] std::vector<std::string> check() const;

 private:
  [[nodiscard]] bool rested(const KeptPath& path, TimePoint now) const;

  const std::chrono::milliseconds rest_;
  const std::size_t paths_max_;
  std::deque<KeptPath> paths_;
};

}  // namespace holdfast::cache
