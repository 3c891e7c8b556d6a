// PathProgress: a path that is being written, and how far that has come.
//
//   core       rows, and the places that its next turn needs: [ rows ) * [ rows ) *
//   waypoints  places in between, written when no core waits
//
// States are referred to weakly: memory may drop what has not been written yet, and then it is
// not written. The blobs that this makes hold theirs alive.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "cache/cold_tier.h"
#include "cache/keep_plan.h"
#include "tier/blob_store.h"
#include "tier/path_name.h"

namespace holdfast::cache {

// One blob of a path.
struct PathPart {
  enum class Kind { kNone, kCorePlace, kRows, kWaypoint } kind = Kind::kNone;
  TokenRange rows;
  PlaceToKeep place;
};

class PathProgress {
 public:
  // Finds out what the store has of the path already, and decides what else is written.
  PathProgress(KeptPath path, tier::BlobStore& store, std::int64_t now_ms, TokenPos blob_tokens);

  [[nodiscard]] const KeptPath& path() const { return path_; }
  [[nodiscard]] const KeepPlan& plan() const { return plan_; }
  [[nodiscard]] tier::Moment moment() const { return moment_; }

  [[nodiscard]] bool core_written() const;
  [[nodiscard]] bool all_written() const;
  [[nodiscard]] ByteCount bytes_left() const;

  // What is to be written next; the same until it is done. Of the core the next rows, or the next
  // place whose rows are there: so wherever this ends, what has been written is a conversation's
  // beginning.
  [[nodiscard]] PathPart next() const;
  // It was written or given up.
  void done(const PathPart& part);
  // Nothing: memory has dropped what it is made of.
  [[nodiscard]] std::optional<tier::RowsBlob> rows_blob(TokenRange range);
  [[nodiscard]] std::optional<tier::PlaceBlob> place_blob(const PlaceToKeep& kept) const;

  // Rows were stored that were not there before.
  void note_stored(const tier::BlobFacts& facts);
  // Nothing more of it is written. Rows that no place stands on bring nothing back, and are worth
  // nothing from now on; what was there before stays worth what it was.
  void give_up(tier::BlobStore& store);

 private:
  // Of the path's rows those that belong to the core.
  [[nodiscard]] TokenPos rows_end() const;

  KeptPath path_;
  tier::PathNamer names_;
  tier::Moment moment_;
  KeepPlan plan_;
  TokenPos rows_done_ = 0;   // chunks below were written or given up
  std::size_t rows_at_ = 0;  // the first of path_.rows that may lie above
  const TokenPos blob_tokens_;
  std::size_t core_done_ = 0;
  std::size_t waypoints_done_ = 0;
  TokenPos restorable_ = 0;                                 // of the path, when this began
  std::vector<std::pair<tier::BlobKey, TokenPos>> stored_;  // rows that were not, by their begin
};

}  // namespace holdfast::cache
