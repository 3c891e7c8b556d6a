// LowerStatus: what the tier below memory holds and has done, for those who look in.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tier/blob_store.h"

namespace holdfast {

struct LowerStatus {
  StoreStats store;
  ByteCount budget = 0;
  bool writes = false;
  std::size_t paths_waiting = 0;
  ByteCount bytes_waiting = 0;       // at most
  std::uint64_t lost = 0;            // parts that memory dropped before they were written
  std::uint64_t paths_lost = 0;      // paths that there was no place for in the queue
  std::uint64_t paths_declined = 0;  // of which nothing that would be of use has room
  std::uint64_t answers_missed = 0;  // answers that could not be written when they were given
  double bytes_per_ms = 0.0;         // read, as measured
};

}  // namespace holdfast
