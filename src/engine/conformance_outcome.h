// Outcome: what checking one kind of batch found (conformance.h).
#pragma once

#include <string>
#include <vector>

namespace holdfast::engine {

using Row = std::vector<float>;  // the logits after one token

struct Outcome {
  double distance = 0.0;  // the largest from the plain way, so far
  double allowed = 0.0;   // a row that is further away is a finding
  std::string finding;    // the first thing that is wrong; empty: nothing. Errors of the engine too
  bool bits = false;      // the same bits are asked for, whatever `allowed` says

  // Compares `row`, which people know as `what`, with the plain way's.
  void compare(const Row& row, const Row& right, const std::string& what);
};

}  // namespace holdfast::engine
