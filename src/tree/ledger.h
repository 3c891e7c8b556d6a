// ByteLedger charges each object once, however many users it has.
//
//   object      users        pinned users   charged   counted as
//   block b0    edge A       -              once      evictable
//   block b1    edge A, B    B              once      pinned
//
// A user is one use by an edge or a node; the two halves of a split edge are
// two users of the block across the split. An object is pinned while any of its
// users is. All totals are kept as changes happen; nothing is summed on demand.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tree/types.h"

namespace holdfast::tree {

// Whether the user of a charge may be evicted now.
enum class Hold : std::uint8_t { kEvictable, kPinned };

struct Charge {
  const void* object = nullptr;
  ByteCount bytes = 0;
  ByteKind kind = ByteKind::kBlocks;
  std::uint32_t users = 0;
  std::uint32_t pinned_users = 0;
  std::uint32_t tallied = 0;  // scratch of Tally; 0 between calls
};

// Sums what would be freed if all the uses added to it went.
class Tally {
 public:
  Tally() = default;
  ~Tally() {
    for (Charge* charge : shared_) charge->tallied = 0;
  }
  Tally(const Tally&) = delete;
  Tally& operator=(const Tally&) = delete;

  void add(Charge* use) {
    if (use->users > 1) shared_.push_back(use);  // few: only blocks across a split
    if (++use->tallied == use->users) freed_ += use->bytes;
    if (use->users == 1) use->tallied = 0;
  }
  [[nodiscard]] ByteCount freed() const { return freed_; }

 private:
  std::vector<Charge*> shared_;
  ByteCount freed_ = 0;
};

class ByteLedger {
 public:
  // One more user of `object`; the first one charges its bytes.
  Charge* add_user(const void* object, ByteCount bytes, ByteKind kind, Hold hold);
  void add_user(Charge& charge, Hold hold);
  // The last user's going takes the charge away; `charge` is then gone.
  void remove_user(Charge& charge, Hold hold);
  // A user changes from evictable to pinned, and back.
  void pin_user(Charge& charge);
  void unpin_user(Charge& charge);

  [[nodiscard]] const ByteTotals& totals(ByteKind kind) const {
    return totals_[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] ByteTotals totals() const;
  [[nodiscard]] std::size_t object_count() const { return charges_.size(); }
  [[nodiscard]] const Charge* find(const void* object) const;

 private:
  [[nodiscard]] ByteTotals& of(const Charge& charge) {
    return totals_[static_cast<std::size_t>(charge.kind)];
  }

  std::unordered_map<const void*, Charge> charges_;  // addresses of values are stable
  std::array<ByteTotals, kByteKinds> totals_{};
};

}  // namespace holdfast::tree
