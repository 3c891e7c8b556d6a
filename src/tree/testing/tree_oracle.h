// TreeOracle always tells the truth about a TokenTree, slowly. For tests.
//
// It knows no edges, blocks or sums. For every known prefix of every sequence it
// holds one Spot that says what is present at that position, and answers each
// question by looking at Spots one by one. Spots are found by the hash of the
// whole prefix, which is also what fake rows and snapshots contain: a row that
// is found at another place is seen at once.
#pragma once

#include <cstring>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/check.h"
#include "state/extent_block.h"
#include "state/snapshot.h"
#include "tree/types.h"

namespace holdfast::tree {

using PrefixKey = std::uint64_t;

[[nodiscard]] inline PrefixKey extend_key(PrefixKey key, std::uint64_t value) {
  key = (key ^ value) * 0x9E3779B97F4A7C15ULL + 0x632BE59BD9B4E019ULL;
  return key ^ (key >> 29);
}
[[nodiscard]] inline PrefixKey root_key(SpaceKey space) {
  return extend_key(extend_key(1, space.high), space.low);
}

struct Spot {
  PrefixKey parent = 0;
  TokenPos position = 0;
  ExtentBlockPtr row;  // of the token just before the position
  SnapshotPtr snapshot;
  Tick snapshot_use = 0;
  EvictionNote snapshot_note;
  Hints marks;
  Tick last_use = 0;
  std::uint32_t hits = 0;
  int pins = 0;  // that end exactly here
  // Filled by TreeOracle::survey().
  int children = 0;
  bool pinned = false;        // a pin ends here or deeper
  bool bytes_deeper = false;  // strictly deeper
  bool snapshot_deeper = false;
  bool rows_whole = false;  // no row is missing on the way here
};

class TreeOracle {
 public:
  explicit TreeOracle(StateNeeds needs) : needs_(needs) {}

  [[nodiscard]] static std::vector<PrefixKey> keys(SpaceKey space, TokenSpan tokens) {
    std::vector<PrefixKey> keys{root_key(space)};
    for (const Token token : tokens) {
      keys.push_back(extend_key(keys.back(), static_cast<std::uint64_t>(token)));
    }
    return keys;  // keys[p] names the prefix of length p
  }
  [[nodiscard]] Spot* find(PrefixKey key) {
    const auto it = spots_.find(key);
    return it == spots_.end() ? nullptr : &it->second;
  }
  [[nodiscard]] Spot& at(PrefixKey key) { return spots_.at(key); }
  [[nodiscard]] std::size_t size() const { return spots_.size(); }

  // Makes the spots of a path known.
  void learn(const std::vector<PrefixKey>& path) {
    for (std::size_t p = 1; p < path.size(); ++p) {
      spots_.try_emplace(path[p],
                         Spot{.parent = path[p - 1], .position = static_cast<TokenPos>(p)});
    }
  }
  void forget(PrefixKey key) { spots_.erase(key); }
  // What is there stays; the newcomer fills what is missing.
  void put(const std::vector<PrefixKey>& path, const ExtentBlockPtr& block) {
    for (TokenPos p = block->range().begin; p < block->range().end; ++p) {
      Spot& spot = at(path[static_cast<std::size_t>(p) + 1]);
      if (!spot.row) spot.row = block;
    }
  }

  // Recomputes all that depends on other spots.
  void survey() {
    std::multimap<TokenPos, PrefixKey> by_depth;
    for (auto& [key, spot] : spots_) {
      spot.children = 0;
      spot.pinned = spot.pins > 0;
      spot.bytes_deeper = spot.snapshot_deeper = false;
      by_depth.emplace(spot.position, key);
    }
    for (const auto& [depth, key] : by_depth) {
      Spot& spot = at(key);
      const Spot* parent = find(spot.parent);
      CHECK(parent || depth == 1);
      spot.rows_whole = spot.row && (!parent || parent->rows_whole);
    }
    for (auto it = by_depth.rbegin(); it != by_depth.rend(); ++it) {
      const Spot& spot = at(it->second);
      Spot* parent = find(spot.parent);
      if (!parent) continue;
      ++parent->children;
      parent->pinned |= spot.pinned;
      parent->bytes_deeper |= spot.bytes_deeper || spot.row || spot.snapshot;
      parent->snapshot_deeper |= spot.snapshot_deeper || spot.snapshot;
    }
  }

  // REQUIRES, here and below: nothing changed since survey().
  [[nodiscard]] bool restorable(const Spot& spot) const {
    return (!needs_.blocks || spot.rows_whole) && (!needs_.snapshot || spot.snapshot);
  }
  // The deepest restorable position at or above; 0 when there is none.
  [[nodiscard]] TokenPos restorable_at_or_above(PrefixKey key) {
    for (Spot* spot = find(key); spot; spot = find(spot->parent)) {
      if (restorable(*spot)) return spot->position;
    }
    return 0;
  }

  [[nodiscard]] ByteTotals bytes(ByteKind kind) const {
    std::map<const void*, std::pair<ByteCount, bool>> objects;  // size, pinned
    const auto see = [&](const auto& object, ByteKind its_kind, bool pinned) {
      if (!object || its_kind != kind) return;
      auto& [size, is_pinned] = objects[object.get()];
      size = object->size();
      is_pinned |= pinned;
    };
    for (const auto& [key, spot] : spots_) {
      see(spot.row, ByteKind::kBlocks, spot.pinned);
      see(spot.snapshot, ByteKind::kSnapshots, spot.pinned);
    }
    ByteTotals totals;
    for (const auto& [object, charge] : objects) {
      totals.resident += charge.first;
      if (charge.second) totals.pinned += charge.first;
    }
    return totals;
  }
  [[nodiscard]] ByteCount resident() const {
    return bytes(ByteKind::kBlocks).resident + bytes(ByteKind::kSnapshots).resident;
  }
  // Bytes of blocks that only the spots of `edge` use.
  [[nodiscard]] ByteCount blocks_only_of(const std::set<PrefixKey>& edge) const {
    std::map<const ExtentBlock*, bool> only_here;
    for (const auto& [key, spot] : spots_) {
      if (!spot.row) continue;
      auto [it, is_new] = only_here.try_emplace(spot.row.get(), true);
      it->second = it->second && edge.contains(key);
    }
    ByteCount sum = 0;
    for (const auto& [block, only] : only_here) sum += only ? block->size() : 0;
    return sum;
  }

  [[nodiscard]] const StateNeeds& needs() const { return needs_; }
  [[nodiscard]] auto begin() const { return spots_.begin(); }
  [[nodiscard]] auto end() const { return spots_.end(); }

 private:
  StateNeeds needs_;
  std::unordered_map<PrefixKey, Spot> spots_;
};

// A row holds the key of the prefix that it ends; so does a snapshot.
[[nodiscard]] inline StateBytes key_bytes(std::span<const PrefixKey> keys) {
  StateBytes bytes(keys.size_bytes());
  std::memcpy(bytes.data(), keys.data(), keys.size_bytes());
  return bytes;
}
[[nodiscard]] inline PrefixKey key_in(std::span<const std::byte> bytes, std::size_t index) {
  PrefixKey key = 0;
  CHECK((index + 1) * sizeof key <= bytes.size());
  std::memcpy(&key, bytes.data() + index * sizeof key, sizeof key);
  return key;
}

}  // namespace holdfast::tree
