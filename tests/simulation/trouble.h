// Trouble: a promise was broken in a simulated run. Ends the run of its seed.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace holdfast::simulation {

struct Trouble : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void demand(bool holds, const std::string& what) {
  if (!holds) throw Trouble(what);
}

// Violations that a check() tells of.
inline void demand_none(const std::vector<std::string>& violations) {
  if (!violations.empty()) throw Trouble(violations.front());
}

}  // namespace holdfast::simulation
