#include "cache/slot_snapshots.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "plan/slot_places.h"

namespace holdfast::cache {

namespace {

// The slot's places, and one more. It ends no earlier than they do.
std::size_t least_of(std::span<const SlotPlace> places, TokenPos path_end) {
  std::vector<plan::Checkpoint> all;
  for (const SlotPlace& place : places) all.push_back(place.at);
  return plan::least_missed(all, std::max(path_end, all.back().position));
}

}  // namespace

ByteCount SlotSnapshots::put(SlotId slot, const SlotOffer& offer,
                             const std::function<SnapshotPtr()>& take) {
  OfSlot& mine = at(slot);
  CHECK(mine.places.empty() || mine.places.back().at.position < offer.at.position);
  allowance_ = offer.allowance;
  mine.path_end = offer.path_end;
  mine.latest_put = ++puts_;
  if (places_max_ == 0 || offer.bytes > allowance_) return 0;
  mine.places.push_back({offer.at, offer.off_grid, nullptr});
  // What has to go goes first: the copy needs its room.
  const auto newest_stays = [&] {
    return !mine.places.empty() && mine.places.back().snapshot == nullptr;
  };
  if (mine.places.size() > places_max_) drop(mine, least_of(mine.places, mine.path_end));
  while (newest_stays() && bytes_ + offer.bytes > allowance_) {
    OfSlot& giver = fullest();
    drop(giver, least_of(giver.places, giver.path_end));
  }
  if (!newest_stays()) return 0;
  SnapshotPtr snapshot = take();
  const ByteCount bytes = snapshot != nullptr ? snapshot->size() : 0;
  if (bytes == 0 || bytes_ + bytes > allowance_) {
    mine.places.pop_back();
    return 0;
  }
  mine.places.back().snapshot = std::move(snapshot);
  bytes_ += bytes;
  return bytes;
}

SlotSnapshots::OfSlot& SlotSnapshots::fullest() {
  return *std::ranges::max_element(slots_, {}, [this](const OfSlot& one) {
    return std::pair(one.places.size(), puts_ - one.latest_put);
  });
}

void SlotSnapshots::drop(OfSlot& slot, std::size_t index) {
  const auto place = slot.places.begin() + static_cast<std::ptrdiff_t>(index);
  if (place->snapshot != nullptr) bytes_ -= place->snapshot->size();
  slot.places.erase(place);
}

void SlotSnapshots::shorten(SlotId slot, TokenPos length) {
  OfSlot& mine = at(slot);
  while (!mine.places.empty() && mine.places.back().at.position > length) {
    drop(mine, mine.places.size() - 1);
  }
}

ByteCount SlotSnapshots::clear() {
  const ByteCount before = bytes_;
  for (std::size_t i = 0; i < slots_.size(); ++i) shorten(SlotId{static_cast<int>(i)}, 0);
  return before;
}

SnapshotPtr SlotSnapshots::find(SlotId slot, TokenPos position) const {
  for (const SlotPlace& place : of(slot)) {
    if (place.at.position == position) return place.snapshot;
  }
  return nullptr;
}

std::uint64_t SlotSnapshots::count() const {
  std::uint64_t count = 0;
  for (const OfSlot& slot : slots_) count += slot.places.size();
  return count;
}

std::vector<std::string> SlotSnapshots::check() const {
  std::vector<std::string> violations;
  ByteCount sum = 0;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const std::string name = "slot " + std::to_string(i);
    TokenPos last = 0;
    for (const SlotPlace& place : slots_[i].places) {
      const TokenPos position = place.at.position;
      const bool there = place.snapshot != nullptr && place.snapshot->position() == position;
      if (position <= last || !there) violations.push_back("SNAP-1: " + name);
      if (place.snapshot != nullptr) sum += place.snapshot->size();
      last = position;
    }
    if (slots_[i].places.size() > places_max_) violations.push_back("SNAP-2: " + name);
  }
  if (sum != bytes_)
    violations.emplace_back("SNAP-3: the bytes of the slots' places do not add up");
  if (bytes_ > allowance_) violations.emplace_back("SNAP-3: slots keep more than they may");
  return violations;
}

}  // namespace holdfast::cache
