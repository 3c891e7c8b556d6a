// WriteBehind: keeps what memory holds in a store, when there is time for it.
//
//   keep (any thread) --> PathQueue: paths rest --> PathWriter: blob by blob (the tier's thread)
//
// What is waiting refers to memory's states weakly, so it holds nothing alive but the blob that is
// being written.
//
// Invariants, verified by check() with those of its parts:
//   BEHIND-1  what is told of the writer, bytes left and whether there are any, is what the writer
//             says; between calls on the tier's thread
//
// persist(), forget_waiting(), hurry(), set_busy(), waits() and status() may be called by any
// thread; the rest by the tier's own.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "base/thread_annotations.h"
#include "cache/disk_tier_options.h"
#include "cache/disk_tier_status.h"
#include "cache/path_queue.h"
#include "cache/path_writer.h"
#include "env/clock.h"
#include "tier/blob_store.h"

namespace holdfast::cache {

// Who wants to be told what a disk tier does. To be set before it starts.
struct DiskTierEvents {
  // Called on its thread after each reply.
  std::function<void()> news;
  // Told of the first failure and, with nothing, of the first success after it; for the log.
  std::function<void(const std::string&)> trouble;
  // Called on its thread when a writer's states have been dropped by clear(), to drop what else
  // the folder holds.
  std::function<Result<void>()> cleared;
  // Told of each space before something of it is written.
  std::function<void(SpaceKey)> space;
};

class WriteBehind {
 public:
  // REQUIRES: all of them outlive it.
  WriteBehind(tier::BlobStore& store, const env::Clock& clock, const DiskTierOptions& options,
              const DiskTierEvents& events);

  // -- any thread ---------------------------------------------------------------
  void persist(KeptPath path);
  // What has not been begun is not written; of all spaces, or of one.
  void forget_waiting(const std::optional<SpaceKey>& only = std::nullopt);
  void forget_waiting(const PathEnd& end);  // of one conversation
  // From now on paths need not rest, and nothing is paced.
  void hurry();
  void set_busy(bool busy) { busy_ = busy; }
  // Something is to be written, now or later.
  [[nodiscard]] bool waits() const;
  [[nodiscard]] DiskTierStatus status() const;
  // Beside states a folder keeps answers; one could not be written.
  void count_missed_answer();

  // -- the tier's thread --------------------------------------------------------
  // It is time to write.
  [[nodiscard]] bool ready() const;
  // One blob, if there is one to be written.
  bool work();
  // Nothing of what was begun is written any more, and the store drops all that it has; or what is
  // of one space. What it leaves is told by status().
  void clear_store(const std::optional<SpaceKey>& only);
  // The same of what one conversation has for itself.
  void forget_stored(const PathEnd& end);
  // Nothing of what was begun is written any more, and what these spaces have is not offered.
  void distrust(const std::set<SpaceKey>& spaces, const std::string& why);
  // Tells everyone how things stand.
  void publish();
  [[nodiscard]] std::vector<std::string> check() const;
  // Of the paths that rest; any thread.
  [[nodiscard]] std::vector<std::string> check_queue() const;

 private:
  [[nodiscard]] std::optional<KeptPath> next_path();
  // What the store has left of what it was to drop, and why; empty: nothing.
  [[nodiscard]] std::string drop_stored(const std::optional<SpaceKey>& only);

  tier::BlobStore& store_;
  const env::Clock& clock_;
  const DiskTierEvents& events_;
  PathWriter writer_;
  std::atomic<bool> busy_{false};
  mutable Mutex mutex_;
  PathQueue paths_ GUARDED_BY(mutex_);
  bool hurry_ GUARDED_BY(mutex_) = false;
  // Waiting paths and bytes: of the writer alone. At most one path is counted for it.
  DiskTierStatus published_ GUARDED_BY(mutex_);
};

}  // namespace holdfast::cache
