// How a disk tier writes, and what it assumes of its disk.
#pragma once

#include <chrono>
#include <cstddef>

#include "state/tokens.h"

namespace holdfast::cache {

struct DiskTierOptions {
  TokenPos blob_tokens = 256;  // rows in one blob
  std::size_t paths_max = 64;
  // How long a path rests; one that goes on and on at most 10 times as long.
  std::chrono::milliseconds rest{2000};
  // Written while requests are at work; 0: as fast as it goes. On a processor that computes,
  // every byte that is hashed and written holds up a step.
  ByteCount busy_bytes_per_s = ByteCount{2} << 20;
  // Unless what the next turn of a conversation needs would take longer than this to be safe.
  std::chrono::milliseconds core_takes{60'000};
  double pause_after_failure_ms = 10'000;
  double bytes_per_ms = 0.3e6;  // until something was read: a disk of the slower kind
};

}  // namespace holdfast::cache
