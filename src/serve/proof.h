// Proof: a restored state that was computed again, and how the two compare.
#pragma once

#include <string>

#include "state/space.h"
#include "state/tokens.h"

namespace holdfast::serve {

struct Proof {
  std::string request;  // whose receipt it concerns
  std::string tenant;
  SpaceKey space;
  TokenPos position = 0;
  bool equal = false;
  double distance = 0.0;
  double allowed = 0.0;  // 0: the same bits
  double ms = 0.0;
  // "equal" or what differs, for people.
  [[nodiscard]] std::string words() const;
};

// A restored state that is to be computed again.
struct NotedRestore {
  std::string request;
  std::string tenant;
  SpaceKey space;
  Tokens tokens;  // those restored, and a few more
  Tokens keys;    // of those restored
  TokenPos position = 0;
  int tries = 0;
};

}  // namespace holdfast::serve
