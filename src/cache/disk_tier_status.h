// DiskTierStatus: what the tier below memory holds and has done, for those who look in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tier/blob_store.h"

namespace holdfast::cache {

// Paths that were not written to their end, though memory held them.
struct GivenUp {
  std::uint64_t paths = 0;
  ByteCount bytes = 0;  // that were left of them, at most
  std::string why;      // the latest
  bool operator==(const GivenUp&) const = default;
};

struct DiskTierStatus {
  tier::StoreStats store;
  ByteCount budget = 0;
  bool writes = false;
  std::size_t paths_waiting = 0;
  ByteCount bytes_waiting = 0;       // at most
  std::uint64_t lost = 0;            // parts that memory dropped before they were written
  std::uint64_t paths_lost = 0;      // paths that there was no place for in the queue
  std::uint64_t paths_declined = 0;  // of which nothing that would be of use has room
  GivenUp given_up;
  std::string left_by_clear;         // what the latest clear() left, and why; empty: nothing
  std::uint64_t answers_missed = 0;  // answers that could not be written when they were given
  double bytes_per_ms = 0.0;         // read, as measured
};

}  // namespace holdfast::cache
