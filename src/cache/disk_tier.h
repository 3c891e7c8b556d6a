// DiskTier: a BlobStore below memory, on a thread of its own.
//
//   the engine's thread             its own thread
//   look   --------------------->   lookup               first
//   bring  --------------------->   load, verified       first
//   keep (parts of a path)  ---->   put, blob by blob    when nobody waits
//   <--- Pending, and on_news() ---
//
// The engine's thread is never held up: it asks, goes on, and finds the answer later. What a
// store cannot do is an empty reply.
//
// Writing behind. Paths that wait to be kept refer to memory's states weakly: memory may drop
// what has not been written yet, and then it is not written. So this tier holds nothing
// alive but the blob that it is writing (W1). A path rests before it is written: often the
// next turn takes its place, and a snapshot less is written. What of it the next turn needs comes
// first (keep_plan.h); the steps of all paths are written when no such core waits. While requests
// are at work it writes slowly, though no core takes much longer than `core_takes`, and after a
// failure not for a while. A core that cannot be finished costs nobody else anything: what was
// there of the path stays worth what it was, and rows that no place stands on are worth nothing.
//
// Invariants, W2 and W3 verified by check(), W1 by the tests:
//   W1  at most one blob's states are held alive, and only inside work()
//   W2  at most `paths_max` paths wait, and no later one begins with an earlier one
//   W3  at most `paths_max` paths wait with their steps: of each the core is written and a step is
//       left, and neither a later one of them nor the path that is being written begins with it;
//       what is left to be written, and whether anything is, is known of all of them together
//
// Asked by the engine's thread; status(), flush() and stop() by any. W3 is its own thread's:
// check() verifies it where work() is called by hand.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/thread_annotations.h"
#include "cache/cold_tier.h"
#include "cache/disk_tier_status.h"
#include "env/clock.h"
#include "tier/blob_store.h"
#include "tier/stored_depths.h"

namespace holdfast::cache {

struct DiskTierOptions {
  TokenPos blob_tokens = 256;  // rows in one blob
  std::size_t paths_max = 64;
  // How long a path rests; one that goes on and on at most 10 times as long.
  std::chrono::milliseconds rest{2000};
  // Written while requests are at work; 0: as fast as it goes. On a processor that computes,
  // every byte that is hashed and written holds up a step.
  ByteCount busy_bytes_per_s = ByteCount{2} << 20;
  // Unless what the next turn of a conversation needs would take longer than this to be safe.
  std::chrono::milliseconds core_takes{60'000};
  double pause_after_failure_ms = 10'000;
  double bytes_per_ms = 0.3e6;  // until something was read: a disk of the slower kind
};

// What came of a flush.
struct Flushed {
  ByteCount waiting_bytes = 0;  // it was cut short, and at most this much still waits
  bool cut = false;
  GivenUp given_up;        // since it began: the store failed, or had no room any more
  std::uint64_t lost = 0;  // parts that memory dropped before they were written
  [[nodiscard]] bool all() const { return !cut && given_up.paths == 0 && lost == 0; }
};

class DiskTier final : public ColdTier {
 public:
  // `known` may be null: then every prompt is looked up.
  // REQUIRES: store and clock outlive it.
  DiskTier(tier::BlobStore& store, std::shared_ptr<const tier::StoredDepths> known,
           const env::Clock& clock, DiskTierOptions options = {});
  ~DiskTier() override;  // stops; what waits is not written
  DiskTier(const DiskTier&) = delete;
  DiskTier& operator=(const DiskTier&) = delete;

  // Called on its thread after each reply. To be set before start().
  std::function<void()> on_news;
  // Told of the first failure and, with nothing, of the first success after it; for the log.
  std::function<void(const std::string&)> on_trouble;
  // Called on its thread when a writer's states have been dropped by clear(), to drop what else
  // the folder holds.
  std::function<Result<void>()> on_cleared;
  // Told of each space before something of it is written.
  std::function<void(SpaceKey)> on_space;

  // Who else has made states in the store. To be called before start().
  void set_foreign(ForeignStates foreign) { foreign_ = std::move(foreign); }

  void start();
  void stop();
  // One thing, if there is one to do. What the thread does all the time; without start() it
  // is called by hand.
  bool work();

