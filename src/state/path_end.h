// PathEnd: the part of a path that one conversation has for itself, as erasing a slot forgets it.
//
//   [ s s s s s s s | u u u u | h | a a a a a )
//                   ^keep         ^own
//
// Before `keep` others are at work. Whatever lies behind `own` goes on from this conversation's
// latest prompt, however it goes on there. Between the two it is forgotten up to the last place
// where another path parts. With chunk keys an earlier turn is such a path, because it ended in
// another chunk: in deterministic mode, what a conversation's turns begin with stays.
#pragma once

#include "state/space.h"
#include "state/tokens.h"

namespace holdfast {

struct PathEnd {
  SpaceKey space;
  Tokens keys;  // what its states are filed under, from the first on
  TokenPos own = 0;
  TokenPos keep = 0;

  // Without keys all that the space has is meant.
  [[nodiscard]] bool whole_space() const { return keys.empty(); }

  // Whether a path of this space, filed under `other`, is a part of it.
  [[nodiscard]] bool holds(SpaceKey its_space, TokenSpan other) const {
    return its_space == space && common_prefix(other, keys) > keep;
  }
};

}  // namespace holdfast
