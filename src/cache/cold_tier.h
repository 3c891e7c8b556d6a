// ColdTier: a tier below memory, as the cache asks for it. DiskTier (disk_tier.h) is the one
// that a server has; a replay (record/replay_world.h) answers as one did.
//
// The one who asks is never held up: an answer is Pending, and found later.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cache/cold_choice.h"
#include "cache/foreign_states.h"
#include "cache/keep_plan.h"
#include "env/clock.h"
#include "state/extent_block.h"
#include "state/path_end.h"
#include "state/snapshot.h"
#include "tier/blob_store.h"
#include "tier/path_name.h"

namespace holdfast::cache {

// An answer on its way from one thread to another.
template <typename T>
class Pending {
 public:
  [[nodiscard]] bool ready() const { return ready_.load(std::memory_order_acquire); }
  // REQUIRES: ready().
  [[nodiscard]] T& value() { return value_; }
  // Nobody waits any more.
  void give_up() { unwanted_.store(true, std::memory_order_relaxed); }

  // The other side's.
  [[nodiscard]] bool unwanted() const { return unwanted_.load(std::memory_order_relaxed); }
  void set(T value) {
    value_ = std::move(value);
    ready_.store(true, std::memory_order_release);
  }

 private:
  T value_{};
  std::atomic<bool> ready_{false};
  std::atomic<bool> unwanted_{false};
};

// What came up: rows without overlaps, ascending, and the state of a place.
struct Brought {
  std::vector<BlockUse> rows;
  SnapshotPtr snapshot;
  CheckedBytes logits;  // of the place, where they were kept
  Hints marks;
  ByteCount bytes = 0;
  bool all = false;  // all that was asked for; else something failed on the way
};

// What memory holds of one path, to be kept.
struct KeptRows {
  std::weak_ptr<const ExtentBlock> block;
  TokenRange range;
};
struct KeptPlace {
  TokenPos position = 0;
  std::weak_ptr<const Snapshot> snapshot;
  Hints marks;
  PlaceRole role = PlaceRole::kGoesOn;
  ByteCount bytes = 0;
  std::weak_ptr<const CheckedBytes> logits = {};
  bool needs_snapshot = true;  // false: it is there for its logits
};
struct KeptPath {
  SpaceKey space;
  Tokens keys;                    // what its states are filed under, from the first on
  std::vector<KeptRows> rows;     // ascending
  std::vector<KeptPlace> places;  // ascending
  ByteCount bytes_per_token = 0;  // of rows
  bool needs_places = true;       // false: rows alone are of use
  // Set by persist().
  env::Clock::TimePoint first{};   // when it, or what it goes on from, began to wait
  env::Clock::TimePoint latest{};  // when it came

  // Of all that, written or not.
  [[nodiscard]] ByteCount bytes() const {
    const TokenPos length = rows.empty() ? 0 : rows.back().range.end;
    ByteCount sum = static_cast<ByteCount>(length) * bytes_per_token;
    for (const KeptPlace& place : places) sum += place.bytes;
    return sum;
  }
};

// What the cache asks, on the engine's thread.
class ColdTier {
 public:
  virtual ~ColdTier() = default;

  // A lookup would find nothing deeper than this.
  [[nodiscard]] virtual TokenPos deepest(std::span<const tier::PathName> names) const = 0;
  // What lies there of the prompt that was made under other facts and cannot be used.
  [[nodiscard]] virtual ForeignMatch foreign(const ForeignQuestion& question) const = 0;
  [[nodiscard]] virtual double bytes_per_ms() const = 0;
  [[nodiscard]] virtual std::shared_ptr<Pending<tier::StoreMatch>> look(SpaceKey space,
                                                                        TokenSpan keys) = 0;
  // REQUIRES: the choice is one of this match.
  [[nodiscard]] virtual std::shared_ptr<Pending<Brought>> bring(tier::StoreMatch match,
                                                                ColdChoice choice) = 0;
  virtual void persist(KeptPath path) = 0;
  // Drops everything that is there, and that waits; or what is of one space.
  virtual void clear(const std::optional<SpaceKey>& only) = 0;
  // Drops what a conversation has there for itself, and what of it waits.
  virtual void forget_end(PathEnd end) = 0;
  // States of this space are wrong, and those of others that were used since the start may be: none
  // of them is offered again, and what waits is not written.
  virtual void distrust(SpaceKey space, const std::string& why) = 0;
};

}  // namespace holdfast::cache