  // -- the engine's thread ------------------------------------------------------
  // A lookup would find nothing deeper than this.
  [[nodiscard]] TokenPos deepest(std::span<const tier::PathName> names) const override;
  [[nodiscard]] ForeignMatch foreign(const ForeignQuestion& question) const override;
  [[nodiscard]] double bytes_per_ms() const override { return bytes_per_ms_; }
  [[nodiscard]] std::shared_ptr<Pending<tier::StoreMatch>> look(SpaceKey space,
                                                                TokenSpan keys) override;
  // REQUIRES: the choice is one of this match.
  [[nodiscard]] std::shared_ptr<Pending<Brought>> bring(tier::StoreMatch match,
                                                        ColdChoice choice) override;
  void keep(KeptPath path) override;
  // Drops everything that is there, and that waits. Done when what is asked after it is done;
  // status() says what it left.
  void clear() override;
  void distrust(SpaceKey space, const std::string& why) override;
  void set_busy(bool busy) { busy_ = busy; }
  // Has something else done on its thread, before anything is written.
  void ask(std::function<void()> task);

  // -- any thread ---------------------------------------------------------------
  [[nodiscard]] DiskTierStatus status() const;
  // Beside states a folder keeps answers; one could not be written.
  void count_missed_answer();
  // Returns when nothing waits any more, or when `go_on`, which is asked now and then with the
  // bytes left, says no. What the store chose not to keep, because other things are worth more,
  // is not told of.
  [[nodiscard]] Flushed flush(const std::function<bool(ByteCount)>& go_on);
  [[nodiscard]] std::vector<std::string> check() const;

 private:
  // A path that is being written.
  struct Keeping;

  void run();
  [[nodiscard]] Brought load(const tier::StoreMatch& match, const ColdChoice& choice,
                             const Pending<Brought>& reply);
  [[nodiscard]] bool keep_something();
  bool take_next_path();
  void begin_path(KeptPath path);
  bool go_on_with_steps();
  bool keep_next(Keeping& at);
  [[nodiscard]] bool rested(const KeptPath& path) const;
  void keep_rows(TokenRange range);
  void keep_place(const PlaceToKeep& place);
  template <typename AnyBlob>
  void put(AnyBlob& blob, std::optional<std::uint64_t> saves);
  [[nodiscard]] double bytes_per_s_now() const;
  void note_trouble(const std::string& what, ByteCount place = 0);
  void give_up_path(const std::string& why, ByteCount place);
  void give_up_core();
  void finish_path();
  [[nodiscard]] ByteCount bytes_left() const;
  void drop_everything();
  void note_left();
  void check_steps(std::vector<std::string>& violations) const REQUIRES_LOCK(mutex_);
  void publish();
  [[nodiscard]] ByteCount waiting_bytes() const REQUIRES_LOCK(mutex_);
  [[nodiscard]] bool may_write(std::unique_lock<std::mutex>& lock) REQUIRES_LOCK(mutex_);

  tier::BlobStore& store_;
  const std::shared_ptr<const tier::StoredDepths> known_;
  const env::Clock& clock_;
  const DiskTierOptions options_;
  ForeignStates foreign_;
  std::atomic<double> bytes_per_ms_;
  std::atomic<bool> busy_{false};

  // The engine's thread's own.
  std::set<SpaceKey> used_;  // spaces that something was brought from, or is to be kept in

  // The thread's own.
  std::unique_ptr<Keeping> keeping_;
  std::deque<std::unique_ptr<Keeping>> steps_left_;  // their cores are written (W3)
  bool in_trouble_ = false;
  env::Clock::TimePoint write_again_{};  // not before

  mutable std::mutex mutex_;
  std::condition_variable news_;
  std::condition_variable idle_;
  std::deque<std::function<void()>> urgent_ GUARDED_BY(mutex_);
  std::deque<KeptPath> paths_ GUARDED_BY(mutex_);
  bool stop_ GUARDED_BY(mutex_) = false;
  bool hurry_ GUARDED_BY(mutex_) = false;
  ByteCount left_ GUARDED_BY(mutex_) = 0;    // of paths that are being written
  bool working_ GUARDED_BY(mutex_) = false;  // there is such a path
  DiskTierStatus published_ GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace holdfast::cache
