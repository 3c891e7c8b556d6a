// SlotSnapshots: places that the slots can go back to by themselves.
//
//   engine, slot 0   [ s s s s s s | u u u u u u | a a a a | u u u u )   rows, there for nothing
//   kept here                      *             *         *             snapshots alone
//
// A slot's rows cost nothing while they lie in it. To go back in them, a model with recurrent or
// windowed parts needs a snapshot as well. Memory keeps both within its budget, for whoever
// comes; where the budget is too small for that, each slot keeps a few snapshots of its own path
// here, beside the budget. They are good in their slot alone, and go with its rows.
//
// A slot that has its number, or all slots together if the bytes are spent, give up the place
// that is missed least (plan/slot_places.h); the slot with the most places gives first, of equals
// the one that has read nothing for longest.
//
// A snapshot that memory holds too is the same object, and is counted here all the same.
//
// Invariants, verified by check():
//   SNAP-1  the places of a slot ascend, and each snapshot lies at its place
//   SNAP-2  a slot has no more than `places_max` of them
//   SNAP-3  bytes() is the sum of their sizes, and within the allowance of the latest put()
//
// One owning thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "plan/placement.h"
#include "state/snapshot.h"

namespace holdfast::cache {

struct SlotPlace {
  plan::Checkpoint at;
  bool off_grid = false;  // no cold run has this state
  SnapshotPtr snapshot;
};

// A place that could be kept, and where its slot's path ends or will end.
struct SlotOffer {
  plan::Checkpoint at;
  bool off_grid = false;
  TokenPos path_end = 0;
  ByteCount bytes = 0;      // of its snapshot, about
  ByteCount allowance = 0;  // for all slots
};

class SlotSnapshots {
 public:
  SlotSnapshots(int slots, std::size_t places_max)
      : slots_(static_cast<std::size_t>(slots)), places_max_(places_max) {}

  // Keeps the place, unless it is the one that would be missed least; only then is the snapshot
  // not asked for. It may be null, if it cannot be had. Returns the bytes kept.
  // REQUIRES: it lies beyond the slot's other places.
  ByteCount put(SlotId slot, const SlotOffer& offer, const std::function<SnapshotPtr()>& take);
  // The slot holds this many tokens, and no more.
  void shorten(SlotId slot, TokenPos length);
  // Returns the bytes let go of.
  ByteCount clear();

  // Ascending.
  [[nodiscard]] std::span<const SlotPlace> of(SlotId slot) const { return at(slot).places; }
  // Null: there is none at this position.
  [[nodiscard]] SnapshotPtr find(SlotId slot, TokenPos position) const;
  [[nodiscard]] ByteCount bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t count() const;
  [[nodiscard]] std::vector<std::string> check() const;

 private:
  struct OfSlot {
    std::vector<SlotPlace> places;
    TokenPos path_end = 0;         // at the latest put,
    std::uint64_t latest_put = 0;  // which had this number
  };

  [[nodiscard]] const OfSlot& at(SlotId slot) const {
    return slots_[static_cast<std::size_t>(slot.value)];
  }
  [[nodiscard]] OfSlot& at(SlotId slot) { return slots_[static_cast<std::size_t>(slot.value)]; }
  // The slot that gives up a place when bytes are short.
  [[nodiscard]] OfSlot& fullest();
  void drop(OfSlot& slot, std::size_t index);

  std::vector<OfSlot> slots_;
  std::size_t places_max_;
  ByteCount bytes_ = 0;
  ByteCount allowance_ = 0;  // of the latest put
  std::uint64_t puts_ = 0;
};

}  // namespace holdfast::cache
