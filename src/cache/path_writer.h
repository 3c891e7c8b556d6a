// PathWriter: writes paths into a store, blob by blob.
//
// The core of a path, which its next turn needs (keep_plan.h), is written at a stretch; the
// waypoints of all paths are written when no core waits. A core that cannot be finished costs
// nobody else anything: what was there of the path stays worth what it was, and rows that no place
// stands on are worth nothing.
//
// Invariants, PATHWRITER-2 and PATHWRITER-3 verified by check():
//   PATHWRITER-1  at most one blob's states are held alive, and only inside write_next()
//                 (disk_tier_test.cc, WhatMemoryDroppedIsNotWritten)
//   PATHWRITER-2  at most `paths_max` paths wait with their waypoints: of each the core is written
//   and
//                 a waypoint is left
//   PATHWRITER-3  neither a later one of them nor the path at hand begins with such a path
//
// One owning thread, that of the disk tier.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/disk_tier_options.h"
#include "cache/disk_tier_status.h"
#include "cache/path_progress.h"
#include "cache/write_pace.h"
#include "env/clock.h"
#include "tier/blob_store.h"

namespace holdfast::cache {

// What was not written, since the start.
struct NotWritten {
  std::uint64_t lost = 0;            // parts that memory dropped before
  std::uint64_t paths_declined = 0;  // of which nothing that would be of use has room
  GivenUp given_up;                  // the store failed, or had no room any more
};

class PathWriter {
 public:
  // REQUIRES: store and clock outlive it.
  PathWriter(tier::BlobStore& store, const env::Clock& clock, const DiskTierOptions& options)
      : store_(store), clock_(clock), options_(options), pace_(options) {}

  // Told of the first failure and, with nothing, of the first success after it.
  std::function<void(const std::string&)> on_trouble;
  // Told of each space before something of it is written.
  std::function<void(SpaceKey)> on_space;

  // REQUIRES: no path is at hand.
  void begin(KeptPath path);
  // One blob of the path at hand, or of one that waits with its waypoints. False: there is nothing.
  bool write_next();
  // Nothing of what was begun is written any more; of all spaces, or of one.
  void drop(const std::optional<SpaceKey>& only = std::nullopt);
  void drop(const PathEnd& end);  // of one conversation

  [[nodiscard]] bool has_path() const { return at_hand_ != nullptr; }
  [[nodiscard]] bool has_waypoints() const { return !waypoints_left_.empty(); }
  [[nodiscard]] ByteCount bytes_left() const;
  // It is not the time to write.
  [[nodiscard]] bool pauses(bool busy) const { return pace_.pauses(clock_.now(), busy); }
  [[nodiscard]] const NotWritten& not_written() const { return not_written_; }
  [[nodiscard]] std::vector<std::string> check() const;

 private:
  template <typename Goes>
  void drop_those(Goes goes);
  void write(const PathPart& part);
  // Rows are worth what they weigh.
  template <typename AnyBlob>
  void put(AnyBlob& blob, std::optional<std::uint64_t> saves);
  void let_waypoints_wait(const PathPart& part);
  void note_trouble(const std::string& what, ByteCount place_bytes = 0);
  void give_up(const std::string& why, ByteCount place_bytes);

  tier::BlobStore& store_;
  const env::Clock& clock_;
  const DiskTierOptions options_;
  WritePace pace_;
  std::unique_ptr<PathProgress> at_hand_;
  std::deque<std::unique_ptr<PathProgress>> waypoints_left_;
  NotWritten not_written_;
};

}  // namespace holdfast::cache
