#include "policy/machine.h"

#include <algorithm>
#include <array>

namespace holdfast::policy {

namespace {

const std::array<Machine, 2>& machines() {
  // Measured: an H200 reads 16,384 tokens of a 0.8B in 0.56 s in chunks of 512, and copies about
  // 2 GB/s to and from memory that is not pinned (docs/costs.md). 300 TFLOP/s of a large model are
  // assumed. Two cores of an EPYC read 170 tokens/s of the 0.8B and copy 4 GB/s.
  static const std::array<Machine, 2> all = {{
      {"gpu", "as an H200: 300 TFLOP/s and 15 ms a chunk, copies 2 GB/s", 3.0e14, 15.0, 2.0e6},
      {"cpu", "as two cores: 0.27 TFLOP/s, copies 4 GB/s", 2.7e11, 0.0, 4.0e6},
  }};
  return all;
}

}  // namespace

std::span<const Machine> known_machines() { return machines(); }

std::optional<Machine> find_machine(const std::string& name) {
  const auto found = std::ranges::find(machines(), name, &Machine::name);
  if (found == machines().end()) return std::nullopt;
  return *found;
}

}  // namespace holdfast::policy
