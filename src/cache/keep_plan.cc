#include "cache/keep_plan.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace holdfast::cache {

namespace {

// How much likelier a conversation goes on than that a prompt parts from it at one of its
// waypoints, as in memory (plan/eviction.h: tip and interior).
constexpr std::uint64_t kWaypointOdds = 16;

// Which parts of a path are its core.
struct Extent {
  TokenPos end = 0;
  bool bare = false;  // of the places only the last
};

bool in_core(const PlaceOutline& place, const Extent& core) {
  if (place.position >= core.end || core.bare) return place.position == core.end;
  return place.role != PlaceRole::kWaypoint;
}

bool is_there(const PathOutline& path, TokenPos position) {
  return std::ranges::binary_search(path.there, position, {}, &tier::PlaceHit::position);
}

ByteCount rows_bytes(const PathOutline& path, TokenPos tokens) {
  return path.bytes_per_token * static_cast<ByteCount>(tokens);
}

// The last rows of a path are fewer than a blob holds, and written again when it goes on.
bool is_outgrown(const PathOutline& path, const tier::RowsHit& rows, TokenPos end) {
  return rows.whole && rows.range.length() < path.blob_tokens && rows.range.end < end;
}

struct Core {
  ByteCount missing = 0;
  double saves_per_byte = 0.0;
};

Core core_of(const PathOutline& path, const Extent& extent) {
  const TokenPos end = extent.end;
  TokenPos covered = 0;
  for (const tier::RowsHit& rows : path.rows_there) {
    if (!is_outgrown(path, rows, end)) covered = std::min(rows.range.end, end);
  }
  Core core;
  core.missing = rows_bytes(path, end - covered);
  ByteCount last = 0;
  for (const PlaceOutline& place : path.places) {
    if (!in_core(place, extent)) continue;
    last = place.bytes;
    if (!is_there(path, place.position)) core.missing += place.bytes;
  }
  const ByteCount bytes = std::max<ByteCount>(rows_bytes(path, end) + last, 1);
  core.saves_per_byte = tier::rounded_worth(static_cast<double>(end) / static_cast<double>(bytes));
  return core;
}

bool fits(const Core& core, const BytesFor& room_for) {
  return core.missing == 0 || core.missing <= room_for(core.saves_per_byte);
}

// The deepest core that has room.
Extent core_within(const PathOutline& path, const BytesFor& room_for) {
  if (!path.needs_places) {
    TokenPos end = path.length;
    while (end > 0 && !fits(core_of(path, {end}), room_for)) {
      const Core core = core_of(path, {end});
      const ByteCount over = core.missing - room_for(core.saves_per_byte);
      const auto tokens = over / std::max<ByteCount>(path.bytes_per_token, 1) + 1;
      end = tier::anchor_at(end - static_cast<TokenPos>(std::min<ByteCount>(tokens, end)));
    }
    return {end};
  }
  for (auto place = path.places.rbegin(); place != path.places.rend(); ++place) {
    for (const bool bare : {false, true}) {
      if (fits(core_of(path, {place->position, bare}), room_for)) return {place->position, bare};
    }
  }
  return {};
}

std::uint64_t saved_by(double saves_per_byte, ByteCount bytes) {
  return static_cast<std::uint64_t>(std::ceil(saves_per_byte * static_cast<double>(bytes)));
}

// What would be read again without a waypoint: the way from the place below it.
class WaypointWorth {
 public:
  WaypointWorth(const PathOutline& path, double most) : most_(most) {
    for (const PlaceOutline& place : path.places) positions_.insert(place.position);
    for (const tier::PlaceHit& place : path.there) positions_.insert(place.position);
  }
  [[nodiscard]] std::uint64_t at(TokenPos position, ByteCount bytes) const {
    const auto here = positions_.lower_bound(position);
    const TokenPos below = here == positions_.begin() ? 0 : *std::prev(here);
    const auto saves = static_cast<std::uint64_t>(position - below) / kWaypointOdds;
    const auto limit = static_cast<std::uint64_t>(most_ * static_cast<double>(bytes));
    return std::min(saves, limit);
  }

 private:
  std::set<TokenPos> positions_;
  double most_;
};

}  // namespace

std::uint64_t KeepPlan::rows_save(ByteCount bytes) const { return saved_by(saves_per_byte, bytes); }

KeepPlan plan_keeping(const PathOutline& path, const BytesFor& room_for) {
  KeepPlan plan;
  const Extent extent = core_within(path, room_for);
  plan.length = extent.end;
  if (plan.length == 0) return plan;
  const Core core = core_of(path, extent);
  plan.saves_per_byte = core.saves_per_byte;
  plan.missing = core.missing;
  const WaypointWorth of_waypoint(path, core.saves_per_byte);
  for (std::size_t i = 0; i < path.places.size(); ++i) {
    const PlaceOutline& place = path.places[i];
    if (in_core(place, extent)) {
      plan.core.push_back({i, saved_by(core.saves_per_byte, place.bytes)});
    } else if (place.position < plan.length) {
      plan.waypoints.insert(plan.waypoints.begin(),
                            {i, of_waypoint.at(place.position, place.bytes)});
    }
  }
  // Rows may also be those of another path that is worth more.
  for (const tier::RowsHit& rows : path.rows_there) {
    if (rows.range.begin >= plan.length) break;
    const bool outgrown = is_outgrown(path, rows, plan.length);
    plan.there.push_back(
        {rows.key, outgrown ? 0 : std::max(rows.saves, plan.rows_save(rows.bytes))});
  }
  for (const tier::PlaceHit& place : path.there) {
    if (place.position > plan.length) break;
    const auto ours =
        std::ranges::lower_bound(path.places, place.position, {}, &PlaceOutline::position);
    const bool core_place =
        ours != path.places.end() && ours->position == place.position && in_core(*ours, extent);
    plan.there.push_back({place.key, core_place ? saved_by(core.saves_per_byte, place.bytes)
                                                : of_waypoint.at(place.position, place.bytes)});
  }
  return plan;
}

std::vector<std::string> check_keep_plan(const PathOutline& path, const KeepPlan& plan,
                                         const BytesFor& room_for) {
  std::vector<std::string> violations;
  if (plan.length == 0) return violations;
  const auto place_of = [&](const PlaceToKeep& kept) { return path.places[kept.index]; };
  const bool ends_in_place =
      !plan.core.empty() && place_of(plan.core.back()).position == plan.length;
  if (path.needs_places && !ends_in_place) {
    violations.emplace_back("KEEP-1: the core does not end in a place");
  }
  if (plan.missing > 0 && plan.missing > room_for(plan.saves_per_byte)) {
    violations.emplace_back("KEEP-2: the core has no room");
  }
  TokenPos last = plan.length;
  for (const PlaceToKeep& kept : plan.waypoints) {
    const PlaceOutline waypoint = place_of(kept);
    if (waypoint.position >= last)
      violations.emplace_back("KEEP-3: a waypoint lies beyond the one before");
    last = waypoint.position;
    const double worth = static_cast<double>(kept.saves);
    if (worth > plan.saves_per_byte * static_cast<double>(waypoint.bytes)) {
      violations.emplace_back("KEEP-4: a waypoint is worth more than the core");
    }
  }
  return violations;
}

}  // namespace holdfast::cache
