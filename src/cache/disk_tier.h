// DiskTier: a BlobStore below memory, on a thread of its own.
//
//   the engine's thread             its own thread
//   look   --------------------->   lookup               first
//   bring  --------------------->   load, verified       first
//   keep (parts of a path)  ---->   put, blob by blob    when nobody waits
//   <--- Pending, and on.news() ---
//
// The engine's thread is never held up: it asks, goes on, and finds the answer later. What a
// store cannot do is an empty reply.
//
// Its parts: DiskThread (whose turn it is), PathReader (what comes up), WriteBehind (what goes
// down). Their invariants are verified by check().
//
// Asked by the engine's thread; ask(), status(), flush(), stop() and count_missed_answer() by any.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cache/cold_tier.h"
#include "cache/disk_thread.h"
#include "cache/disk_tier_options.h"
#include "cache/disk_tier_status.h"
#include "cache/path_reader.h"
#include "cache/write_behind.h"
#include "env/clock.h"
#include "tier/blob_store.h"
#include "tier/stored_depths.h"

namespace holdfast::cache {

// What came of a flush.
struct Flushed {
  ByteCount waiting_bytes = 0;  // it was interrupted, and at most this much still waits
  bool interrupted = false;
  GivenUp given_up;        // since it began: the store failed, or had no room any more
  std::uint64_t lost = 0;  // parts that memory dropped before they were written
  [[nodiscard]] bool all() const { return !interrupted && given_up.paths == 0 && lost == 0; }
};

class DiskTier final : public ColdTier {
 public:
  // `known` may be null: then every prompt is looked up.
  // REQUIRES: store and clock outlive it.
  DiskTier(tier::BlobStore& store, std::shared_ptr<const tier::StoredDepths> known,
           const env::Clock& clock, const DiskTierOptions& options = {});

  // To be set before start().
  DiskTierEvents on;
  // Who else has made states in the store. To be called before start().
  void set_foreign(ForeignStates foreign) { reader_.set_foreign(std::move(foreign)); }

  void start() { thread_.start(); }
  void stop() { thread_.stop(); }  // what waits is not written
  // One thing, if there is one to do. What the thread does all the time; without start() it
  // is called by hand.
  bool work() { return thread_.work(); }

  // -- the engine's thread ------------------------------------------------------
  // A lookup would find nothing deeper than this.
  [[nodiscard]] TokenPos deepest(std::span<const tier::PathName> names) const override {
    return reader_.deepest(names);
  }
  [[nodiscard]] ForeignMatch foreign(const ForeignQuestion& question) const override {
    return reader_.foreign(question);
  }
  [[nodiscard]] double bytes_per_ms() const override { return reader_.bytes_per_ms(); }
  [[nodiscard]] std::shared_ptr<Pending<tier::StoreMatch>> look(SpaceKey space,
                                                                TokenSpan keys) override;
  // REQUIRES: the choice is one of this match.
  [[nodiscard]] std::shared_ptr<Pending<Brought>> bring(tier::StoreMatch match,
                                                        ColdChoice choice) override;
  void persist(KeptPath path) override;
  // Drops everything that is there, and that waits. Done when what is asked after it is done;
  // status() says what it left.
  void clear(const std::optional<SpaceKey>& only) override;
  void forget_end(PathEnd end) override;
  void distrust(SpaceKey space, const std::string& why) override;
  void set_busy(bool busy) { behind_.set_busy(busy); }

  // -- any thread ---------------------------------------------------------------
  [[nodiscard]] DiskTierStatus status() const;
  // Has something else done on its thread, before anything is written.
  void ask(std::function<void()> task);
  // Beside states a folder keeps answers; one could not be written.
  void count_missed_answer() { behind_.count_missed_answer(); }
  // Returns when nothing waits any more, or when `go_on`, which is asked now and then with the
  // bytes left, says no. What the store chose not to keep, because other things are worth more,
  // is not told of.
  [[nodiscard]] Flushed flush(const std::function<bool(ByteCount)>& go_on);
  // What belongs to its own thread is verified where that is not running.
  [[nodiscard]] std::vector<std::string> check() const;

 private:
  std::set<SpaceKey> used_;  // spaces that something was brought from, or is to be kept in
  PathReader reader_;
  WriteBehind behind_;
  DiskThread thread_;  // last: it uses the others
};

}  // namespace holdfast::cache
