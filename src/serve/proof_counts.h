// What came of proofs (serve/prover.h) since the start.
#pragma once

#include <cstdint>

namespace holdfast::serve {

struct ProofCounts {
  std::uint64_t equal = 0;
  std::uint64_t different = 0;
  std::uint64_t unmade = 0;  // the state had gone, or requests kept coming
  double seconds = 0.0;      // spent on those that were made
};

}  // namespace holdfast::serve
