// KeepPlan: what of a path goes to the tier below, in which order, and what it is worth there.
//
//   rows     =====================================================
//   places      ^system        .         .      .    . ^prompt  ^tip
//
// A path is of use as a whole. Rows that no place stands on bring nothing back, and a place without
// its rows stands on nothing. So the *core* - the rows, where the conversation goes on, where
// others begin - is worth the same per byte in all its parts: the tokens that it saves over the
// bytes of its rows and of its last place, which grows with the conversation. A store that drops
// what is worth least then drops one path after the other, each from its deep end, whatever a
// snapshot weighs beside a row; were each part valued by itself, rows would push out all places of
// a model with large snapshots.
//
// The core is written first, from the front on, so that wherever that ends a conversation's
// beginning is there. The other places (*waypoints*) are for prompts that part from this one. They
// are written afterwards, the deepest first, and are worth what they would save times the odds of
// that.
//
// A core for which there is no room does without its other places (it is *bare*), or ends at an
// earlier one; if it has room nowhere, nothing of the path is kept, and what others have stays.
//
// Invariants, verified by check_keep_plan():
//   KEEP-1  the core has a place at its end, if places are needed
//   KEEP-2  what of the core is not there yet has room, at what it is worth
//   KEEP-3  no waypoint lies beyond the core, and waypoints descend
//   KEEP-4  no waypoint is worth more per byte than the core
//
// Pure: no I/O, no clock.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "state/tokens.h"
#include "tier/blob_store.h"

namespace holdfast::cache {

enum class PlaceRole {
  kWaypoint,  // a prompt may part from this one here
  kShared,    // others begin here: the end of a system block, a junction
  kGoesOn,    // the conversation goes on from here
};

struct PlaceOutline {
  TokenPos position = 0;
  ByteCount bytes = 0;
  PlaceRole role = PlaceRole::kWaypoint;
};

struct PathOutline {
  TokenPos length = 0;
  ByteCount bytes_per_token = 0;              // of rows; 0: there are none
  TokenPos blob_tokens = 256;                 // in one blob of rows; the last has fewer
  bool needs_places = true;                   // false: rows alone bring back what they are of
  std::vector<PlaceOutline> places;           // ascending
  std::span<const tier::PlaceHit> there;      // places of this path that the store has
  std::span<const tier::RowsHit> rows_there;  // rows likewise, without gaps from the first on
};

// How many bytes a store would take that save this many tokens each.
using BytesFor = std::function<ByteCount(double saves_per_byte)>;

struct PlaceToKeep {
  std::size_t index = 0;  // in PathOutline::places
  std::uint64_t saves = 0;
};

struct KeepPlan {
  TokenPos length = 0;                 // of the core; 0: nothing is kept
  double saves_per_byte = 0.0;         // of the core
  ByteCount missing = 0;               // bytes of the core that are not there yet
  std::vector<PlaceToKeep> core;       // ascending
  std::vector<PlaceToKeep> waypoints;  // descending
  std::vector<tier::BlobWorth> there;  // what is there is worth this much beside it

  [[nodiscard]] std::uint64_t rows_save(ByteCount bytes) const;
};

[[nodiscard]] KeepPlan plan_keeping(const PathOutline& path, const BytesFor& room_for);
[[nodiscard]] std::vector<std::string> check_keep_plan(const PathOutline& path,
                                                       const KeepPlan& plan,
                                                       const BytesFor& room_for);

}  // namespace holdfast::cache
