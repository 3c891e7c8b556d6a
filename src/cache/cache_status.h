// CacheStatus: what the cache holds and has done, as GET /cache and /metrics show it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cache/disk_tier_status.h"
#include "state/exactness.h"
#include "state/tokens.h"

namespace holdfast::cache {

struct CacheStatus {
  bool enabled = false;
  Exactness exact = Exactness::kOff;
  std::string state;        // StateShape::describe()
  std::string fingerprint;  // hexadecimal; what shaped every state, tenants aside

  ByteCount budget = 0;
  ByteCount resident = 0;  // extents + snapshots
  ByteCount extents = 0;
  ByteCount snapshots = 0;
  ByteCount pinned = 0;
  ByteCount peak = 0;  // the most that was ever resident
  std::uint64_t snapshot_count = 0;
  // Snapshots that slots keep of their own paths beside the budget; memory holds some of them too.
  std::uint64_t slot_snapshot_count = 0;
  ByteCount slot_snapshots = 0;
  ByteCount slot_snapshots_max = 0;
  std::uint64_t nodes = 0;
  std::uint64_t tokens = 0;        // known, with bytes or without
  std::uint64_t ghost_tokens = 0;  // of them only remembered

  // Totals since start.
  std::uint64_t requests = 0;
  std::uint64_t prompt_tokens = 0;
  std::uint64_t matched_tokens = 0;
  std::uint64_t restored_tokens = 0;         // all sources
  std::uint64_t restored_live_tokens = 0;    // kept in a slot
  std::uint64_t restored_memory_tokens = 0;  // brought back from memory, or by a slot's snapshot
  std::uint64_t restores = 0;                // from memory, snapshots in place included
  ByteCount restored_bytes = 0;
  double restore_seconds = 0.0;
  double saved_seconds = 0.0;
  std::uint64_t checkpoints = 0;  // taken
  std::uint64_t declined = 0;     // not stored: no room
  ByteCount stored_bytes = 0;
  double store_seconds = 0.0;
  std::uint64_t evicted_snapshots = 0;
  std::uint64_t evicted_rows = 0;  // edges that lost rows
  ByteCount evicted_bytes = 0;
  std::uint64_t quarantined = 0;  // failed their verification
  std::uint64_t waits = 0;        // requests that waited for another's prefix

  std::optional<DiskTierStatus> lower;      // of now, by the scheduler; nullopt: no tier below
  std::uint64_t fetches = 0;                // requests that states were brought up for
  std::uint64_t restored_lower_tokens = 0;  // of restored_memory_tokens, brought up for it
  double fetch_seconds = 0.0;
};

}  // namespace holdfast::cache
