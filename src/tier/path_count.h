// How many paths some blobs stand on, and how many tokens those have: what a folder holds, as
// people count it.
//
//   a b c d          two paths, 6 tokens: `a b` is counted once, and a blob that ends at `b` is
//   a b e f          no path of its own
//
// Names and tokens are compared, not reasons: a path whose middle has been dropped counts as
// two.
#pragma once

#include <cstdint>
#include <span>

#include "tier/blob.h"

namespace holdfast::tier {

struct PathCount {
  std::uint64_t paths = 0;   // ends that nothing goes on from
  std::uint64_t tokens = 0;  // that some blob carries, each place once
  TokenPos deepest = 0;
};

// REQUIRES: all of one space.
[[nodiscard]] PathCount count_paths(std::span<const BlobPath> paths);

}  // namespace holdfast::tier
